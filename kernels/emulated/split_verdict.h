/* SPDX-License-Identifier: MIT */
/* The guard of FP32 products on tensor cores: what two operands need. Pure; host and device. */
#ifndef XG_SPLIT_VERDICT_H
#define XG_SPLIT_VERDICT_H

#include "split_kabi.h"

#ifdef __CUDACC__
#define XG_SPLIT_PURE static __host__ __device__ __forceinline__
#else
#define XG_SPLIT_PURE static inline
#endif

enum xg_split_kind { XG_SPLIT_FP16, XG_SPLIT_BF16, XG_SPLIT_FFMA };

/* How many products every element of C has at least that are not 0; rows of zeros apart, whose
 * elements are 0 with whatever serves. */
enum xg_split_products { XG_SPLIT_MANY, XG_SPLIT_SOME, XG_SPLIT_FEW };

struct xg_split_verdict {
    enum xg_split_kind kind;
    enum xg_split_products products;
};

/*
 * What few products make a difference to. tests/unit/emulation.c computes it, in units of 2^-24 of
 * |A||B|, beside one FFMA sum in order of k, which is what cuBLAS does.
 *
 * FP16's pieces keep 22 to 23 of 24 bits, and the tensor cores cut their sums where FFMA rounds its
 * own: one product alone errs by 1.4 rms and up to 7.3, where FFMA errs by 0.42 and up to 1. The
 * errors of many products are lost among the roundings of FFMA's sum of them, which grow with their
 * number: the two meet between 24 and 48 products, or at 90 where each stands in 32 places of k of
 * its own (so there must be 64 of them, and one in 16 places).
 *
 * BF16's pieces keep all bits. In one sum, what is cut shows below some 60 products (one alone:
 * 0.72 rms, up to 2), and longer where one may outweigh all others. Where all small products are
 * summed before the first large one is, each large one adds one rounding at most, as in FFMA: 0.28
 * rms at 10 products, 0.46 by FFMA. What six of the nine products of pieces leave out is up to a
 * unit of the product: the largest error of one or two products is 1.4 and 1.2 times FFMA's, but
 * less than FFMA's from three on. Eight leave out 2^-10 units.
 *
 * FFMA in sums of 16 places, which are then added, rounds once more a sum: 1.16 times the rms error
 * of one sum at two and three products, 1.03 at eight.
 */
enum { XG_SPLIT_FP16_LEAST = 64, XG_SPLIT_MANY_LEAST = 1024, XG_SPLIT_SOME_LEAST = 16 };

/* The worst of some panels: what the product of them all needs. */
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
 * FP16. Of a row whose largest number is in [2^14, 2^15), numbers of 2^-2 and more keep 23 bits;
 * smaller ones have an error of up to 2^-25. Such an error matters where the other operand's
 * numbers make it so: where they are large at these places of k and small at all others. It cannot
 * where enough places of k hold a number of at least 2^-8 of the largest in both rows: let
 * `overlap` be how many they are at least, `small` how many numbers lie below 2^-16. In units of
 * the largest product, sum |a||b| >= overlap 2^-16 and the error <= small 2^-39; with 8 small <=
 * overlap that is an error of 2^-26 of sum |a||b|, a quarter of a rounding. The 23 bits themselves
 * are lost among the roundings of a sum of many products but not in one of few: so there must be
 * many, at all and of k, of which each 32 places are cut (16 overlap >= k).
 *
 * BF16. Three pieces hold every bit down to 2^-109, products down to 2^-126.
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
