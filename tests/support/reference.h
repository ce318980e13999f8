/* SPDX-License-Identifier: MIT */
/* Exact products on sampled rows, and how far computed ones are from them. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "src/base/xg.h"
#include "src/host/team.h"

enum { REFERENCE_ROWS = 32 };

/* op(A) op(B) and |op(A)| |op(B)| on REFERENCE_ROWS rows and all columns. */
struct reference {
    int64_t n, k;
    int64_t row[REFERENCE_ROWS]; /* rows of C: spread over it, at all places of a tile */
    double *sum, *absolute;      /* (REFERENCE_ROWS,n) */
    float *a;                    /* (REFERENCE_ROWS,k): those rows of op(A) */
};

/*
 * Computes it in double precision: products of floats are exact there, and the sums' error, at most
 * k 2^-53 of the absolute sum, is a few thousandths of what is measured at k = 65536. The error is
 * relative to |op(A)| |op(B)|, not to the sum, so cancellation asks for no more. call->c is not
 * read. m >= REFERENCE_ROWS. False where there is no memory.
 */
bool reference_create(struct reference *reference, const struct xg_problem *call,
                      struct xg_team *team);
void reference_destroy(struct reference *reference);

/* Errors in units of 2^-24 of |alpha| |op(A)| |op(B)| + |beta| |C|. NaN where an element is. */
struct score {
    double max, rms, mean; /* mean: with its sign */
};

/* Of the sampled rows of a result; c0: of C before (not read when beta is 0); (REFERENCE_ROWS,n).
 */
struct score reference_score(const struct reference *reference, const float *c, float alpha,
                             float beta, const float *c0);

/* Whether max and rms are at most `factor` times theirs; false where one of them is NaN. */
bool score_within(const struct score *ours, const struct score *theirs, double factor);

/* Elements that are not the exact sum rounded once (what a product of k = 1 is). */
int64_t reference_unrounded(const struct reference *reference, const float *c);

/*
 * Elements of the wrong kind: NaN where the exact sum is a number or the reverse, an infinity of
 * the wrong sign or where the sum is below FLT_MAX, or finite and beyond (k + 3) 2^-24 of the
 * absolute sum and k steps of the least subnormal number.
 */
int64_t reference_misplaced(const struct reference *reference, const float *c);

#endif
