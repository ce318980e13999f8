/* SPDX-License-Identifier: MIT */
/* After the ladder: asynchronous copies to shared memory in several stages. Largest tile 128x128, 128
 * threads; FP32, summed in the order of k. */

/*
 * Why. `vectorized` passes every operand through registers: a load, a wait, a store. From sm_80 on
 * cp.async bypasses them, and several tiles can be in flight (the multistage pipeline of CUTLASS).
 * The freed registers hold more results per thread: 16x8 results need 6 shared loads for 128 FFMA
 * instead of 8.
 *
 * Memory. An operand that is contiguous along m or n is copied 16 bytes at a time into a k-major
 * tile. An operand that is contiguous along k is transposed during the copy: its floats are copied
 * one by one, a 32-byte sector of 4 rows per warp, into a tile with padded rows, so that each of
 * the 32 banks is hit once. That takes four times the instructions. In one burst they delay the
 * later loads of operands (nt: 43.8 TFLOP/s), so they are spread over the steps of the tile (51.6).
 *
 * Accounts for 128x128x16, 128 threads, two blocks per SM (H200): 32 FLOP per byte of L2. For 2048
 * FFMA there are 96 shared loads and 70 (tn) to 140 (nt) other instructions, so at most 92 % of
 * 66.9 TFLOP/s.
 *
 * Register banks (S. Gray's maxas; Jia et al., "Dissecting the NVIDIA Volta GPU Architecture"). An
 * FFMA reads three registers, each of the two banks delivers one per cycle, and one operand may be
 * reused from the previous instruction (.reuse in the SASS). An FFMA without reuse, or with both
 * other operands in one bank, takes two cycles. The order of the multiplications (xg_order_row)
 * lets consecutive ones share an operand. ptxas allocates banks and reorders, and does best with
 * bands of 8 for 16x8 results and of 4 for 8x8: one FFMA in ten takes two cycles. The estimate 66.9
 * * FFMA / (instructions + conflicts) from the SASS, times 0.97 for the last round of blocks at
 * 4096, is within 6 % of the measured rates of the first variants.
 *
 * The bottleneck (16x8) is shared loads. A version with 52.5 TFLOP/s reached 54.5 without its
 * copies and 60.8 without its shared loads: ptxas puts some of them only ten instructions before
 * their use, and only two warps per quarter of an SM hide the latency.
 *
 * The smaller tiles are for products with too few large ones.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
typedef xg_layout<2, 2, 4, 2, 4, 8> layout_128x128;
typedef xg_layout<2, 2, 2, 2, 4, 4> layout_64x128;
typedef xg_layout<2, 2, 2, 1, 4, 4> layout_64x64;

#define ENTRY(tile, suffix, layout, blocks, transa, transb)                                        \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_sgemm_pipelined_sm80_##tile##_##suffix(                                                 \
            const __grid_constant__ struct xg_sgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(pipelined, tile, layout);                                           \
        xg_pipeline<layout, listed::BK, 16, listed::STAGES, 16, transa, transb, true>(args);       \
    }

/* Tile, layout, blocks per SM. */
XG_PIPELINE_ENTRIES(128x128x16, layout_128x128, 2)
/* Four blocks leave no registers for the pointers of transposed operands: six FFMA in ten would
 * have a bank conflict. */
ENTRY(64x128x16, nn, layout_64x128, 4, false, false)
ENTRY(64x128x16, nt, layout_64x128, 3, false, true)
ENTRY(64x128x16, tn, layout_64x128, 4, true, false)
ENTRY(64x128x16, tt, layout_64x128, 3, true, true)
XG_PIPELINE_ENTRIES(64x64x16, layout_64x64, 4)
