/* SPDX-License-Identifier: MIT */
/* `deep` without alignment: any address, any leading dimension, no padding. Tile 128x128, 256
 * threads, FP32. */

/*
 * All copies have 4 bytes: 16 per thread and tile for 1024 FFMA, whichever operand is transposed.
 * Results are stored float by float unless C is aligned (target.cuh). For the rest see
 * sgemm_deep_sm80.cu and sgemm_pipelined_scalar_sm80.cu.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
typedef xg_layout<4, 2, 2, 2, 4, 4> layout_128x128;

#define ENTRY(suffix, transa, transb)                                                              \
    extern "C" __global__ void __launch_bounds__(layout_128x128::THREADS)                          \
        xg_sgemm_deep_scalar_sm80_128x128x16_##suffix(                                             \
            const __grid_constant__ struct xg_sgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(deep_scalar, 128x128x16, layout_128x128);                           \
        xg_pipeline<layout_128x128, listed::BK, 16, listed::STAGES, 16, transa, transb, false,     \
                    true>(args);                                                                   \
    }

ENTRY(nn, false, false)
ENTRY(nt, false, true)
ENTRY(tn, true, false)
ENTRY(tt, true, true)
