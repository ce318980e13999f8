/* SPDX-License-Identifier: MIT */
/* Rung 9: copies from L2 to shared memory that no register and no instruction waits for. */

/*
 * Why. `vectorized` passes every operand through registers: a load, a wait, a store. From sm_80 on
 * cp.async copies past them, and several tiles can be on their way. The registers that this frees
 * hold more results a thread: 16x8 take 6 shared loads for 128 FFMA instead of 8.
 *
 * Memory. An operand that is contiguous along m or n is copied 16 bytes at a time into a k-major
 * tile. One that is contiguous along k is turned on its way: its floats are copied one by one, a
 * 32-byte sector of 4 rows a warp, into a tile whose rows are padded so that the 32 banks are hit
 * once. That is four times the instructions, and in one burst they delay the loads of operands
 * behind them (nt: 43.8 TFLOP/s), so they are spread over the steps of the tile (51.6).
 *
 * Accounts for 128x128x16, 128 threads, two blocks an SM (H200): 32 FLOP a byte of L2. For 2048
 * FFMA there are 96 shared loads and 70 (tn) to 140 (nt) others, so at most 92 % of 66.9 TFLOP/s.
 *
 * Register banks. An FFMA reads three registers, the two banks give one each a cycle, and one
 * operand may be kept from the instruction before (.reuse in the SASS). An FFMA without it, or with
 * both others in one bank, takes two cycles. The order of the multiplications (xg_order_row) lets
 * neighbours share an operand; ptxas allocates banks and reorders, and does best with bands of 8
 * for 16x8 results and of 4 for 8x8: one FFMA in ten takes two cycles. Counted in the SASS as
 * 66.9 * FFMA / (instructions + conflicts), and times 0.97 for the last round of
 * blocks at 4096, this is within 6 % of what the variants tried first did.
 *
 * What binds it then (16x8): shared loads. A version that did 52.5 TFLOP/s did 54.5 without its
 * copies and 60.8 without its shared loads: ptxas puts some of them ten instructions in front of
 * their use, and only two warps a quarter of an SM cover for it.
 *
 * The smaller tiles are for products with too few large ones.
 */

#include "pipeline.cuh"

/* Warps along m, n; quads a thread along m, n; lanes along m; width of a band. */
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

/* Tile, layout, blocks an SM. */
XG_PIPELINE_ENTRIES(128x128x16, layout_128x128, 2)
/* Four blocks leave no registers for the pointers that turned operands need: six FFMA in ten
 * would meet a bank conflict. */
ENTRY(64x128x16, nn, layout_64x128, 4, false, false)
ENTRY(64x128x16, nt, layout_64x128, 3, false, true)
ENTRY(64x128x16, tn, layout_64x128, 4, true, false)
ENTRY(64x128x16, tt, layout_64x128, 3, true, true)
XG_PIPELINE_ENTRIES(64x64x16, layout_64x64, 4)
