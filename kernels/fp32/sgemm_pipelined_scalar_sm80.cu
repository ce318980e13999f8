/* SPDX-License-Identifier: MIT */
/* `pipelined` without alignment: any address, any leading dimension, no padding. Tiles 128x128 (256
 * threads) and 64x64 (128 threads), FP32. */

/*
 * Why. The host pipeline pads its operands, but matrices that are already on the device may not be
 * padded. All copies here have 4 bytes. This costs instructions if an operand is contiguous along m
 * or n (tn: 16 copies per tile and thread instead of 4), and nothing if it is transposed anyway. C
 * is stored through shared memory in rows of 32 adjacent elements (xg_store_rows). For the rest see
 * sgemm_pipelined_sm80.cu.
 *
 * A thread has 8x8 results, and an SM has 16 warps. At 4096 this reaches nn 49.4, nt 51.2, tn 49.6,
 * tt 48.7 TFLOP/s; 16x8 results with the copies in one burst reached 43 to 48. A 64x128 tile was
 * not faster for any relevant shape.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
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

/* Tile, layout, blocks per SM. */
XG_PIPELINE_ENTRIES(128x128x16, layout_128x128, 2)
XG_PIPELINE_ENTRIES(64x64x16, layout_64x64, 4)
