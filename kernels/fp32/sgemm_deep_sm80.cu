/* SPDX-License-Identifier: MIT */
/* `pipelined` with slices of k (split-K): few tiles of C, a long k, aligned operands. FP32
 * throughout. */

/*
 * Why. The main loop of sliced.cuh accepts any alignment and reaches 45 TFLOP/s. The loop of
 * `pipelined` (sgemm_pipelined_sm80.cu) is fully unrolled and reaches 52, but one block has all of
 * k: 1024 x 1024 results are only 64 tiles for 132 multiprocessors. Here a block has a slice of k
 * (split-K, as in CUTLASS). The slices are added as in sliced.cuh, in a cluster, where each block
 * adds a share of the results from the other blocks' shared memory.
 *
 * A block has 256 threads with 8x8 results each, one block per SM. Compared with two blocks of 16x8
 * results per thread, half as many sums are written and added, and the loop is not slower (52
 * TFLOP/s on the SMs with blocks; 49 with two blocks).
 *
 * The narrow tiles are for 64 and 32 rows or columns. Per FLOP 256x64 reads 1.25 times the bytes of
 * 128x128, and 256x32 reads 2.25 times. The bottleneck of 32 is the operand that is transposed with
 * copies of 4 bytes: 100000 x 32 with k = 256 takes 42 us if A is contiguous along m, and 54 us if
 * it is contiguous along k.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
typedef xg_layout<4, 2, 2, 2, 4, 4> layout_128x128;
typedef xg_layout<4, 2, 2, 2, 8, 4> layout_256x64;
typedef xg_layout<2, 4, 2, 2, 4, 4> layout_64x256;
typedef xg_layout<4, 1, 2, 2, 8, 4> layout_256x32;
typedef xg_layout<1, 4, 2, 2, 4, 4> layout_32x256;

#define ENTRY(tile, suffix, layout, blocks, transa, transb)                                        \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_sgemm_deep_sm80_##tile##_##suffix(const __grid_constant__ struct xg_sgemm_args args)    \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(deep, tile, layout);                                                \
        xg_pipeline<layout, listed::BK, 16, listed::STAGES, 16, transa, transb, true, true>(args); \
    }

/*
 * Tile, transposes, layout, blocks per SM. With 0 blocks ptxas has no bound and finds registers
 * with fewer bank conflicts; entries for which it does not get a bound.
 */
XG_PIPELINE_ENTRIES(128x128x16, layout_128x128, 1)
XG_PIPELINE_ENTRIES(256x64x16, layout_256x64, 1)
XG_PIPELINE_ENTRIES(64x256x16, layout_64x256, 1)
XG_PIPELINE_ENTRIES(256x32x16, layout_256x32, 3)
ENTRY(32x256x16, nn, layout_32x256, 0, false, false)
ENTRY(32x256x16, nt, layout_32x256, 3, false, true)
ENTRY(32x256x16, tn, layout_32x256, 0, true, false)
ENTRY(32x256x16, tt, layout_32x256, 3, true, true)
