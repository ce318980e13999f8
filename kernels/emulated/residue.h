/* SPDX-License-Identifier: MIT */
/* The integers of emulated DGEMM: moduli, their tables, and the guard. Pure; host and device. */
#ifndef XG_RESIDUE_H
#define XG_RESIDUE_H

#include "residue_kabi.h"

#ifdef __CUDACC__
#define XG_RESIDUE_PURE static __host__ __device__ __forceinline__
#else
#define XG_RESIDUE_PURE static inline
#endif

/*
 * Scheme II of Ozaki, Uchino and Imamura (arXiv:2504.08009). Each row of op(A), and each column of
 * op(B), is scaled by a power of two and rounded to integers. Their product is an integer, which
 * its residues for moduli of at most 8 bits determine (the Chinese remainder theorem), if it is
 * smaller than half of P, the product of the moduli. Residues are products of 8-bit integers, which
 * the tensor cores compute exactly.
 *
 * Range. With |a| and |b| the 2-norms of a scaled row and a scaled column, the product is at most
 * |a||b|. So each is scaled to at most 2^XG_RESIDUE_BITS, half of the bits of P / 2.
 *
 * Errors. The rounding to integers is the only error but the last one, from 2^-125 to double
 * precision. Its root mean square is 0.41 * 2^(1 - BITS) |a||b|, with the scales a bit too small at
 * most: 0.8 rho 2^(53 - BITS) units of 2^-53 |A||B|, where rho = |a||b| / (sum of |a_l b_l|). rho
 * is at least 1, 1.6 for N(0,1), and large if the large numbers of one operand meet small ones of
 * the other. At XG_RESIDUE_RHO, which the guard admits, that is 0.7 units; DGEMM has 0.5 on N(0,1)
 * at k = 4096.
 *
 * Guard. If at `overlap` positions the numbers are at least 2^-g and 2^-h of their row's root mean
 * square, the sum is at least overlap / k * 2^-(g + h) |a||b|. Each row counts how many numbers are
 * smaller, for three h; the largest counts of both operands leave at least `overlap` positions.
 */
#define XG_RESIDUE_BITS 62.17 /* (log2 P - 1) / 2 = 62.187, less the error of the norms */
enum { XG_RESIDUE_RHO = 512 };

/* h of each count. */
enum { XG_RESIDUE_H0 = 1, XG_RESIDUE_H1 = 2, XG_RESIDUE_H2 = 4 };

/* X(modulus): pairwise coprime. */
#define XG_RESIDUE_MODULI(X)                                                                       \
    X(256)                                                                                         \
    X(255)                                                                                         \
    X(253)                                                                                         \
    X(251) X(247) X(241) X(239) X(233) X(229) X(227) X(223) X(217) X(211) X(199) X(197) X(193)

/* P, and for each modulus the number below P that is 1 for it and 0 for all others; words of 32
 * bits, the lowest first. tests/unit/residue.c proves them. */
#define XG_RESIDUE_P                                                                               \
    {                                                                                              \
        0xa9b2e100u, 0x49e5694du, 0xbaccc54fu, 0x2984652cu                                         \
    }
#define XG_RESIDUE_BASIS                                                                           \
    {                                                                                              \
        {0x02e00f01u, 0x38869293u, 0xc414656fu, 0x055a110au},                                      \
            {0x1e9b2000u, 0xa14a062au, 0xfb6e9b40u, 0x247850d7u},                                  \
            {0x1789df00u, 0xb05acfa5u, 0xe2f2d2c3u, 0x1fffd89au},                                  \
            {0xbbbd6700u, 0x87f9916bu, 0xacf04661u, 0x19f80a3fu},                                  \
            {0x100dd100u, 0xb97d6303u, 0x2b052a8bu, 0x16b10abbu},                                  \
            {0x0d14b500u, 0xc1cc75f8u, 0x648a1736u, 0x00dc8191u},                                  \
            {0x2799c800u, 0x4a076123u, 0x9b984ac8u, 0x1ff687bbu},                                  \
            {0x7d646f00u, 0xc9cfaa52u, 0x134a76b4u, 0x29292a13u},                                  \
            {0x151d0600u, 0xc340b57bu, 0x505de66cu, 0x05705dbeu},                                  \
            {0x0d603f00u, 0xadc43fa0u, 0x2e79c7ffu, 0x16dca3fau},                                  \
            {0x74905e00u, 0xdb0d2a75u, 0x43831857u, 0x0654790au},                                  \
            {0xbb44ad00u, 0x490b99d0u, 0x89424a89u, 0x0d33892au},                                  \
            {0xb8ff4e00u, 0xf617dc87u, 0x9aee4461u, 0x1b2745cfu},                                  \
            {0xb14f0b00u, 0xb41649fbu, 0x86dd427cu, 0x096367ecu},                                  \
            {0xd63c3900u, 0x0bcd579bu, 0xe8e217d6u, 0x1a57e7d4u},                                  \
            {0x03d6f400u, 0x62cc34aeu, 0xf2435d63u, 0x18f40d0eu},                                  \
    }

/* The worst statistics of several panels, which decide for the product of all of them. */
XG_RESIDUE_PURE struct xg_residue_stats xg_residue_worst(const struct xg_residue_stats *panel,
                                                         int panels)
{
    struct xg_residue_stats worst = panel[0];
    for (int p = 1; p < panels; p++) {
        worst.not_finite |= panel[p].not_finite;
        for (int i = 0; i < XG_RESIDUE_COUNTS; i++)
            if (panel[p].small_max[i] > worst.small_max[i])
                worst.small_max[i] = panel[p].small_max[i];
    }
    return worst;
}

/* Whether the integers serve for the product of two operands, k deep. */
XG_RESIDUE_PURE int xg_residue_serves(const struct xg_residue_stats *a,
                                      const struct xg_residue_stats *b, int64_t k)
{
    const int h[XG_RESIDUE_COUNTS] = {XG_RESIDUE_H0, XG_RESIDUE_H1, XG_RESIDUE_H2};
    int serves = 0;
    for (int i = 0; i < XG_RESIDUE_COUNTS; i++)
        for (int j = 0; j < XG_RESIDUE_COUNTS; j++) {
            const int64_t overlap = k - a->small_max[i] - b->small_max[j];
            serves |= overlap > 0 && k << (h[i] + h[j]) <= overlap * XG_RESIDUE_RHO;
        }
    return serves && !a->not_finite && !b->not_finite;
}

#endif
