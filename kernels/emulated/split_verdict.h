/* SPDX-License-Identifier: MIT */
/* The guard of FP32 products on tensor cores: decides which pieces two operands need. Pure; host
 * and device. */
#ifndef XG_SPLIT_VERDICT_H
#define XG_SPLIT_VERDICT_H

#include "split_kabi.h"

#ifdef __CUDACC__
#define XG_SPLIT_PURE static __host__ __device__ __forceinline__
#else
#define XG_SPLIT_PURE static inline
#endif

enum xg_split_kind { XG_SPLIT_FP16, XG_SPLIT_BF16, XG_SPLIT_FFMA };

/* The least number of nonzero products of an element of C, except in rows of zeros, whose elements
 * are 0 with any pieces. */
enum xg_split_products { XG_SPLIT_MANY, XG_SPLIT_SOME, XG_SPLIT_FEW };

struct xg_split_verdict {
    enum xg_split_kind kind;
    enum xg_split_products products;
};

/*
 * The limits for sums of few products. tests/unit/emulation.c computes the errors in units of 2^-24
 * of |A||B|, and compares them with one FFMA sum in the order of k, as in cuBLAS.
 *
 * FP16 pieces keep 22 to 23 of 24 bits, and the tensor cores truncate sums that FFMA rounds: the
 * error of a single product is 1.4 rms and up to 7.3, and that of FFMA is 0.42 and up to 1. For
 * many products these errors are below the roundings of FFMA's sum, which grow with the number of
 * products. They are equal between 24 and 48 products, or at 90 if each is alone in 32 positions of
 * k (so at least 64 are required, and one in 16 positions).
 *
 * BF16 pieces keep all bits. In one sum the truncation is visible below about 60 products (a single
 * one: 0.72 rms, up to 2), and for more if one product may dominate. If all small products are
 * summed before the first large one, each large one adds at most one rounding, as in FFMA: 0.28 rms
 * at 10 products, and 0.46 with FFMA. Six of the nine products of pieces omit up to one unit of the
 * product: the largest error of one or two products is 1.4 and 1.2 times FFMA's, but less than
 * FFMA's from three on. Eight omit 2^-10 units.
 *
 * FFMA in sums of 16 positions, which are then added, rounds once more per sum: 1.16 times the rms
 * error of one sum at two and three products, and 1.03 times at eight.
 */
enum { XG_SPLIT_FP16_LEAST = 64, XG_SPLIT_MANY_LEAST = 1024, XG_SPLIT_SOME_LEAST = 16 };

/* The worst statistics of several panels, which decide for the product of all of them. */
XG_SPLIT_PURE struct xg_split_stats xg_split_worst(const struct xg_split_stats *panel, int panels)
{
    struct xg_split_stats worst = panel[0];
    for (int i = 1; i < panels; i++) {
#define XG_SPLIT_RAISE(member)                                                                     \
    worst.member = panel[i].member > worst.member ? panel[i].member : worst.member
        XG_SPLIT_RAISE(max_bits);
        XG_SPLIT_RAISE(lack_max);
        XG_SPLIT_RAISE(small_max);
        XG_SPLIT_RAISE(zero_max);
        XG_SPLIT_RAISE(spread_max);
#undef XG_SPLIT_RAISE
    }
    return worst;
}

/*
 * FP16. In a row whose largest number is in [2^14, 2^15), numbers of at least 2^-2 keep 23 bits,
 * and smaller ones have an error of up to 2^-25. Such an error matters only if the other operand's
 * numbers are large at these positions of k and small at all others. It cannot matter if at enough
 * positions of k both rows have a number of at least 2^6. Let `overlap` be the least number of such
 * positions, and `small` the number of elements below 2^-2. Then sum |a||b| >= overlap 2^12, and
 * the error <= small 2^-10 (a factor is below 2^15); with 8 small <= overlap the error is 2^-25 of
 * sum |a||b|, half a rounding. The rounding to 23 bits is negligible compared with the roundings of
 * a sum of many products, but not of few. So there must be many products, both in number and
 * relative to k, because the sum of each 32 positions of k is truncated (16 overlap >= k).
 *
 * BF16. Three pieces keep every bit down to 2^-109, and products down to 2^-126.
 */
XG_SPLIT_PURE struct xg_split_verdict xg_split_judge(const struct xg_split_stats *a,
                                                     const struct xg_split_stats *b, int64_t k)
{
    const int64_t products = k - a->zero_max - b->zero_max;
    const int64_t overlap = k - a->lack_max - b->lack_max;
    const int64_t small = (int64_t)a->small_max + b->small_max;
    struct xg_split_verdict verdict = {XG_SPLIT_FFMA, XG_SPLIT_MANY};
    if (products < XG_SPLIT_MANY_LEAST)
        verdict.products = products < XG_SPLIT_SOME_LEAST ? XG_SPLIT_FEW : XG_SPLIT_SOME;
    if (a->max_bits >= 0x7f800000u || b->max_bits >= 0x7f800000u)
        return verdict;
    if (overlap >= XG_SPLIT_FP16_LEAST && 16 * overlap >= k && 8 * small <= overlap)
        verdict.kind = XG_SPLIT_FP16;
    else if (a->spread_max <= 80 && b->spread_max <= 80)
        verdict.kind = XG_SPLIT_BF16;
    return verdict;
}

#endif
