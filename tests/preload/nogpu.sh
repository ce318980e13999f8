# SPDX-License-Identifier: MIT
# A process that asks for the GPU where none can be used gets one warning; others get no message.
# Contract 9.3 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
quiet_stub "$tmp/libone.so"
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

# words MODE [NAME=VALUE...]: runs four products; their messages are in $tmp/err.
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
        [ "$(cat "$tmp/err")" = "xgemm: XGEMM_MODE=$mode, but $why: products run on the CPU" ] ||
            fail_with "$mode, $settings: not what it should say, once" "$tmp/err"
    done
    words $mode XGEMM_STATS=1 XGEMM_LOG="$tmp/log.$mode"
    [ "$(grep -c "but $why" "$tmp/log.$mode")" = 1 ] || fail "$mode: not in XGEMM_LOG"
    [ ! -s "$tmp/err" ] || fail "$mode: on standard error in spite of XGEMM_LOG"
done
for mode in auto cpu; do
    words $mode
    [ ! -s "$tmp/err" ] || fail_with "$mode: it speaks" "$tmp/err"
done

# The true reason is in statistics, ab, top and the line of a product, although no start was earned. The
# machine's own device files are hidden, or their opening is refused as in a container.
has_engine || exit $status
run=$builddir/tools/xgemm-run
interposer
devices='/dev/nvidia* 2 /dev/dxg 2 /dev/nvmap'
export XT_FILES="2 $devices"
mkdir "$tmp/nothing"

# reasons WHY SENTENCE [NAME=VALUE...]: each report gives the reason.
reasons() {
    reasons_why=$1
    reasons_text=$2
    shift 2
    for way in stats verbose ab top doctor report; do
        [ $way != report ] || command -v python3 >/dev/null || continue
        case $way in
        stats) set -- "$@" XGEMM_STATS=1 ;;
        verbose) set -- "$@" XGEMM_STATS=0 XGEMM_VERBOSE=1 ;;
        ab) set -- "$@" XGEMM_VERBOSE=0 ;;
        esac
        case $way in
        stats | verbose) env "$@" LD_PRELOAD="$tmp/interpose.so:$XG_SO" "$tmp/main" own 512 ;;
        ab) env "$@" XGEMM_SHIM_LIB="$XG_SO" LD_PRELOAD="$tmp/interpose.so" "$run" ab -n 1 "$tmp/main" own 512 ;;
        top) env "$@" XGEMM_SHIM_LIB="$XG_SO" LD_PRELOAD="$tmp/interpose.so" "$run" top "$tmp/main" own 512 ;;
        report) env "$@" XGEMM_SHIM_LIB="$XG_SO" LD_PRELOAD="$tmp/interpose.so" "$run" report -o "$tmp/err" "$tmp/main" own 512 ;;
        doctor) ! env "$@" XGEMM_SHIM_LIB="$XG_SO" LD_PRELOAD="$tmp/interpose.so" "$run" doctor "$tmp/main" own 512 ;;
        esac >"$tmp/out" 2>"$tmp/err.$way" || fail "$way, $*: exit status $?"
        [ $way = report ] || mv "$tmp/err.$way" "$tmp/err"
        [ $way != doctor ] || mv "$tmp/out" "$tmp/err"
        case $way in
        stats | ab | top) said="no GPU here: $reasons_text.*; see xgemm-run doctor" ;;
        report) said="There is no GPU here: $reasons_text.*xgemm-run doctor" ;;
        doctor) said='No GPU is usable here: .* ran on the CPU' ;;
        verbose) said=$reasons_why ;;
        esac
        # A product does not know that a driver has no device: the driver is asked at the end.
        [ "$way:$reasons_why" = 'verbose:no usable GPU: no device' ] || tr '\n' ' ' <"$tmp/err" | grep -q "$said" ||
            fail_with "$way, $*: not: $said" "$tmp/err"
        [ $way = top ] || [ "$way:$reasons_why" = 'verbose:no usable GPU: no device' ] ||
            grep -q "$reasons_why" "$tmp/err" || fail_with "$way, $*: not: $reasons_why" "$tmp/err"
        [ $way = verbose ] || ! grep -q 'not earned' "$tmp/err" || fail "$way, $*: it says that a start is not earned"
    done
}
reasons 'no usable GPU: no device' 'the CUDA driver finds no device'
reasons 'no usable GPU: no device' 'the CUDA driver finds no device' FAKECUDA_FAIL=cuInit:1:100:always
for error in 1 13; do # EPERM of a container's rules, EACCES of permissions
    reasons 'no usable GPU: not allowed' 'its device files' XT_FILES="$error $devices"
    reasons 'no usable GPU: not allowed' 'its device files' XT_FILES="$error $devices" LD_LIBRARY_PATH="$tmp/nothing"
done
env LD_LIBRARY_PATH="$tmp/nothing" "$builddir/tools/xgemm-doctor" --json="$tmp/json" >"$tmp/out" 2>&1
grep -q '"driver":"absent"' "$tmp/json" &&
    reasons 'no usable GPU: no driver' 'the CUDA driver (libcuda.so.1) is not found' LD_LIBRARY_PATH="$tmp/nothing"
# A driver that has a device is one, without a device file: the start is to be earned.
env FAKECUDA_DEVICES=1 XGEMM_STATS=1 LD_PRELOAD="$tmp/interpose.so:$XG_SO" "$tmp/main" own 512 2>"$tmp/err"
grep -q 'not earned' "$tmp/err" && ! grep -q 'no GPU here' "$tmp/err" ||
    fail_with "a driver with a device is taken for none" "$tmp/err"
exit $status
