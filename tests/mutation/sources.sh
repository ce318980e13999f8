# SPDX-License-Identifier: MIT
# One-line defects of the emulated kernels, and of what launches them, are caught by the tests that their rows name;
# XG_MUTATION=all makes them all.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ -z "${XG_SHORT-}" ] || skip "left to ./quickstart check --all"
has_engine || skip "built without CUDA"
python=$(command -v "${PYTHON:-python3}") || skip "no Python"
command -v "${CXX:-c++}" >/dev/null || skip "no C++ compiler"
grep -q f16c /proc/cpuinfo 2>/dev/null || skip "this CPU has no F16C"
"$python" "$srcdir/tests/mutation/sources" || fail "see above"
exit $status
