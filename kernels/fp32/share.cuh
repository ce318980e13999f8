/* SPDX-License-Identifier: MIT */
/* All steps of k of all tiles of C, shared out evenly among blocks. */
#ifndef XG_SHARE_CUH
#define XG_SHARE_CUH

#include "../kabi.h"

/*
 * The steps lie in one row, tile after tile, and `split` blocks (kabi.h) take as many neighbours
 * each, which may begin or end within a tile. A block computes its share part by part, a part
 * within one tile. What is less than a tile goes to the scratch: the block's first part, where it
 * begins within a tile, to tile 2 b of the scratch, its last one, where it begins with a tile and
 * ends within, to 2 b + 1. sgemm_share_sm80.cu adds them in the order of the blocks.
 */

/* A part: in which tile, its first step of k there, its steps, and those of a tile. */
struct xg_part {
    unsigned tile;
    int first, tiles, steps;
};

template <int BM, int BN, int BK>
static __device__ __forceinline__ unsigned xg_share_steps(const struct xg_sgemm_args &args)
{
    return (unsigned)((args.m + BM - 1) / BM) * (unsigned)((args.n + BN - 1) / BN) *
           (unsigned)((args.k + BK - 1) / BK);
}

/* Where a block's share begins among `steps`; that of the block behind the last one is its end. */
static __device__ __forceinline__ unsigned xg_share_begin(unsigned steps, unsigned block,
                                                          unsigned blocks)
{
    return (unsigned)((uint64_t)steps * block / blocks);
}

/* The block whose share holds a step. */
static __device__ __forceinline__ unsigned xg_share_block(unsigned steps, unsigned step,
                                                          unsigned blocks)
{
    return (unsigned)((((uint64_t)step + 1) * blocks - 1) / steps);
}

/* The part of the block's share that begins at step `at` of all. */
template <int BM, int BN, int BK>
static __device__ __forceinline__ struct xg_part xg_part_find(const struct xg_sgemm_args &args,
                                                              unsigned block, unsigned at)
{
    const unsigned all = xg_share_steps<BM, BN, BK>(args);
    const unsigned steps = (unsigned)((args.k + BK - 1) / BK);
    const unsigned left = xg_share_begin(all, block + 1, args.split) - at;
    struct xg_part part;
    part.tile = at / steps;
    part.first = (int)(at % steps);
    part.tiles = (int)min(left, steps - at % steps);
    part.steps = (int)steps;
    return part;
}

#endif
