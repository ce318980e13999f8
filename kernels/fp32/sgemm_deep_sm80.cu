/* SPDX-License-Identifier: MIT */
/* Rung 9 with slices of k: products with few tiles of C and a long k, all operands aligned. */

/*
 * Why. The main loop of sliced.cuh takes any alignment and runs at 45 TFLOP/s; that of `pipelined`
 * (sgemm_pipelined_sm80.cu) is unrolled whole and does 52, but has all of k in one block: 512 x 512
 * results are 16 tiles for 132 multiprocessors. Here a block has a slice of k, and the slices meet
 * as in sliced.cuh: in a cluster, each block adding its share of a thread's results out of the
 * others' shared memory, or through the scratch (kabi.h).
 *
 * 8x8 results a thread and 256 threads, one block an SM: half the sums of two blocks are written
 * and added, and the loop is no slower (52 TFLOP/s of the part that has blocks; two blocks of 16x8
 * results 49).
 *
 * The narrow tiles are for 64 and 32 rows or columns. Their bytes a FLOP: 256x64 reads 1.25 times
 * what 128x128 does, 256x32 2.25 times. What binds 32 is the operand that is turned on its way, 4
 * bytes a copy: 100000 x 32 with k = 256 takes 42 us when A is contiguous along m, 54 when along k.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads a thread along m, n; lanes along m; width of a band. */
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
        xg_pipeline<layout, listed::BK, 16, listed::STAGES, 16, transa, transb, true, true,        \
                    XG_WORK_SLICE>(args);                                                          \
    }

/*
 * Tile, transposes, layout, blocks an SM. 0 blocks: ptxas is not told, and finds registers
 * with fewer bank conflicts; where it does not, it is.
 */
XG_PIPELINE_ENTRIES(128x128x16, layout_128x128, 0)
XG_PIPELINE_ENTRIES(256x64x16, layout_256x64, 1)
XG_PIPELINE_ENTRIES(64x256x16, layout_64x256, 1)
ENTRY(256x32x16, nn, layout_256x32, 3, false, false)
ENTRY(256x32x16, nt, layout_256x32, 3, false, true)
ENTRY(256x32x16, tn, layout_256x32, 0, true, false)
ENTRY(256x32x16, tt, layout_256x32, 0, true, true)
ENTRY(32x256x16, nn, layout_32x256, 0, false, false)
ENTRY(32x256x16, nt, layout_32x256, 3, false, true)
ENTRY(32x256x16, tn, layout_32x256, 0, true, false)
ENTRY(32x256x16, tt, layout_32x256, 3, true, true)
