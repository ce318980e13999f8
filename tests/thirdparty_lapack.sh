# SPDX-License-Identifier: MIT
# LAPACK's tester of linear equations, as Debian ships it (liblapack-test). On OpenBLAS it finds fault
# with 104 STR cases, with or without the library.
. "$srcdir/tests/thirdparty_lib"
installed lapack/xlintsts

# Fewer sizes than it is shipped with: they still are a million products.
sed -e 's/^0 1 2 3 5 10 50 /0 1 5 50 /' -e 's/^7 \( *Number of values of [MN]\)$/4 \1/' \
    "${tester%/*}/stest.in" >"$tmp/stest.in"
[ "$(grep -c '^0 1 5 50 ' "$tmp/stest.in")" = 2 ] || exit 99
three_runs xlintsts 30 "$tmp/stest.in" '' "$tester"
exit $status
