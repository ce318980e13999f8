/* SPDX-License-Identifier: MIT */
/* The product of operands that sgemm_repack_sm75.cu left k-major and aligned; any C (kabi.h). */

/*
 * Why. The tn entry of `pipelined` is the fastest: all copies are of 16 bytes, and no group of them
 * is preceded by three LDS that do nothing (NOTES.md). These are the same loop with stores to C of
 * any alignment, and tiles for sizes at which 128x128 leave SMs idle: 64x64 by two warps of 8x8
 * results where an SM gets eight tiles or more, by four warps of 8x4 and in shorter steps where it
 * gets fewer, so that five blocks run at once.
 *
 * Accounts, FFMA of the main loop's instructions and how many of them meet a bank conflict (sm_90):
 * 128x128 93 %, 13 %; 64x128 90 %, 16 %; 64x64x16 87 %, 20 %; 64x64x8 83 %, 33 %.
 */
#include "pipeline.cuh"

/* Warps along m, n; quads a thread along m, n; lanes along m; width of a band. */
typedef xg_layout<2, 2, 4, 2, 4, 8> layout_128x128;
typedef xg_layout<2, 2, 2, 2, 4, 4> layout_64x128;
typedef xg_layout<2, 1, 2, 2, 4, 4> layout_64x64;
typedef xg_layout<2, 2, 2, 1, 4, 4> layout_64x64_warps4;

#define ENTRY(tile, layout, blocks)                                                                \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_sgemm_repacked_sm80_##tile(const __grid_constant__ struct xg_sgemm_args args)           \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(repacked, tile, layout);                                            \
        xg_pipeline<layout, listed::BK, listed::BK, listed::STAGES, 16, true, false, true, false>( \
            args);                                                                                 \
    }

/* From sm_100 on, ptxas spills where four blocks of 64x128 leave it 128 registers. */
#if __CUDA_ARCH__ >= 1000
#define BLOCKS_64x128 3
#else
#define BLOCKS_64x128 4
#endif

/* Tile, layout, blocks an SM. */
ENTRY(128x128x16, layout_128x128, 2)
ENTRY(64x128x16, layout_64x128, BLOCKS_64x128)
ENTRY(64x64x16, layout_64x64, 8)
ENTRY(64x64x8, layout_64x64_warps4, 5)
