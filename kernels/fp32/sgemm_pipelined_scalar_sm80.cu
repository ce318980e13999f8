/* SPDX-License-Identifier: MIT */
/* Rung 9 where nothing is aligned: any address, any leading dimension, no padding. */

/*
 * Why. The host pipeline pads; a caller whose matrices are on the device already need not have. All
 * copies are of 4 bytes here, which costs instructions where an operand is contiguous along m or n
 * (tn: 16 copies a tile and thread instead of 4) and nothing where it is turned anyway. C is stored
 * through shared memory in rows of 32 neighbours (xg_store_rows). Else see sgemm_pipelined_sm80.cu.
 *
 * 8x8 results a thread, 16 warps an SM: 16x8 with the copies in one burst did 43 to 48 TFLOP/s at
 * 4096, this does nn 49.4, nt 51.2, tn 49.6, tt 48.7. A 64x128 tile won nowhere that mattered.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads a thread along m, n; lanes along m; width of a band. */
typedef xg_layout<4, 2, 2, 2, 4, 4> layout_128x128;
typedef xg_layout<2, 2, 2, 1, 4, 4> layout_64x64;

#define ENTRY(tile, suffix, layout, blocks, transa, transb)                                        \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_sgemm_pipelined_scalar_sm80_##tile##_##suffix(                                          \
            const __grid_constant__ struct xg_sgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(pipelined_scalar, tile, layout);                                    \
        xg_pipeline<layout, listed::BK, 16, listed::STAGES, 16, transa, transb, false>(args);      \
    }

/* Tile, layout, blocks an SM. */
XG_PIPELINE_ENTRIES(128x128x16, layout_128x128, 2)
XG_PIPELINE_ENTRIES(64x64x16, layout_64x64, 4)
