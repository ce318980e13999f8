#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests of this folder once more, on drivers and devices that lack something, or have more.
old=$XG_FAKEDRV_DIR/old/libcuda.so.1
"$NM" -D "$old" | grep -q ' cuLaunchKernel$' || { echo "$old is no driver" >&2; exit 99; }
newer='cuLaunchKernelEx|cuOccupancyMaxActiveClusters|cuPointerGetAttributes|cuThreadExchangeStreamCaptureMode'
"$NM" -D "$old" | grep -Eq " ($newer)\$" && { echo "$old is not old" >&2; exit 99; }

# on FAKE COMMAND...: on the driver in that folder of the fake driver's.
on() {
    fake=$XG_FAKEDRV_DIR/$1
    shift
    LD_LIBRARY_PATH=$fake:$XG_FAKEDRV_DIR env "$@" || { echo "failed: $*" >&2; exit 1; }
}

# Products of every row and shape, without what src/device/drv.h can do without.
on old XT_SHORT=1 "$builddir/tests/engine/gemm"

# Pieces by mma.sync, on a device that is no Hopper, by a driver without tensor maps.
on pieces FAKECUDA_SM=86 "$builddir/tests/engine/pieces" fp16x3_mma

# Products from pieces, by wgmma and by mma.sync, verified.
for kernel in fp16x3 fp16x3_mma; do
    pieces="XGEMM_KERNEL=$kernel FAKECUDA_SM_COUNT=2"
    on pieces $pieces XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 "$builddir/tests/engine/verify" shapes 2>&1 |
        grep -q " $kernel " || { echo "no product was computed by $kernel" >&2; exit 1; }
    on pieces $pieces "$builddir/tests/engine/verify"
done
