# SPDX-License-Identifier: MIT
# xgemm-run calibrate measures the machine and keeps the figures; later programs read them.
. "$srcdir/tests/preload/lib"
needs_plain_library
run=$builddir/tools/xgemm-run
[ -x "$run" ] && [ -x "$builddir/tools/xgemm-calibrate" ] || skip "$run has not been built"
[ -n "$(real "$XG_CPU_BLAS")" ] || skip "$XG_CPU_BLAS is not installed"
export XDG_CACHE_HOME="$tmp/cache" OPENBLAS_NUM_THREADS=1
unset LD_PRELOAD XGEMM_CPU_BLAS

# Nothing is measured where no file can be kept. Root may write everywhere except in /proc.
for cache in "" /proc; do
    HOME=relative XDG_CACHE_HOME=$cache "$run" --calibrate >"$tmp/out" 2>"$tmp/err" &&
        fail "--calibrate: kept in '$cache'"
    grep -q 'measured ms' "$tmp/out" && fail "--calibrate: measures what it cannot keep in '$cache'"
    grep -q "${cache:+/proc/xgemm/}" "$tmp/err" || fail "does not say where: $(cat "$tmp/err")"
done

# kept: prints the sides that have a file; the file of the cost of waking threads does not count.
kept() {
    ls "$XDG_CACHE_HOME/xgemm" 2>/dev/null | sed '/^wake-/d; s/-.*//' | tr '\n' ' '
}

# measures WHAT: tries up to three times to measure well enough to be kept, else skips the test.
measures() {
    for turn in 1 2 3; do
        LD_LIBRARY_PATH=$XG_FAKEDRV_DIR "$run" --calibrate >"$tmp/out" 2>"$tmp/err" && return
        grep -q ': not stored, because the typical error is above 30 %' "$tmp/err" || {
            cat "$tmp/out" "$tmp/err"
            fail "--calibrate: $1"
            return
        }
    done
    skip "the machine is busy"
}

# Two programs a core keep the machine busy: only figures with an error below 30 % are kept.
for i in $(seq $(($(nproc) * 2))); do
    timeout 60 sh -c 'while :; do :; done' &
    busy="${busy-} $!"
done
FAKECUDA_DEVICES=0 LD_LIBRARY_PATH=$XG_FAKEDRV_DIR "$run" --calibrate >"$tmp/out" 2>"$tmp/err"
ended=$?
kill $busy
wait 2>/dev/null
error=$(sed -n 's/^CPU: .*typical error \([0-9]*\) %.*/\1/p' "$tmp/out")
if [ "$error" -gt 30 ]; then
    [ $ended -ne 0 ] && [ -z "$(kept)" ] || fail "a typical error of $error % is kept"
    grep -q 'CPU: not stored, because the typical error is above 30 %' "$tmp/err" || fail "busy: it does not say why"
elif [ "$error" -lt 30 ]; then
    [ $ended -eq 0 ] || fail "a typical error of $error % is not kept"
fi

# Without a GPU the CPU side is measured, and the output says so.
export FAKECUDA_DEVICES=0
measures "without a GPU"
unset FAKECUDA_DEVICES
grep -q 'CPU: .* GFLOP/s' "$tmp/out" || fail "the CPU was not measured"
grep -q 'GPU: none' "$tmp/out" || fail "does not say that there is no GPU"
[ "$(kept)" = 'cpu ' ] || fail "kept: $(ls "$tmp/cache/xgemm")"

if has_engine; then
    measures "on the fake driver"
    grep -q 'GPU: .* GB/s up' "$tmp/out" || fail "the GPU was not measured"
    [ "$(kept)" = 'cpu gpu ' ] ||
        fail "kept: $(ls "$tmp/cache/xgemm")"
fi
for kept in "$XDG_CACHE_HOME"/xgemm/*; do
    grep -q -x -e xgemm-calibration=2 -e xgemm-wake=2 "$kept" || fail "$kept: no version"
    grep -v '^[a-z_-]*=[^=]*$' "$kept" && fail "$kept: not name=value"
done

# Doctor finds the files, and that they belong to this machine.
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR "$builddir/tools/xgemm-doctor" --json >"$tmp/out" 2>"$tmp/err"
grep -q '"calibration":{"cpu":"fits"' "$tmp/out" || fail "doctor: $(cat "$tmp/out" "$tmp/err")"
if has_engine; then
    grep -q '"gpu":"fits"' "$tmp/out" || fail "doctor: $(cat "$tmp/out")"
fi

# one NAME=VALUE...: runs a program with one large product, preloaded; messages are in $tmp/err.
compile $XG_BLAS_CFLAGS -o "$tmp/one" "$srcdir/tests/install/program.c" $XG_BLAS_LIBS
one() {
    right "$*" preloaded "$@" "$tmp/one"
}
one XGEMM_VERBOSE=2
grep -q 'calibrated by .*/xgemm/cpu-' "$tmp/err" || fail "not read: $(cat "$tmp/err")"
for quiet in XGEMM_REPRODUCIBLE=1 XGEMM_MODE=cpu XDG_CACHE_HOME="$tmp/nowhere"; do
    one XGEMM_VERBOSE=2 "$quiet"
    grep -q calibrat "$tmp/err" && fail "$quiet: a calibration is read"
done

# A damaged file, and a folder in its place: one message, and the program goes on.
for kept in "$XDG_CACHE_HOME"/xgemm/*; do
    sed 's/=16$/=x/; $s/=/=-/' "$kept" >"$tmp/damaged" && cp "$tmp/damaged" "$kept"
done
one XGEMM_VERBOSE=1
[ "$(grep -c 'it was made on another machine' "$tmp/err")" = 1 ] || fail "damaged: $(cat "$tmp/err")"
for kept in "$XDG_CACHE_HOME"/xgemm/*; do
    rm "$kept" && mkdir "$kept"
done
one XGEMM_VERBOSE=1
[ "$(grep -c 'it was made on another machine' "$tmp/err")" = 1 ] || fail "folder: $(cat "$tmp/err")"

# If nothing can be measured the output says so, and the exit status is not 0.
XGEMM_CPU_BLAS=libm.so.6 "$run" --calibrate >"$tmp/out" 2>"$tmp/err" && fail "measured libm"
grep -q 'libm.so.6 .*no sgemm' "$tmp/err" || fail "does not say what: $(cat "$tmp/err")"
"$run" --calibrate "$tmp/one" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 125 ] || fail "--calibrate with a program"
exit $status
