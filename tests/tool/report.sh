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
exit $status
