# SPDX-License-Identifier: MIT
# NumPy under the preload: its products are intercepted, and right on the CPU and on the engine.
. "$srcdir/tests/preload/lib"
needs_plain_library
# Takes the machine's first Python that has NumPy.
find_python 'import numpy' || skip "no Python here has NumPy"
unset XGEMM_MODE XGEMM_VERBOSE

# run WHAT COMMAND...: all answers are right; the account is in $tmp/log.
run() {
    what=$1
    shift
    rm -f "$tmp/log"
    "$@" env XGEMM_STATS=1 XGEMM_LOG="$tmp/log" "$python" "$srcdir/tests/preload/numpy_products.py" >"$tmp/out" 2>&1 ||
        fail "$what: exit status $?"
    [ "$(tail -n 1 "$tmp/out")" = '43 of 43 right' ] || fail_with "$what" "$tmp/out"
}

run "alone" env
[ ! -e "$tmp/log" ] || fail "something writes a log without the library"
run "preloaded" preloaded env XGEMM_MODE=cpu
grep -E 'CPU +XGEMM_MODE +(scipy_)?cblas_sgemm' "$tmp/log" || fail "no product was intercepted"
for name in dgemm cgemm zgemm ssyrk dsyrk csyrk zsyrk; do
    grep -Eq "CPU +XGEMM_(MODE|OPERATIONS) +(scipy_)?cblas_$name" "$tmp/log" || fail "$name is not intercepted"
done
if has_engine; then
    run "on the engine, all operations" on_engine env XGEMM_OPERATIONS=all
    for name in sgemm dgemm cgemm zgemm ssyrk dsyrk csyrk zsyrk; do
        grep -Eq "GPU +XGEMM_MODE +(scipy_)?cblas_$name" "$tmp/log" ||
            fail "$name did not run on the engine"
    done
    run "on the engine" on_engine
    grep -E 'GPU +XGEMM_MODE +(scipy_)?cblas_sgemm' "$tmp/log" || fail "no product ran on the engine"
    grep 'GPU failed' "$tmp/log" && fail "a product failed on the engine"
fi
exit $status
