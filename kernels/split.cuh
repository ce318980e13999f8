/* SPDX-License-Identifier: MIT */
/* What two operands need, read from their statistics by every kernel of a product alike. */
#ifndef XG_SPLIT_CUH
#define XG_SPLIT_CUH

#include "split_kabi.h"

/*
 * These kernels are for Hopper alone (sm_90a). For other devices their files are compiled to one
 * entry that nobody asks for, so that whoever looks for the real one is told that it is not there.
 */
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define XG_SPLIT_HERE
#endif
#define XG_SPLIT_ABSENT(file)                                                                      \
    extern "C" __global__ void xg_##file##_absent(void) {}

enum xg_split_verdict { XG_SPLIT_FP16, XG_SPLIT_BF16, XG_SPLIT_FFMA };

static __device__ __forceinline__ struct xg_split_stats xg_split_worst(uint64_t address, int panels)
{
    const struct xg_split_stats *panel = (const struct xg_split_stats *)address;
    struct xg_split_stats worst = panel[0];
    for (int i = 1; i < panels; i++) {
        worst.max_bits = max(worst.max_bits, panel[i].max_bits);
        worst.lack_max = max(worst.lack_max, panel[i].lack_max);
        worst.small_max = max(worst.small_max, panel[i].small_max);
        worst.spread_max = max(worst.spread_max, panel[i].spread_max);
    }
    return worst;
}

/*
 * FP16. Of a row whose largest number is in [2^14, 2^15), numbers of 2^-2 and more keep 23 bits;
 * smaller ones have an error of up to 2^-25. Such an error matters where the other operand's
 * numbers make it so: where they are large at these places of k and small at all others. It cannot
 * where enough places of k hold a number of at least 2^-8 of the largest in both rows: let
 * `overlap` be how many they are at least, `small` how many numbers lie below 2^-16. In units of
 * the largest product, sum |a||b| >= overlap 2^-16 and the error <= small 2^-39; with 8 small <=
 * overlap that is an error of 2^-26 of sum |a||b|, a quarter of a rounding. The 23 bits themselves
 * are one short of FP32's, which is lost among the roundings of a sum of many products but not in
 * one of few: so there must be many (16 overlap >= k), and an identity's products are exact.
 *
 * BF16. Three pieces hold every bit down to 2^-109, products down to 2^-126.
 */
static __device__ __forceinline__ enum xg_split_verdict
xg_split_judge(const struct xg_split_pair &pair)
{
    const struct xg_split_stats a = xg_split_worst(pair.a_stats, pair.a_panels);
    const struct xg_split_stats b = xg_split_worst(pair.b_stats, pair.b_panels);
    if (max(a.max_bits, b.max_bits) >= 0x7f800000u)
        return XG_SPLIT_FFMA;
    const int64_t small = (int64_t)a.small_max + b.small_max;
    const int64_t overlap = pair.k - a.lack_max - b.lack_max;
    if (16 * overlap >= pair.k && 8 * small <= overlap)
        return XG_SPLIT_FP16;
    return max(a.spread_max, b.spread_max) <= 80 ? XG_SPLIT_BF16 : XG_SPLIT_FFMA;
}

/* 2^exponent, -126 <= exponent <= 127. */
static __device__ __forceinline__ float xg_power_of_two(int exponent)
{
    return __uint_as_float((uint32_t)(exponent + 127) << 23);
}

#endif
