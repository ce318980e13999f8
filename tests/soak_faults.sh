# SPDX-License-Identifier: MIT
# A soak of twenty seconds (tests/soak/run): faults, many threads, every product checked.
. "$srcdir/tests/preload_lib"
needs_plain_library
has_engine || skip "built without CUDA"
[ -n "$XG_BLAS_LIBS" ] || skip "no BLAS is installed"
sh "$srcdir/tests/soak/run" 0.33 "$builddir" || fail "see above"
exit $status
