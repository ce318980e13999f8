/* SPDX-License-Identifier: MIT */
/* DGEMM on FP64 tensor cores (PTX: mma.sync, .f64): asynchronous copies, tiles of C in registers.
 * Every product and sum is rounded to double. */

/*
 * Why. Tensor cores double the FP64 rate: on sm_90 128 multiply-adds per cycle and SM, 67 TFLOP/s
 * on an H200.
 *
 * Accounts for 128x128, 8 warps of 64x32 (256 threads), one block per SM, for 16 steps of k: 2048
 * cycles of the tensor cores. Meanwhile 96 KiB are read from shared memory (768 cycles, without
 * conflicts: dmma_map.h), 32 KiB are written to it (256 cycles), 32 KiB come from L2 (16 FLOP per
 * byte: 3.8 TB/s at 60 TFLOP/s), and each quarter of the SM issues about 360 instructions. So the
 * tensor cores are the only bottleneck, if the two warps of a quarter hide each other's loads and
 * L2 keeps up. On an H200 they are busy for 92 % of the time (../NOTES.md).
 *
 * Methods.
 *   dmma        a block has all of k: 128x128, if such tiles fill the device
 *   dmma_split  blocks of a cluster divide k: 128x128 for few tiles and a deep k; 64x64, three
 *               blocks per SM, if large tiles would leave SMs idle, at 8 FLOP per byte
 *
 * All use the 16x8x8 instruction of sm_90; sm_80's 8x8x4 runs at half the rate there.
 */

#include "../common/dmma.cuh"

/* Warps along m, n; blocks of 16 rows and of 8 columns per warp. */
typedef xg_dmma_layout<2, 4, 4, 4> layout_128x128;
typedef xg_dmma_layout<2, 2, 2, 4> layout_64x64;

/* This many tiles of C below each other are consecutive in the grid, so that they share data in L2.
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

/* Method, tile, layout, blocks per SM, whether k may be split. */
ENTRIES(dmma, 128x128x16, layout_128x128, 1, false)
ENTRIES(dmma_split, 128x128x16, layout_128x128, 1, true)
ENTRIES(dmma_split, 64x64x16, layout_64x64, 3, true)
