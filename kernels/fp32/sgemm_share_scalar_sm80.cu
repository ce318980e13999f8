/* SPDX-License-Identifier: MIT */
/* `share` without alignment: any address, any leading dimension, no padding. Tile 128x128, 256
 * threads, FP32. */

/*
 * An entry of sgemm_share_sm80.cu adds the parts of tiles; sgemm_deep_scalar_sm80.cu explains the
 * copies. 1001 x 1001 with k = 20001 leaves 4 of 132 multiprocessors idle with whole slices, and
 * 1535 x 1537 leaves nearly half of them idle with whole tiles.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
typedef xg_layout<4, 2, 2, 2, 4, 4> layout_128x128;

#define ENTRY(suffix, blocks, transa, transb)                                                      \
    extern "C" __global__ void __launch_bounds__(layout_128x128::THREADS, blocks)                  \
        xg_sgemm_share_scalar_sm80_128x128x16_##suffix(                                            \
            const __grid_constant__ struct xg_sgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(share_scalar, 128x128x16, layout_128x128);                          \
        xg_pipeline_share<layout_128x128, listed::BK, 16, listed::STAGES, 16, transa, transb,      \
                          false>(args);                                                            \
    }

/* 0 blocks: see sgemm_deep_sm80.cu. */
ENTRY(nn, 0, false, false)
ENTRY(nt, 0, false, true)
ENTRY(tn, 0, true, false)
ENTRY(tt, 0, true, true)
