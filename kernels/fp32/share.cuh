/* SPDX-License-Identifier: MIT */
/* Distributes all steps of k of all tiles of C evenly over blocks (Stream-K; Osama et al., PPoPP
 * 2023). */
#ifndef XG_SHARE_CUH
#define XG_SHARE_CUH

#include "../kabi.h"

/*
 * The steps form one sequence, tile after tile. Each of `split` blocks (kabi.h) takes the same
 * number of consecutive steps, which may start or end within a tile. A block computes its share
 * part by part, each within one tile. Partial tiles go to the scratch: block b's first part, if it
 * starts within a tile, to tile 2 b of the scratch, and its last part, if it starts with a tile and
 * ends within it, to tile 2 b + 1. sgemm_share_sm80.cu adds them in the order of the blocks.
 */

/* A part: its tile, its first step of k there, its steps, and the steps of a tile. */
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

/* The start of a block's share among `steps`; the start of the next block is its end. */
static __device__ __forceinline__ unsigned xg_share_begin(unsigned steps, unsigned block,
                                                          unsigned blocks)
{
    return (unsigned)((uint64_t)steps * block / blocks);
}

/* The block whose share contains a step. */
static __device__ __forceinline__ unsigned xg_share_block(unsigned steps, unsigned step,
                                                          unsigned blocks)
{
    return (unsigned)((((uint64_t)step + 1) * blocks - 1) / steps);
}

/* The part of the block's share that starts at step `at` of the sequence. */
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
