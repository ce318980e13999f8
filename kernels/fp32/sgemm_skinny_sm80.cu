/* SPDX-License-Identifier: MIT */
/* Tiles of 8 or 16 rows or columns, for products whose bottleneck is reading the other operand.
 * FP32. */

/*
 * 8 rows have 4 FLOP for each byte of the other operand, and 16 have 8. With fewer than about 28
 * rows memory (4.2 of 4.8 TB/s on an H200) is the bottleneck, so the tile may be as narrow as the
 * product, and idle lanes cost nothing. Four warps (128 threads) divide each step of 32. Two of
 * three stages, 32 KiB per block of the streamed operand, are always in flight.
 */
#include "sliced.cuh"

/* Tile; blocks per SM; lanes m, n; quads m, n; warps m, n, k; step along k; stages. */
SLICED_ENTRIES(skinny, 8x128x32, 4, 1, 32, 2, 1, 1, 1, 4, 32, 3)
SLICED_ENTRIES(skinny, 128x8x32, 4, 32, 1, 1, 2, 1, 1, 4, 32, 3)
SLICED_ENTRIES(skinny, 16x128x32, 3, 2, 16, 2, 2, 1, 1, 4, 32, 3)
SLICED_ENTRIES(skinny, 128x16x32, 3, 16, 2, 2, 2, 1, 1, 4, 32, 3)
