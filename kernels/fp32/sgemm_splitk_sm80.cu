/* SPDX-License-Identifier: MIT */
/* Tiles of 32x32 to 128x128, with k divided among warps and blocks (split-K and sliced-K, as in
 * CUTLASS). FP32. */

/*
 * These are for products with fewer tiles than fill the device: small and medium squares, and deep
 * products. A tile of m x n reads 4 (m + n) bytes for 2 m n FLOP of each step of k: 8 FLOP per byte
 * at 32x32, and 32 at 128x128, from L2. A thread has 8x8 results (8x4 at 32x32): 64 FFMA for 4
 * shared loads. At these sizes the rate depends on how evenly whole tiles fill the SMs, and below
 * 512 on the first loads and the launch. The two entries with 256 threads and longer steps are for
 * one block per SM, because 4 warps alone do not hide their latency.
 */
#include "sliced.cuh"

/* Tile; blocks per SM; lanes m, n; quads m, n; warps m, n, k; step along k; stages. */
SLICED_ENTRIES(splitk, 128x128x16, 2, 4, 8, 2, 2, 4, 2, 1, 16, 3)
SLICED_ENTRIES(splitk, 128x64x16, 4, 4, 8, 2, 2, 4, 1, 1, 16, 3)
SLICED_ENTRIES(splitk, 64x128x16, 4, 4, 8, 2, 2, 2, 2, 1, 16, 3)
SLICED_ENTRIES(splitk, 64x64x16, 4, 4, 8, 2, 2, 2, 1, 2, 16, 3)
SLICED_ENTRIES(splitk, 64x64x32, 2, 4, 8, 2, 2, 2, 1, 4, 32, 3)
SLICED_ENTRIES(splitk, 32x64x64, 2, 4, 8, 2, 2, 1, 1, 8, 64, 3)
SLICED_ENTRIES(splitk, 64x32x32, 4, 8, 4, 2, 2, 1, 1, 4, 32, 3)
SLICED_ENTRIES(splitk, 32x64x32, 4, 4, 8, 2, 2, 1, 1, 4, 32, 3)
SLICED_ENTRIES(splitk, 32x32x32, 5, 4, 8, 2, 1, 1, 1, 4, 32, 3)
