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

#define ENTRY(name, suffix, layout, bk, blocks, stages, split, transa, transb)                     \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_dgemm_##name##_##suffix(const __grid_constant__ struct xg_dgemm_args args)              \
    {                                                                                              \
        xg_dmma<layout, bk, stages, GROUP, split, transa, transb>(args);                           \
    }
#define ENTRIES_OF(name, layout, bk, blocks, stages, split)                                        \
    ENTRY(name, nn, layout, bk, blocks, stages, split, false, false)                               \
    ENTRY(name, nt, layout, bk, blocks, stages, split, false, true)                                \
    ENTRY(name, tn, layout, bk, blocks, stages, split, true, false)                                \
    ENTRY(name, tt, layout, bk, blocks, stages, split, true, true)
#define ENTRIES(name, layout, bk, blocks, stages)                                                  \
    ENTRIES_OF(name, layout, bk, blocks, stages, false)
#define SPLIT_ENTRIES(name, layout, bk, blocks, stages)                                            \
    ENTRIES_OF(name, layout, bk, blocks, stages, true)

/* Tile, layout, step along k, blocks an SM, stages. */
ENTRIES(dmma_sm80_128x128x16, layout_128x128, 16, 1, 4)
SPLIT_ENTRIES(dmma_split_sm80_128x128x16, layout_128x128, 16, 1, 4)
SPLIT_ENTRIES(dmma_split_sm80_64x64x16, layout_64x64, 16, 3, 4)
