/* SPDX-License-Identifier: MIT */
/* The tiles of a product on Hopper's tensor cores, and the ring of stages of a block. */
#ifndef XG_CLUSTERS_CUH
#define XG_CLUSTERS_CUH

#include "../common/tile.cuh"
#include "wgmma.cuh"

/* The rows of a block's tile of C, and a warpgroup's share of them. */
enum { BLOCK_M = 128, GROUP_M = 64, GROUPS = BLOCK_M / GROUP_M };

/* A thread of one additional warpgroup starts the copies. */
enum { PRODUCT_THREADS = (GROUPS + 1) * 128 };

/* The blocks of a cluster are one above the other, with the same columns of B. */
enum { CLUSTER = 2 };

/* Tile rows of a cluster that a wave goes down before it goes right. */
enum { BAND = 8 };

/* A position in the ring of stages, and the parity of its barriers' phase. */
struct ring_place {
    uint32_t stage, parity;
    template <int STAGES>
    __device__ __forceinline__ void step(void)
    {
        if (++stage == STAGES)
            stage = 0, parity ^= 1;
    }
};

/* Sets the row and column of this block's part of a cluster's tile; false if no element of it is
 * wanted.
 */
template <int BLOCK_N>
static __device__ __forceinline__ bool tile_of(const struct xg_triangle &wanted, unsigned tile,
                                               unsigned tiles_m, unsigned tiles_n, uint32_t rank,
                                               int *row, int *column)
{
    const unsigned band = tile / (BAND * tiles_n), inside = tile % (BAND * tiles_n);
    const unsigned rows = min((unsigned)BAND, tiles_m - band * BAND);
    const int first = (int)((band * BAND + inside % rows) * CLUSTER * BLOCK_M);
    *row = first + (int)rank * BLOCK_M;
    *column = (int)(inside / rows * BLOCK_N);
    return !xg_tile_unwanted<CLUSTER * BLOCK_M, BLOCK_N>(wanted, first, *column);
}

#endif
