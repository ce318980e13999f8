# SPDX-License-Identifier: MIT
# A call costs no more from a thousand places of a program than from a hundred.
# Contract 11.1 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
blas_program sites
export OPENBLAS_NUM_THREADS=1

for mode in cpu auto; do
    preloaded XGEMM_MODE=$mode "$tmp/sites" >"$tmp/out" 2>"$tmp/err" || fail "$mode: exit status $?"
    cat "$tmp/err"
    [ "$(cat "$tmp/out")" = right ] || fail "$mode"
done
exit $status
