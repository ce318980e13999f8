# SPDX-License-Identifier: MIT
# A process is the same after its products as before, holds no more, and leaves nothing behind but
# what it was told to write.
# Contract 1.1, 7.1, 7.2, 7.3, 7.5, 7.6, 8.6, 10.1, 10.2, 10.4 (doc/contract.md).
. "$srcdir/tests/preload_lib"
needs_plain_library
compile $XG_BLAS_CFLAGS -frounding-math -o "$tmp/state" "$srcdir/tests/preload_state.c" \
    $XG_BLAS_LIBS -lm -pthread
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

# kept WHAT SCENARIO COMMAND...: the program finds all as it was; messages: none.
kept() {
    what=$1
    scenario=$2
    shift 2
    (cd "$tmp/folder" && "$@" "$tmp/state" "$scenario") >"$tmp/out" 2>"$tmp/err"
    result=$?
    [ $result -eq 0 ] && grep -qx '[1-9][0-9]* checks, 0 failed' "$tmp/out" &&
        [ "$(wc -l <"$tmp/out")" -eq 1 ] && [ ! -s "$tmp/err" ] && return
    head -20 "$tmp/out" "$tmp/err"
    fail "$what, $scenario: exit status $result, or messages (contract 10.2)"
}

# A place of its own, in which nothing may appear: contract 10.4.
mkdir "$tmp/folder" "$tmp/home" "$tmp/temporary" "$tmp/accounts"
HOME=$tmp/home TMPDIR=$tmp/temporary
export HOME TMPDIR
unset XDG_CACHE_HOME
lacks=
for scenario in errno rounding flags traps flush signals storm process held; do
    (cd "$tmp/folder" && "$tmp/state" $scenario) >"$tmp/out" 2>&1 || {
        head -5 "$tmp/out"
        lacks="$lacks $scenario" # a CPU library that does not keep it itself is no standard
        continue
    }
    kept "on the CPU" $scenario preloaded XGEMM_MODE=cpu
    kept "as it comes" $scenario preloaded
    has_engine || continue
    kept "on the engine" $scenario on_engine
    kept "a team of 4" $scenario on_engine XGEMM_STAGE_THREADS=4
    kept "a lost device" $scenario on_engine FAKECUDA_FAIL=exec:30:719 XGEMM_LOG="$tmp/log"
    kept "told" $scenario on_engine XGEMM_STATS=1 XGEMM_VERBOSE=3 XGEMM_LOG="$tmp/log" \
        XGEMM_TRACE="$tmp/trace" XGEMM_ACCOUNT="$tmp/accounts"
    kept "compared" $scenario on_engine XGEMM_MODE=compare XGEMM_STATS=1 XGEMM_LOG="$tmp/log"
done
left=$(find "$tmp/folder" "$tmp/home" "$tmp/temporary" -mindepth 1)
[ -z "$left" ] || fail "contract 10.4: files appeared: $left"
case $lacks in
*errno*|*signals*|*held*) fail "the test itself fails without the library:$lacks" ;;
esac
echo "not kept without the library:${lacks:- none}"
exit $status
