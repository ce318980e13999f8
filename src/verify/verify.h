/* SPDX-License-Identifier: MIT */
/* Whether a computed product is right, found out in O(n^2) from what lies in the caller's memory.
 */
#ifndef XG_VERIFY_H
#define XG_VERIFY_H

#include "base/xg.h"
#include "host/team.h"

/*
 * The screen (Freivalds, 1977). For vectors x of n random signs, drawn after the operands were
 * given and known to nobody, r = C x - alpha op(A) (op(B) x) - beta C0 x is what the errors of C
 * add up to: r_i = sum_j x_j D_ij, where D is C less the exact product. XG_VERIFY_VECTORS of them
 * share each reading of a matrix. Two facts, for each row i of C and each vector:
 *
 *   Found. |r_i| >= max_j |D_ij| with a probability of 1/2 at least, whatever D is: of the two
 *     values that the sign of the largest makes r_i take, which lie 2 |D_ij| apart, one does. So an
 *     error above the row's threshold is seen with a probability of 1 - 2^-XG_VERIFY_VECTORS (15 of
 *     16), and certainly where it is twice the threshold and the row's other errors are ordinary.
 *   Ordinary. By Hoeffding |r_i| <= t |D_i|_2 but for a share 2 exp(-t^2 / 2) of all signs; and
 *     where |D_ij| <= s (|A||B|)_ij, |D_i|_2 <= s sum_l |a_il| |b_l|_2 (Minkowski), b_l a row of
 *     op(B), which costs O(n^2) as well. (|D_i|_1 gives the same with sqrt n for t.)
 *
 * The threshold takes t = 8 and for s what rounding does to ordinary numbers, which grows with
 * sqrt k: it only decides which rows are looked at closer. Were s the worst case, k u, a whole tile
 * of other numbers would pass at 8192^3.
 *
 * The verdict. The XG_VERIFY_ROWS rows that exceed their threshold most are computed again in
 * double precision, with |A||B| beside them, and an element is wrong when it is off by more than it
 * can be. So no row of numbers that round badly, all in one direction, is called wrong, and
 * no sign decides about it. u = 2^-24; k terms in any order of addition and with or without FMA are
 * off by k u |a||b| at most (Jeannerod and Rump, 2013); scaling by alpha and adding beta C0, in
 * whatever rounding mode the program has, by 5 u more; all that compounded, and double precision's
 * own error, lie within a thousandth and 7 u:
 *
 *   FP32    (k + 12) u. One sum in order of k, slices, cuBLAS: all are orders of addition.
 *   pieces  (k / 16 + 140) u: the most of three.
 *           FP16x3: numbers keep 22 bits, and a product of second pieces is left out: 3 times 2^-22
 *             is 12 u; small numbers 1 u (kernels/emulated/split.cuh). A tensor core's step of 16
 * cuts 17 numbers 25 bits below the largest, and the sum to 24 bits: 10.5 u of what it has summed,
 * six times in sums of 32 (kernels/NOTES.md): 63 u. These are added in FP32: k / 32 u. BF16x6:
 * products left out 2 u, twelve steps 126 u, k / 32 u. FFMA, sums of 16: (16 + k / 16) u. TF32 2^-9
 * + (2 k + 16) u: both factors cut to 11 bits, sums cut and not rounded. A factor below 2^-126 is
 * cut as if it were that.
 *
 * To which an absolute part is added for numbers below the normal ones: k + 4 steps of the least
 * subnormal, times |alpha| where that is more than 1; where beta is not 0 the CPU combines, maybe
 * with the program's own flushing to zero: 2^-126 (2 + |beta| + |c0|).
 *
 * NaN and infinity. A row where r is no number is computed again likewise; of more such rows than
 * XG_VERIFY_ROWS the others are skipped, and counted. NaN must be NaN. An infinity must be itself,
 * or NaN where finite parts may have overflown the other way. Where a sum of magnitudes reaches
 * 2^127 a result may be no number; elsewhere it must be one (but TF32, whose rounding makes
 * infinities of numbers near FLT_MAX).
 *
 * Not verified are: operations and types other than SGEMM; alpha or beta that are no numbers; C
 * that overlaps A or B (overlap.h; the dispatcher sends none such to the GPU); where beta is not 0
 * a C above XG_VERIFY_COPY_BYTES.
 */
enum { XG_VERIFY_VECTORS = 4, XG_VERIFY_ROWS = 4 };

/* C as it was is kept, for what is found wrong must be computed again. */
#define XG_VERIFY_COPY_BYTES ((size_t)256 << 20)

/* Whether the product of that number is one of the fraction that is verified. Pure: a hash of the
 * number, so that no period of the program's hides products from it. */
bool xg_verify_samples(uint64_t number, double fraction);

struct xg_verify;

/* What was found. */
struct xg_verify_report {
    bool wrong;
    int64_t row, column;         /* where wrong: the element that is off most, for its bound */
    double value, exact, bound;  /* of it */
    double deviation;            /* the largest |r_i| that is a number, in units of its threshold */
    int64_t rows, rows_computed; /* of C; those that were computed again */
    int64_t rows_skipped;        /* with NaN or infinities, and not looked at */
};

/*
 * Before the product: takes what the check needs of C. It holds 10 m + 14 n + 10 k doubles, and 5 m
 * more and C where beta is not 0. call's operands must stay as they are until xg_verify_check.
 * seed: of the signs. team: up to `workers` of it share the work, none other may run on it; NULL:
 * this thread alone. XG_OK; XG_DECLINED: it is one of those that are not verified; XG_ERR_NOMEM.
 * *out is set on XG_OK alone.
 */
enum xg_status xg_verify_create(const struct xg_problem *call, uint64_t seed, struct xg_team *team,
                                int workers, struct xg_verify **out);

/* After it. The floating-point environment may be any, and stays as it is: here as before. */
void xg_verify_check(struct xg_verify *verify, enum xg_sums sums, struct xg_verify_report *report);

/* C as it was before the product; what beta 0 left unread stays. */
void xg_verify_restore(const struct xg_verify *verify);

/* NULL is let pass. */
void xg_verify_destroy(struct xg_verify *verify);

#endif
