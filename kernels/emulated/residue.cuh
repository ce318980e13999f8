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

static __device__ const int32_t xg_residue_moduli[XG_RESIDUE_MODULI_COUNT] = {
#define XG_MODULUS(modulus) modulus,
    XG_RESIDUE_MODULI(XG_MODULUS)
#undef XG_MODULUS
};

/* sum modulo modulus, at least 0; inverse: 2^32 / modulus, rounded down. */
static __device__ __forceinline__ uint32_t xg_residue_reduce(int32_t sum, uint32_t modulus,
                                                             uint32_t inverse, uint32_t offset)
{
    const uint32_t positive = (uint32_t)sum + offset;
    const uint32_t rest = positive - __umulhi(positive, inverse) * modulus;
    return rest < modulus ? rest : rest - modulus;
}

/* Stores a thread's residues of tiles of 16x8, as the tensor cores distribute them over a warp:
 * rows `row` and row + 8 of each tile, two columns. */
template <int TILES_M, int SUMS>
static __device__ __forceinline__ void xg_residue_store(const struct xg_residue_product_args &args,
                                                        const int32_t (&sums)[TILES_M][SUMS],
                                                        int index, int64_t row, int64_t column)
{
    const uint32_t modulus = (uint32_t)xg_residue_moduli[index];
    const uint32_t inverse = (uint32_t)((1ull << 32) / modulus);
    const uint32_t offset = ((1u << 31) + modulus - 1) / modulus * modulus;
    const int64_t ld = xg_residue_padded_n(args.n);
    uint8_t *results = (uint8_t *)args.results + index * args.m * ld;
#pragma unroll
    for (int x = 0; x < 2 * TILES_M; x++) {
        const int64_t i = row + 8 * x;
        if (i >= args.m)
            break;
#pragma unroll
        for (int y = 0; y < SUMS / 4; y++) {
            const int32_t *sum = &sums[x / 2][4 * y + x % 2 * 2];
            if (column + 8 * y < args.n)
                *(uint16_t *)(results + i * ld + column + 8 * y) =
                    (uint16_t)(xg_residue_reduce(sum[0], modulus, inverse, offset) |
                               xg_residue_reduce(sum[1], modulus, inverse, offset) << 8);
        }
    }
}

/* to + four unsigned bytes times four signed bytes. */
static __device__ __forceinline__ int xg_dot_bytes(uint32_t x, uint32_t y, int to)
{
    int sum;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(to));
    return sum;
}

#endif
