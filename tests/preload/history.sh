# SPDX-License-Identifier: MIT
# What a program gained is remembered; the GPU starts for the next run when its BLAS is loaded. A
# wrong memory costs no result and no more than one start. Contract 7.10, 10.4 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "no engine here"
[ "$(nproc)" -gt 1 ] || skip "one core"
unset XGEMM_HISTORY OPENBLAS_THREAD_TIMEOUT
export XDG_CACHE_HOME="$tmp/cache"

interposer
compile -shared -fPIC -DHISTORY_LIBRARY -o "$tmp/libasks.so" "$srcdir/tests/preload/history.c"
compile -o "$tmp/program" "$srcdir/tests/preload/history.c" "$tmp/libasks.so" -Wl,-rpath,"$tmp"
compile -DHISTORY_RECORD -iquote "$srcdir" -iquote "$srcdir/src" -o "$tmp/record" \
    "$srcdir/tests/preload/history.c" .libs/libxgcore.a -ldl -lpthread -lm
program=$(readlink -f "$tmp/program")

# ran NAME=VALUE... CALLS [HOW]: runs the program on a machine that seems to have a device.
ran() {
    rm -f "$tmp/log"
    right "$*" env XGEMM_VERBOSE=2 XGEMM_LOG="$tmp/log" XT_FILES='0 /dev/dxg' \
        LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" LD_PRELOAD="$tmp/interpose.so:$XG_SO" "$@"
}
started() { grep -q 'the GPU started in' "$tmp/log" 2>/dev/null; }
plant() { "$tmp/record" "$@" "$program" || fail "no record is planted: $*"; }
# keeps WHAT PATTERN: the program's record.
keeps() {
    kept=$("$tmp/record" "$program")
    case $kept in
    $2) ;;
    *) fail "$1: $kept" ;;
    esac
}
# tool PATTERN [--forget] PROGRAM [ARGUMENT...]
tool() {
    told=$1
    shift
    PATH="$tmp/bin:$PATH" "$builddir/tools/xgemm-run" history "$@" >"$tmp/told" 2>&1
    grep -q "$told" "$tmp/told" || fail "history $*: $(cat "$tmp/told")"
}

ran "$program" 0
started && fail "an unknown program starts the GPU when it is loaded"
[ ! -e "$tmp/cache" ] || fail "a program that gains nothing is remembered"

ran "$program" 1
keeps "it missed a gain" "gain * needs 5 bars 0 runs 1"
ran "$program" 0
started || fail "a program that would have gained starts no GPU"
[ "$(find "$tmp/cache/xgemm" -type f | xargs grep -l program | wc -l)" = 0 ] || fail "a name in clear"

# A start in vain: the next one must have been missed in full.
rm -r "$tmp/cache"
plant 0.8
for calls in 2 4 5 6 7 8 9 10; do
    ran "$program" $calls product
    started && break
done
started || fail "no start is earned by $calls products"
keeps "a start in vain" "gain * needs 0 bars 0 runs 1"
tool 'Its last start was in vain' "$program"
ran "$program" $calls product
started && fail "a start that was in vain is repeated"
rm -r "$tmp/cache"

# Promises that are wrong: believed three times at most.
plant 800 0 0
for run in 1 2 3; do
    ran "$program" 0
    started || fail "run $run of a promise in vain"
done
ran "$program" 0
started && fail "a promise is believed for ever"
keeps "a wrong promise" "gain 100 *"

# Records that do not count, and settings that turn them off.
for record in "800 3 0" "800 -200 0" "800 0 1" "150 0 0"; do
    plant $record
    ran "$program" 0
    started && fail "a record that does not count: $record"
    tool 'nothing starts early' "$program"
    tool ' no$' "$program"
done
for setting in XGEMM_HISTORY=off XGEMM_REPRODUCIBLE=1 XGEMM_MODE=cpu; do
    plant 800 0 0
    ran $setting "$program" 0
    started && fail "the GPU starts early, $setting"
    keeps "$setting" "gain 800 *"
done
rm -r "$tmp/cache"
ran XGEMM_HISTORY=off "$program" 1
[ ! -e "$tmp/cache/xgemm/history" ] || fail "XGEMM_HISTORY=off remembers"

# What a later run must leave to the program: its children's GPU, its own settings.
for bar in fork:1 set:2; do
    rm -rf "$tmp/cache"
    ran "$program" 1 "${bar%:*}"
    keeps "$bar" "gain * bars ${bar#*:} *"
    ran "$program" 0
    started && fail "the GPU starts early in spite of $bar"
    tool 'nothing starts early until --forget' "$program"
done

# The same if the GPU has started early, but no call has used it.
rm -rf "$tmp/cache"
plant 800 0 0
ran "$program" 0 fork
started || fail "a promise, and a fork"
keeps "a fork after an early start" "gain * bars 1 *"

# A program that ends without its exit handlers, and gains nothing.
rm -rf "$tmp/cache"
plant 800 -1 0
ran "$program" 0 _exit
keeps "_exit" "gain 800 *"
started || fail "a promise, and _exit"

# Many at once: each is right, and none leaves a file that blocks the others.
plant 800 0 0
for run in 1 2 3 4 5 6 7 8; do
    env XT_FILES='0 /dev/dxg' LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" LD_PRELOAD="$tmp/interpose.so:$XG_SO" \
        "$program" 0 >"$tmp/out.$run" 2>&1 &
done
wait
[ "$(cat "$tmp"/out.* | sort -u)" = right ] || fail "eight at once: $(cat "$tmp"/out.*)"
[ -z "$(find "$tmp/cache" -name '*.new')" ] || fail "a file is left behind"

# What a script names is found: its interpreter, and the program that R starts.
mkdir -p "$tmp/bin" "$tmp/lib/R/bin/exec"
cp "$tmp/program" "$tmp/lib/R/bin/exec/R"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$tmp/lib/R/bin/exec/R" >"$tmp/bin/R"
printf '#!/usr/bin/env -S LC_ALL=C R --no-echo\n' >"$tmp/1.R"
printf '#!/bin/sh\n' >"$tmp/bin/shell"
printf '#! %s/bin/nowhere 1\n' "$tmp" >"$tmp/bin/lost"
cp "$tmp/program" "$tmp/bin/Rscript"
cd "$tmp"
chmod +x bin/* 1.R
tool 'Nothing is remembered' R 1.R
ran "$tmp/bin/R" 1.R
for words in "$program" "R --no-echo 1.R x" "Rscript 1.R" ./1.R; do
    tool 'they begin when its BLAS is loaded' $words
done
number=$(sed -n '2s/ .*//p' "$tmp/told")
tool 'not told apart' R -e 1
tool 'not told apart' shell
tool "$tmp/bin/nowhere: not found" lost
tool 'nowhere: not found' nowhere
tool "$number" "$number"
tool Forgotten --forget R 1.R
tool 'Nothing is remembered' ./1.R
cd - >/dev/null

# Damage: the program is right, and nothing starts.
for file in "$tmp"/cache/xgemm/history/[0-9]*; do
    head -c 1024 /dev/urandom >"$file"
done
ran "$program" 0
started && fail "a damaged record"

exit $status
