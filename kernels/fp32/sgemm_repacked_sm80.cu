/* SPDX-License-Identifier: MIT */
/* The product of operands that sgemm_repack_sm75.cu has made k-major and aligned; any C (kabi.h).
 * FP32. */

/*
 * Why. The tn entry of `pipelined` is the fastest: all copies have 16 bytes, and no group of them
 * follows three useless LDS (NOTES.md). These entries use the same loop with stores to C of any
 * alignment, and smaller tiles for sizes at which 128x128 leaves SMs idle. 64x64 has two warps of
 * 8x8 results per thread if an SM gets eight tiles or more, and four warps of 8x4 with shorter
 * steps if it gets fewer, so that five blocks run at once.
 *
 * Accounts, the share of FFMA in the main loop's instructions and the share of FFMA with a bank
 * conflict (sm_90): 128x128 93 %, 13 %; 64x128 90 %, 16 %; 64x64x16 87 %, 20 %; 64x64x8 83 %, 33 %.
 */
#include "pipeline.cuh"

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
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

/* From sm_100 on ptxas spills if four blocks of 64x128 leave it 128 registers. */
#if __CUDA_ARCH__ >= 1000
#define BLOCKS_64x128 3
#else
#define BLOCKS_64x128 4
#endif

/* Tile, layout, blocks per SM. */
ENTRY(128x128x16, layout_128x128, 2)
ENTRY(64x128x16, layout_64x128, BLOCKS_64x128)
ENTRY(64x64x16, layout_64x64, 8)
ENTRY(64x64x8, layout_64x64_warps4, 5)
