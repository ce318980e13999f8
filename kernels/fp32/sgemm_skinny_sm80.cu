/* SPDX-License-Identifier: MIT */
/* Tiles of 8 or 16 rows or columns: products that are bound by reading the other operand. */

/*
 * 8 rows do 4 FLOP for each byte of the other operand, 16 do 8: with fewer than about 28 the memory
 * (4.2 of 4.8 TB/s on an H200) ends before arithmetic does, so the tile may be as narrow as the
 * product and its idle lanes cost nothing. Four warps share out each step of 32; two of three
 * stages, 32 KiB a block of the streamed operand, are always on the way.
 */
#include "sliced.cuh"

/* Tile; blocks an SM; lanes m, n; quads m, n; warps m, n, k; step along k; stages. */
SLICED_ENTRIES(skinny, 8x128x32, 4, 1, 32, 2, 1, 1, 1, 4, 32, 3)
SLICED_ENTRIES(skinny, 128x8x32, 4, 32, 1, 1, 2, 1, 1, 4, 32, 3)
SLICED_ENTRIES(skinny, 16x128x32, 3, 2, 16, 2, 2, 1, 1, 4, 32, 3)
SLICED_ENTRIES(skinny, 128x16x32, 3, 16, 2, 2, 2, 1, 1, 4, 32, 3)
