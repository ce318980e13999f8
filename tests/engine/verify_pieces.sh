#!/bin/sh
# SPDX-License-Identifier: MIT
# Verification of products from pieces: the scenarios of verify on the driver that has them.
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR/pieces:$LD_LIBRARY_PATH
XGEMM_KERNEL=fp16x3
FAKECUDA_SM_COUNT=2
export LD_LIBRARY_PATH XGEMM_KERNEL FAKECUDA_SM_COUNT
XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 "$builddir/tests/engine/verify" shapes 2>&1 |
    grep -q ' fp16x3 ' || { echo "no product was computed from pieces" >&2; exit 1; }
exec "$builddir/tests/engine/verify"
