/* SPDX-License-Identifier: MIT */
/* The products of pieces in the order of their summation, and the store of the sums to C. */
#ifndef XG_SPLIT_SUMS_CUH
#define XG_SPLIT_SUMS_CUH

#include "split.cuh"

/*
 * The summation of BF16 pieces depends on the number of products in a sum (split_verdict.h). Many:
 * six products of pieces, all of a stage in one sum, which is truncated at FP32's last bit. Some:
 * two passes over the stages. The first adds the small products over all of k, truncated far below
 * the last bit; the second adds the largest product to them. Its sums over a stage are usually
 * exact, so only the FADD rounds. That pass copies only the first pieces, a third of the bytes.
 * Few: the same with eight products; only the smallest of all nine is omitted.
 */

template <bool BF16>
struct split_order {
    enum {
        PIECES = BF16 ? XG_SPLIT_BF16_PIECES : XG_SPLIT_FP16_PIECES,
        TARGET = BF16 ? XG_SPLIT_BF16_TARGET : XG_SPLIT_FP16_TARGET,
        PRODUCTS = BF16 ? 8 : 3,
        SIX = BF16 ? 2 : 0, /* the first product that every sum includes */
    };
    /* The pieces of the i-th product, the smallest products first. */
    static __device__ __forceinline__ constexpr int piece_a(int i)
    {
        constexpr int bf16[] = {1, 2, 2, 0, 1, 1, 0, 0};
        return BF16 ? bf16[i] : i == 0;
    }
    static __device__ __forceinline__ constexpr int piece_b(int i)
    {
        constexpr int bf16[] = {2, 1, 0, 2, 1, 0, 1, 0};
        return BF16 ? bf16[i] : i == 1;
    }
};

/* Stores two adjacent elements of a row of C, of which the first is inside; pair: both are inside
 * and 8-byte aligned.
 */
template <bool BETA>
static __device__ __forceinline__ void store_pair(const struct xg_split_product_args &args,
                                                  float *c, bool both, bool pair, float x, float y)
{
    x *= args.alpha, y *= args.alpha;
    if (pair) {
        if (BETA) {
            const float2 old = *(const float2 *)c;
            x = fmaf(args.beta, old.x, x), y = fmaf(args.beta, old.y, y);
        }
        *(float2 *)c = make_float2(x, y);
        return;
    }
    c[0] = BETA ? fmaf(args.beta, c[0], x) : x;
    if (both)
        c[1] = BETA ? fmaf(args.beta, c[1], y) : y;
}

/*
 * Returns 2^-scale as the product of two powers of two, x y. For a row and a column, (x x') and (y
 * y') are again powers of two, about the square root of the whole factor: neither overflows, and if
 * one is 0, so is the result.
 */
static __device__ __forceinline__ float2 factors(int scale)
{
    return make_float2(xg_power_of_two(-(scale >> 1)), xg_power_of_two((scale >> 1) - scale));
}

/* Removes the scales of row and column from a sum, with one rounding if the result is below
 * 2^-126. */
static __device__ __forceinline__ float unscale(float sum, float2 row, float2 column)
{
    return sum * (row.x * column.x) * (row.y * column.y);
}

/* Stores a thread's sums to C: rows `row` and row + 8, columns column + 8 j and the next one. */
template <bool BF16, bool BETA, int SUMS>
static __device__ __forceinline__ void store_sums(const struct xg_split_product_args &args,
                                                  const float (&sums)[SUMS], int64_t row,
                                                  int64_t column, const float2 *column_factors)
{
    constexpr int EXTRA = 2 * (split_order<BF16>::TARGET - XG_SPLIT_FP16_TARGET);
    const int32_t *a_scale = (const int32_t *)args.a_scale;
    const bool aligned = ((args.c | (uint64_t)args.ldc * 4) & 7) == 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (row + 8 * h >= args.m)
            continue;
        const float2 factor = factors(a_scale[row + 8 * h] + EXTRA);
        float *c = (float *)args.c + (row + 8 * h) * args.ldc + column;
#pragma unroll
        for (int j = 0; j < SUMS / 4; j++) {
            if (column + 8 * j >= args.n)
                break;
            const bool both = column + 8 * j + 1 < args.n;
            store_pair<BETA>(args, c + 8 * j, both, both && aligned,
                             unscale(sums[4 * j + 2 * h], factor, column_factors[8 * j]),
                             unscale(sums[4 * j + 2 * h + 1], factor, column_factors[8 * j + 1]));
        }
    }
}

#endif
