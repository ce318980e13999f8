/* SPDX-License-Identifier: MIT */
/* What the kernels of emulated DGEMM share. */
#ifndef XG_RESIDUE_CUH
#define XG_RESIDUE_CUH

#include "residue.h"
#include "split.cuh"

static __device__ __forceinline__ int64_t xg_residue_padded_k(int64_t k)
{
    return (k + XG_RESIDUE_BLOCK - 1) / XG_RESIDUE_BLOCK * XG_RESIDUE_BLOCK;
}

static __device__ __forceinline__ int64_t xg_residue_padded_n(int64_t n)
{
    return (n + XG_RESIDUE_QUAD - 1) / XG_RESIDUE_QUAD * XG_RESIDUE_QUAD;
}

/* Whether the integers serve for the product. */
static __device__ __forceinline__ bool xg_residue_verdict(const struct xg_split_pair &pair)
{
    const struct xg_residue_stats a =
        xg_residue_worst((const struct xg_residue_stats *)pair.a_stats, pair.a_panels);
    const struct xg_residue_stats b =
        xg_residue_worst((const struct xg_residue_stats *)pair.b_stats, pair.b_panels);
    return xg_residue_serves(&a, &b, pair.k);
}

/* to + four unsigned bytes times four signed bytes. */
static __device__ __forceinline__ int xg_dot_bytes(uint32_t x, uint32_t y, int to)
{
    int sum;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(to));
    return sum;
}

#endif
