#!/bin/sh
# SPDX-License-Identifier: MIT
# A driver that lacks what src/device/drv.h can do without: products of every row and shape all the same.
old=$XG_FAKEDRV_DIR/old/libcuda.so.1
"$NM" -D "$old" | grep -q ' cuLaunchKernel$' || { echo "$old is no driver" >&2; exit 99; }
newer='cuLaunchKernelEx|cuOccupancyMaxActiveClusters|cuPointerGetAttributes|cuThreadExchangeStreamCaptureMode'
"$NM" -D "$old" | grep -Eq " ($newer)\$" && { echo "$old is not old" >&2; exit 99; }
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR/old:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
XT_SHORT=1 exec "$builddir/tests/engine/gemm"
