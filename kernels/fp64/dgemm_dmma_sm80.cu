/* SPDX-License-Identifier: MIT */
/* DGEMM on FP64 tensor cores: asynchronous copies, tiles of C in registers. */

/*
 * Why. FP64's tensor cores double its rate: on sm_90 128 multiplications and additions a cycle and
 * SM, 67 TFLOP/s on an H200.
 *
 * Accounts for 128x128, 8 warps of 64x32, an SM with one block, for 16 steps of k: 2048 cycles of
 * the tensor cores. Meanwhile 96 KiB are read from shared memory (768 cycles, without a conflict:
 * dmma_map.h) and 32 KiB written to it (256), 32 KiB come from L2 (16 FLOP a byte: 3.8 TB/s at 60
 * TFLOP/s), and each quarter of the SM issues some 360 instructions. So nothing but the tensor
 * cores binds, if two warps a quarter cover each other's loads, and if L2 delivers. Measured on an
 * H200: they are busy for 92 % of the time (../NOTES.md).
 *
 * Methods.
 *   dmma        a block has all of k: 128x128 where tiles of it fill the device
 *   dmma_split  blocks of a cluster share out k: 128x128 for few tiles and a deep k; 64x64, three
 *               blocks an SM, for products whose large tiles would leave SMs idle, at 8 FLOP a byte
 *
 * All multiply 16x8x8 at a time, which sm_90 has; sm_80's 8x8x4 runs at half the rate there.
 */

#include "dmma.cuh"

/* Warps along m, n; blocks of 16 rows and of 8 columns a warp. */
typedef xg_dmma_layout<2, 4, 4, 4> layout_128x128;
typedef xg_dmma_layout<2, 2, 2, 4> layout_64x64;

/* Tiles of C that lie below each other follow each other in the grid: 16, so that L2 serves them.
 */
enum { GROUP = 16 };

#define ENTRY(method, tile, suffix, layout, blocks, split, transa, transb)                         \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_dgemm_##method##_sm80_##tile##_##suffix(                                                \
            const __grid_constant__ struct xg_dgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(method, tile, layout);                                              \
        xg_dmma<layout, listed::BK, listed::STAGES, GROUP, split, transa, transb>(args);           \
    }
#define ENTRIES(method, tile, layout, blocks, split)                                               \
    ENTRY(method, tile, nn, layout, blocks, split, false, false)                                   \
    ENTRY(method, tile, nt, layout, blocks, split, false, true)                                    \
    ENTRY(method, tile, tn, layout, blocks, split, true, false)                                    \
    ENTRY(method, tile, tt, layout, blocks, split, true, true)

/* Method, tile, layout, blocks an SM, whether k may be split. */
ENTRIES(dmma, 128x128x16, layout_128x128, 1, false)
ENTRIES(dmma_split, 128x128x16, layout_128x128, 1, true)
ENTRIES(dmma_split, 64x64x16, layout_64x64, 3, true)
