# SPDX-License-Identifier: MIT
# LAPACK's tester of linear equations, as Debian ships it (liblapack-test). On OpenBLAS it finds
# fault with 104 STR cases, with or without the library.
. "$srcdir/tests/thirdparty_lib"
installed lapack/xlintsts
whole=${tester%/*}/stest.in
beside xlintsts 80 "$whole" '' "$tester"

# As shipped it makes a million and a half products, minutes on the engine. Fewer sizes make a
# quarter of a million; the largest still has more rows than LAPACK's blocks.
sed -e 's/^0 1 2 3 5 10 50 /0 1 5 30 /' -e 's/^7 \( *Number of values of [MN]\)$/4 \1/' \
    "$whole" >"$tmp/stest.in"
[ "$(grep -c -e '^0 1 5 30 ' -e '^4 ' "$tmp/stest.in")" = 4 ] || exit 99
through "xlintsts, fewer sizes" 80 "$tmp/stest.in" '' "$tester"
exit $status
