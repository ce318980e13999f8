/* SPDX-License-Identifier: MIT */
/* Checks in O(n^2) whether a LAPACK routine's result is right, as LAPACK's own testers do. */
#ifndef XG_RESIDUAL_H
#define XG_RESIDUAL_H

#include "base/routine.h"
#include "base/xg.h"
#include "host/team.h"

/*
 * LAPACK's testers measure |R| / (n eps |A|), where R is the residual of the definition: A - L Lᴴ
 * for potrf, B - A X for gesv, A V - V W and Vᴴ V - 1 for syevd. They accept 30. R costs O(n^3),
 * but R x for a vector x of random signs does not (Freivalds, verify.h), and |R x|^2 has the mean
 * |R|^2 in Frobenius's norm. |R x| is at least the largest element of R with a probability of 1/2,
 * so one of XG_BLOCK_VECTORS vectors shows an error above the bound with a probability of 15/16.
 * Rounding errors add up as random numbers do (Higham and Mary, 2019), so a right |R| grows with
 * sqrt n. The bound is XG_RESIDUAL_BOUND sqrt(n) eps times
 *
 *   potrf    A x - L (Lᴴ x)                           |A|
 *   getrf    A x - P L (U x)                          |A| + |U|, for LU may grow
 *   posv     the factor, and B y - A (X y)            |A| |X|
 *   gesv     the factors, and B y - A (X y)           (|A| + |U|) |X|
 *   potrs    B y - L (Lᴴ (X y))                       |L| |L| |X| / sqrt n
 *   getrs    B y - P L (U (X y))                      |L| |U| |X| / sqrt n
 *   potri    y - L (Lᴴ (A⁻¹ y))                       |L| |L| |A⁻¹| / sqrt n
 *   getri    y - P L (U (A⁻¹ y)), or from the left    |L| |U| |A⁻¹| / sqrt n
 *   geqrf    A x - Q (R x), Q by its reflectors       |A|
 *   orgqr    Q x by columns and by reflectors         sqrt n
 *   ormqr    likewise, of B                           |B|
 *   syevd    A (V y) - V (W y)                        |A| sqrt n
 *            y - Vᴴ (V y)                             sqrt n
 *            the trace, and |W| - |A| (no vectors)    |A| sqrt n
 *   gesdd    A x - U (S (Vᴴ x))                       |A| sqrt n
 *            y - Uᴴ (U y), y - Vᴴ (V y)               sqrt n
 *            |S| - |A| (no vectors)                   |A| sqrt n
 *   sygvd    of A x = w B x:  W y - Vᴴ (A (V y))      |A| |V|^2
 *                             y - Vᴴ (L (Lᴴ (V y)))   sqrt n, and |V| |L| / n if above 1
 *            of A B x = w x:  the same of B V         |A| |B| sqrt n, likewise
 *            of B A x = w x:  W y - Vᴴ (A (V y))      |A| |V|^2
 *                             B y - V (Vᴴ y)          |B| sqrt n
 *            and the factor L of B; no vectors: nothing
 *
 * n is the larger dimension of A, norms are Frobenius's, and all sums are in double precision.
 *
 * Matrices whose largest magnitude lies beyond 1e±12 in single precision or 1e±40 in double are not
 * verified, because squares and results may leave the range of the type.
 */
#define XG_RESIDUAL_BOUND 30.0

struct xg_residual {
    double units;     /* the largest |R x| / (sqrt(n) eps ...); NaN if one is not finite */
    const char *what; /* the equation with that residual; a static string */
};

/* Whether calls of this kind are verified. */
bool xg_residual_covers(const struct xg_routine *call);

/*
 * before, after: the same call with its operands as they were before the call and as the call left
 * them. Operands that the routine does not read are not read in `before`, nor those that it does
 * not write in `after`. seed: of the signs. team: up to `workers` members share the work, and no
 * other job may run on it; NULL: this thread works alone. Returns XG_OK; XG_DECLINED if such a call
 * is not verified; XG_ERR_NOMEM. *out is set only on XG_OK. Accepts any floating-point environment
 * and restores it.
 */
enum xg_status xg_residual_measure(const struct xg_routine *before, const struct xg_routine *after,
                                   uint64_t seed, struct xg_team *team, int workers,
                                   struct xg_residual *out);

#endif
