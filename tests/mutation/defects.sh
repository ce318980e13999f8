# SPDX-License-Identifier: MIT
# Each deliberate defect is caught by two tests of this build; XG_MUTATION=all tries them all.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ -z "${XG_SHORT-}" ] || skip "left to ./quickstart check --all"
has_engine || skip "built without CUDA"
python=$(command -v "${PYTHON:-python3}") || skip "no Python"
nm -D "$XG_SO" | grep -i defect && fail "the library that ships knows of defects"
grep -q XG_DEFECT "$XG_SO" && fail "the library that ships reads XG_DEFECT"
grep -q XG_DEFECT "$builddir/tests/mutation/.libs/libxgemm_shim.so" ||
    fail "the other library does not read XG_DEFECT"
"$python" "$srcdir/tests/mutation/run" ${XG_MUTATION:+--$XG_MUTATION} || fail "see above"
exit $status
