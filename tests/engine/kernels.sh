#!/bin/sh
# SPDX-License-Identifier: MIT
# The device test's own bookkeeping, run over the fake driver: layouts, padding, guards, table, report.
report=${TMPDIR:-/tmp}/xg_kernels.$$
trap 'rm -f "$report"' EXIT
XGEMM_TEST_ALLOW_FAKE=1
export XGEMM_TEST_ALLOW_FAKE
"$builddir/tests/gpu/kernels" --short --report "$report" || exit 1
grep -q '^vectorized ' "$report" || { echo "no row in the report" >&2; exit 1; }

# On the fake the same program must not claim to have tested kernels.
unset XGEMM_TEST_ALLOW_FAKE
XGEMM_TEST_REQUIRE_GPU=0 "$builddir/tests/gpu/kernels" --short
[ $? -eq 77 ] || { echo "the fake passes for a device" >&2; exit 1; }
XGEMM_TEST_REQUIRE_GPU=1 "$builddir/tests/gpu/kernels" --short
[ $? -eq 1 ] || { echo "a device that must be there is not, and nothing fails" >&2; exit 1; }
