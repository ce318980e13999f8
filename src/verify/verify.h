/* SPDX-License-Identifier: MIT */
/* Checks in O(n^2) whether a product is right, from what lies in the caller's memory. */
#ifndef XG_VERIFY_H
#define XG_VERIFY_H

#include "base/xg.h"
#include "host/team.h"

/*
 * The screen (Freivalds, 1977). Let x be a vector of n random signs, drawn after the operands were
 * given and known to no other party. r = C x - alpha op(A) (op(B) x) - beta C0 x adds up the errors
 * of C: r_i = sum_j x_j D_ij, where D is C less the exact product. XG_VERIFY_VECTORS vectors share
 * each reading of a matrix. Two facts hold for each row i of C and each vector:
 *
 *   Found. |r_i| >= max_j |D_ij| with a probability of at least 1/2, whatever D is: the sign of the
 *     largest error makes r_i take one of two values, which lie 2 |D_ij| apart, and at least one of
 *     these is that large. So an error above the row's threshold is found with a probability of 1 -
 *     2^-XG_VERIFY_VECTORS (15 of 16), and with certainty if it is twice the threshold and the
 *     row's other errors are ordinary.
 *   Ordinary. By Hoeffding |r_i| <= t |D_i|_2 except for a share 2 exp(-t^2 / 2) of all signs.
 *     If |D_ij| <= s (|A||B|)_ij, |D_i|_2 <= s sum_l |a_il| |b_l|_2 (Minkowski), b_l a row of
 *     op(B), which costs O(n^2) as well. (|D_i|_1 gives the same with sqrt n for t.) Of doubles
 *     sqrt n times the largest |b_lj| takes the place of |b_l|_2, whose squares could overflow or
 *     vanish.
 *
 * The threshold uses t = 8, and for s the rounding error of ordinary numbers, which grows with
 * sqrt k. The threshold only decides which rows are examined. If s were the worst case, k u, a
 * whole tile of other numbers would pass at 8192^3.
 *
 * The verdict. The XG_VERIFY_ROWS rows that exceed their threshold most are computed again in
 * double precision, together with |A||B|. An element is wrong when it is off by more than its
 * bound. So a row whose numbers all round badly in one direction is never called wrong, and no sign
 * decides the verdict. u = 2^-24, for doubles 2^-53. The sum of k terms, in any order of addition
 * and with or without FMA, is off by k u |a||b| at most (Jeannerod and Rump, 2013); scaling by
 * alpha and adding beta C0, in any rounding mode of the program, by 5 u more. The compounding of
 * these, and double precision's own error, lie within a thousandth and 7 u:
 *
 *   FP32    (k + 12) u. One sum in order of k, slices, cuBLAS: all are orders of addition.
 *   pieces  (k / 16 + 140) u: the largest of three.
 *           FP16x3: numbers keep 22 bits, and a product of second pieces is left out: 3 times 2^-22
 *             is 12 u; small numbers 1 u (kernels/emulated/split.cuh). A tensor core's step of 16
 *             cuts 17 numbers 25 bits below the largest, and the sum to 24 bits: 10.5 u of what it
 *             has summed, six times in sums of 32 (kernels/NOTES.md): 63 u. FP32 adds these sums:
 *             k / 32 u.
 *           BF16x6: products left out 2 u, twelve steps 126 u, k / 32 u.
 *           FFMA, sums of 16: (16 + k / 16) u.
 *   TF32    2^-9 + (2 k + 16) u: both factors are cut to 11 bits, sums are cut and not rounded. A
 *           factor below 2^-126 is cut at the same bit as 2^-126.
 *
 *   doubles 2 (k + 12) u: the row that is computed again may be off by as much as the result.
 *
 * An absolute part is added for numbers below the normal ones: k + 4 steps of the least subnormal,
 * times |alpha| if that is more than 1. If beta is not 0, the CPU combines, and may flush to zero
 * as the program has set it: 2^-126 (2 + |beta| + |c0|); for doubles 2^-1022 takes the place of
 * 2^-126.
 *
 * NaN and infinity. A row whose r is NaN or infinite is computed again as well; if there are more
 * such rows than XG_VERIFY_ROWS, the others are skipped and counted. NaN must be NaN. An infinity
 * must be the same infinity, or NaN if finite parts may have overflowed the other way. If a sum of
 * magnitudes reaches 2^127, a result may be NaN or infinite; otherwise it must be finite (except in
 * TF32, whose rounding turns numbers near FLT_MAX into infinities). For doubles, a sum of
 * magnitudes that overflows allows any value if the operands are finite, and any infinity or NaN if
 * one of them is infinite.
 *
 * Not verified are: operations other than SGEMM and DGEMM; an alpha or beta that is not finite; a C
 * that overlaps A or B (overlap.h; the dispatcher sends no such product to the GPU); a C above
 * XG_VERIFY_COPY_BYTES if beta is not 0.
 */
enum { XG_VERIFY_VECTORS = 4, XG_VERIFY_ROWS = 4 };

/* The largest copy of the old C, which is kept because a product found wrong is computed again. */
#define XG_VERIFY_COPY_BYTES ((size_t)256 << 20)

/* Whether product `number` belongs to the fraction that is verified. Pure: it hashes the number, so
 * that no period of the program hides products from the check. */
bool xg_verify_samples(uint64_t number, double fraction);

struct xg_verify;

/* What was found. */
struct xg_verify_report {
    bool wrong;
    int64_t row, column;         /* if wrong: the element that exceeds its bound most */
    double value, exact, bound;  /* of that element */
    double deviation;            /* the largest finite |r_i|, in units of its threshold */
    int64_t rows, rows_computed; /* of C; those that were computed again */
    int64_t rows_skipped;        /* rows with NaN or infinities that were not examined */
};

/*
 * Call it before the product: *out keeps what the check needs of C. It holds 10 m + 14 n + 10 k
 * doubles, and 5 m more and a copy of C if beta is not 0. call's operands must not change until
 * xg_verify_check. seed: of the signs. team: up to `workers` members share the work, and no other
 * job may run on it; NULL: this thread works alone. Returns XG_OK; XG_DECLINED if such a product is
 * not verified; XG_ERR_NOMEM. *out is set only on XG_OK.
 */
enum xg_status xg_verify_create(const struct xg_problem *call, uint64_t seed, struct xg_team *team,
                                int workers, struct xg_verify **out);

/* Call it after the product. Both functions accept any floating-point environment and restore
 * it. */
void xg_verify_check(struct xg_verify *verify, enum xg_sums sums, struct xg_verify_report *report);

/* Restores C as it was before the product. If beta is 0, it changes nothing. */
void xg_verify_restore(const struct xg_verify *verify);

/* verify may be NULL. */
void xg_verify_destroy(struct xg_verify *verify);

#endif
