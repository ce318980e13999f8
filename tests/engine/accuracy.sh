#!/bin/sh
# SPDX-License-Identifier: MIT
# The accuracy test's own bookkeeping, run over the fake driver: operands, references, table.
table=${TMPDIR:-/tmp}/xg_accuracy.$$
trap 'rm -f "$table"' EXIT
XGEMM_TEST_ALLOW_FAKE=1
export XGEMM_TEST_ALLOW_FAKE
"$builddir/tests/gpu/accuracy" --side 32 --k-max 17 >"$table" || exit 1
for line in '^N(0,1) ' '^circulant ' '^diagonal by dense ' '^blocks, 1 in 8 ' '^permutation ' \
    '^infinities ' ', 0 failed$'; do
    grep -q "$line" "$table" || { echo "no line $line in the table" >&2; exit 1; }
done

# The kernels that are chosen by name, and doubles.
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR/pieces:$LD_LIBRARY_PATH "$builddir/tests/gpu/accuracy" --side 32 --k-max 128 >"$table" ||
    exit 1
grep -q '^fp16x3_mma: 0 elements changed' "$table" || { echo "no scaling by fp16x3_mma" >&2; exit 1; }
for line in '^NaN .* | fp16x3_mma 0$' '^U(0,1)  *64 .*e[+-][0-9]*$' \
    '^cancellation 2^-48 ' '^53 bits permuted ' '^beyond DBL_MAX \(.* 0 wrong\)\{3\}$'; do
    grep -q "$line" "$table" || { echo "no line $line in the table" >&2; exit 1; }
done

# On the fake the same program must not claim to have tested arithmetic.
unset XGEMM_TEST_ALLOW_FAKE
XGEMM_TEST_REQUIRE_GPU=0 "$builddir/tests/gpu/accuracy" --side 32 --k-max 17
[ $? -eq 77 ] || { echo "the fake passes for a device" >&2; exit 1; }
