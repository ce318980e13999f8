# SPDX-License-Identifier: MIT
# Other projects' test programs print the same with the library, and with every product on the
# engine: the short ones of tests/conformance/run.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ -z "${XG_SHORT-}" ] || skip "left to ./quickstart check --all"
python=$(command -v "${PYTHON:-python3}") || skip "no Python"
export PYTHONDONTWRITEBYTECODE=1

"$python" "$srcdir/tests/conformance/run" --self-test || fail "the comparison misses something"
"$python" "$srcdir/tests/conformance/run" --build "$builddir" --short --show 40
case $? in
0) ;;
77) skip "none of the programs is installed" ;;
*) fail "a program prints something else" ;;
esac
exit $status
