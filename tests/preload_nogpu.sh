# SPDX-License-Identifier: MIT
# Who asks for the GPU where none can be used is told so, once; who does not is told nothing.
# Contract 9.3 (doc/contract.md).
. "$srcdir/tests/preload_lib"
needs_plain_library
stub "$tmp/libone.so" one -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_QUIET
program "$tmp/main" -DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm "$tmp/libone.so" -Wl,-rpath,"$tmp"
unset XGEMM_MODE XGEMM_LOG XGEMM_VERBOSE XGEMM_STATS

if has_engine; then
    why='there is no usable GPU (the CUDA driver finds no device)'
    FAKECUDA_DEVICES=0 LD_LIBRARY_PATH=$XG_FAKEDRV_DIR
    export FAKECUDA_DEVICES LD_LIBRARY_PATH
else
    [ "$XG_WITH_CUDA" = no ] || skip "the fake driver has not been built"
    why='this library was built without CUDA'
fi

# words MODE [NAME=VALUE...]: what a program of four products says on standard error, in $tmp/err.
words() {
    words_mode=$1
    shift
    preloaded XGEMM_MODE="$words_mode" "$@" "$tmp/main" own 9 own 100 >"$tmp/out" 2>"$tmp/err" ||
        fail "$words_mode: exit status $?"
    [ "$(cat "$tmp/out")" = "$(printf 'own right\nown right')" ] || fail "$words_mode: answers"
}

for mode in gpu compare; do
    for settings in XGEMM_VERBOSE=0 XGEMM_REPRODUCIBLE=1; do
        words $mode $settings
        [ "$(cat "$tmp/err")" = "xgemm: XGEMM_MODE=$mode, but $why: products run on the CPU" ] || {
            cat "$tmp/err"
            fail "$mode, $settings: not what it should say, once"
        }
    done
    words $mode XGEMM_STATS=1 XGEMM_LOG="$tmp/log.$mode"
    [ "$(grep -c "but $why" "$tmp/log.$mode")" = 1 ] || fail "$mode: not in XGEMM_LOG"
    [ ! -s "$tmp/err" ] || fail "$mode: on standard error in spite of XGEMM_LOG"
done
for mode in auto cpu; do
    words $mode
    [ ! -s "$tmp/err" ] || {
        cat "$tmp/err"
        fail "$mode: it speaks"
    }
done
exit $status
