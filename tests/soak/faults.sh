# SPDX-License-Identifier: MIT
# A soak of twenty seconds (tests/soak/run): faults, many threads, every product checked.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ -z "${XG_SHORT-}" ] || skip "left to ./quickstart check --all"
has_engine || skip "built without CUDA"
[ -n "$XG_BLAS_LIBS" ] || skip "no BLAS is installed"
sh "$srcdir/tests/soak/run" 0.33 "$builddir" || fail "see above"
# The run for a device, here on the fake driver.
LD_LIBRARY_PATH=$builddir/tests/fakedrv sh "$srcdir/tests/soak/run" 0.05 "$builddir" device ||
    fail "as on a device: see above"
exit $status
