#!/bin/sh
# SPDX-License-Identifier: MIT
# Verification of products from pieces, by wgmma and by mma.sync: the scenarios of verify on the driver that has them.
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR/pieces:$LD_LIBRARY_PATH
FAKECUDA_SM_COUNT=2
export LD_LIBRARY_PATH XGEMM_KERNEL FAKECUDA_SM_COUNT
for XGEMM_KERNEL in fp16x3 fp16x3_mma; do
    XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 "$builddir/tests/engine/verify" shapes 2>&1 |
        grep -q " $XGEMM_KERNEL " || { echo "no product was computed by $XGEMM_KERNEL" >&2; exit 1; }
    "$builddir/tests/engine/verify" || exit 1
done
