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
 * cores binds, if two warps a quarter cover each other's loads, and if L2 delivers.
 *
 * The tiles that are smaller are for products with too few large ones, at 8 to 12 FLOP a byte.
 *
 * Methods. Which instruction reaches the full rate is not documented; all compute the same from the
 * same registers:
 *   dmma       16x8x8            dmma_k4    16x8x4
 *   dmma_k16   16x8x16           dmma_m8    8x8x4, which is all that sm_80 has: there the others
 *                                           are made of it
 *   dmma_w16   16x8x8, twice the warps of half the tile each: four a quarter cover for each other,
 *              for a third more reads of shared memory
 */

#include "dmma.cuh"

/* Warps along m, n; blocks of 16 rows and of 8 columns a warp. */
typedef xg_dmma_layout<2, 4, 4, 4> layout_128x128;
typedef xg_dmma_layout<4, 4, 2, 4> layout_128x128_w16;
typedef xg_dmma_layout<2, 4, 2, 4> layout_64x128_w8;
typedef xg_dmma_layout<2, 2, 4, 4> layout_128x64;
typedef xg_dmma_layout<1, 4, 4, 4> layout_64x128;
typedef xg_dmma_layout<2, 2, 2, 4> layout_64x64;

/* Four warps a quarter leave each 128 registers, of which sm_100 lacks some for 8 steps of k. */
#if __CUDA_ARCH__ >= 1000
#define W16_SHAPE 4
#else
#define W16_SHAPE 8
#endif

#define ENTRY(name, suffix, layout, bk, shape, blocks, stages, split, transa, transb)              \
    extern "C" __global__ void __launch_bounds__(layout::THREADS, blocks)                          \
        xg_dgemm_##name##_##suffix(const __grid_constant__ struct xg_dgemm_args args)              \
    {                                                                                              \
        xg_dmma<layout, bk, shape, stages, 16, transa, transb, split>(args);                       \
    }
#define ENTRIES_OF(name, layout, bk, shape, blocks, stages, split)                                 \
    ENTRY(name, nn, layout, bk, shape, blocks, stages, split, false, false)                        \
    ENTRY(name, nt, layout, bk, shape, blocks, stages, split, false, true)                         \
    ENTRY(name, tn, layout, bk, shape, blocks, stages, split, true, false)                         \
    ENTRY(name, tt, layout, bk, shape, blocks, stages, split, true, true)
#define ENTRIES(name, layout, bk, shape, blocks, stages)                                           \
    ENTRIES_OF(name, layout, bk, shape, blocks, stages, false)
#define SPLIT_ENTRIES(name, layout, bk, shape, blocks, stages)                                     \
    ENTRIES_OF(name, layout, bk, shape, blocks, stages, true)

/* Tile, layout, step along k, k of the instruction, blocks an SM, stages. */
ENTRIES(dmma_sm80_128x128x16, layout_128x128, 16, 8, 1, 4)
ENTRIES(dmma_sm80_128x128x32, layout_128x128, 32, 8, 1, 3)
ENTRIES(dmma_sm80_128x64x16, layout_128x64, 16, 8, 2, 4)
ENTRIES(dmma_sm80_64x128x16, layout_64x128, 16, 8, 2, 4)
ENTRIES(dmma_sm80_64x64x16, layout_64x64, 16, 8, 3, 4)
ENTRIES(dmma_k16_sm80_128x128x32, layout_128x128, 32, 16, 1, 3)
ENTRIES(dmma_k16_sm80_64x64x32, layout_64x64, 32, 16, 2, 3)
ENTRIES(dmma_k4_sm80_128x128x16, layout_128x128, 16, 4, 1, 4)
ENTRIES(dmma_m8_sm80_128x128x16, layout_128x128, 16, 0, 1, 4)
ENTRIES(dmma_w16_sm80_128x128x16, layout_128x128_w16, 16, W16_SHAPE, 1, 4)
ENTRIES(dmma_w8_sm80_64x128x16, layout_64x128_w8, 16, 8, 1, 4)
SPLIT_ENTRIES(dmma_split_sm80_128x128x16, layout_128x128, 16, 8, 1, 4)
