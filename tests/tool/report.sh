# SPDX-License-Identifier: MIT
# xgemm-report: pages of handmade traces, read back and opened in a browser if there is one, and
# pages of a program's products on the fake driver.
python=${PYTHON:-python3}
report=$builddir/tools/xgemm-report
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || {
    echo "skipped: no Python 3.8 here"
    exit 77
}
[ -x "$report" ] || {
    echo "skipped: $report has not been built"
    exit 77
}

judge() {
    "$python" -B "$srcdir/tests/tool/report_check.py" "$report" "$srcdir" "$@"
}

judge || exit 1
[ "$XG_SANITIZER" = no ] && [ "$XG_WITH_CUDA" = yes ] && [ -f "$XG_FAKEDRV_DIR/libcuda.so.1" ] ||
    exit 0
. "$srcdir/tests/preload/fake_lib"

# of_a_run WHAT THREADS [NAME=VALUE...]: the page of a run is right.
of_a_run() {
    run_what=$1
    run_threads=$2
    shift 2
    rm -rf "$tmp/traces" && mkdir "$tmp/traces"
    same "$run_what" "$run_threads" XGEMM_TRACE="$tmp/traces/%p.json" "$@"
    judge "$tmp"/traces/*.json || fail "$run_what"
}

of_a_run "on the engine" 4
of_a_run "on the CPU" 1 XGEMM_MODE=cpu
of_a_run "compared" 1 XGEMM_MODE=compare
of_a_run "as it comes, no device" 1 XGEMM_MODE=auto FAKECUDA_DEVICES=0

# xgemm-run report --machine, with small sizes: scripts in place of the programs that measure. The user's own settings
# change no row, and the home folder, which is a link with special characters, shows in no path.
mkdir "$tmp/tools" "$tmp/jo.h+[n]" && ln -s "jo.h+[n]" "$tmp/home"
cp "$builddir/tools/xgemm-run" "$builddir/tools/xgemm-settings" "$builddir/tools/xgemm-doctor" "$tmp/tools"
printf '#!/bin/sh\nexec "%s" 16\n' "$builddir/tools/xgemm-machine" >"$tmp/tools/xgemm-machine"
printf '#!/bin/sh\necho "$HOME/calibrated"; readlink -f "$HOME"\n' >"$tmp/tools/xgemm-calibrate"
chmod 755 "$tmp/tools/xgemm-machine" "$tmp/tools/xgemm-calibrate"
echo "XGEMM_LOG = $tmp/log" >"$tmp/conf"
# machine STATUS [NAME=VALUE...] ARGUMENT...
machine() {
    machine_status=$1
    shift
    env HOME="$tmp/home/" XGEMM_CONFIG="$tmp/conf" XGEMM_LAPACK=0 XGEMM_SHIM_LIB="$XG_SO" LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" \
        "$@" 2>"$tmp/err"
    machine_got=$?
    [ $machine_got = $machine_status ] || fail_with "report --machine: $* ends with $machine_got" "$tmp/err"
}
machine 125 "$tmp/tools/xgemm-run" report --machine "$tmp/tools/xgemm-run"
machine 125 "$tmp/tools/xgemm-run" report --machine -o "$tmp/nowhere/machine.md"
machine 125 FAKECUDA_DEVICES=0 "$tmp/tools/xgemm-run" report --machine -o "$tmp/machine.md"
grep -q 'no call ran on a GPU' "$tmp/err" || fail_with "report --machine without a GPU" "$tmp/err"
machine 0 "$tmp/tools/xgemm-run" report --machine -o "$tmp/machine.md"
awk -v user="$(id -un)" -v home="$tmp/home" '
    /^## / { parts = parts substr($0, 4) ";" }
    /^```/ { fences++ }
    /jo\.h/ || index($0, home) || index($0, "/" user "/") { print "names the home: " $0; bad = 1 }
    /^~\/?\/calibrated$/ { calibrated++ }
    /^~$/ { calibrated++ }
    /Fake GPU 0/ { device = 1 }
    # name m n k trans beta calls CPU GPU speed-up errors kernel
    /^  [sdcz](gemm|syrk)_ / {
        most = 4 + sqrt($4) # squares add up
        if ($8 <= 0 || $9 <= 0 || $11 > most || $12 > most || $11 !~ /^[0-9]/ || $12 !~ /^[0-9]/) {
            print
            bad = 1
        }
        products++
    }
    /^  [sd](potrf|getrf|geqrf|syevd|gesdd)_ / {
        if ($8 <= 0 || $9 <= 0 || $11 > 30 || $12 > 30 || $11 !~ /^[0-9]/ || $12 !~ /^[0-9]/) { print; bad = 1 }
        routines++
    }
    END {
        if (parts != "System;Calibration;Doctor;Calls on both sides;" || fences != 8 || calibrated != 2 || !device ||
            products != 13 || routines != 7 || bad) {
            print "parts " parts ", fences " fences ", products " products ", routines " routines
            exit 1
        }
    }' "$tmp/machine.md" || { fail "report --machine"; cat "$tmp/machine.md"; }
exit $status
