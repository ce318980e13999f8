/* SPDX-License-Identifier: MIT */
/* Exact products on sampled rows, and the errors of computed ones. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "src/base/problem.h"
#include "src/host/team.h"

enum { REFERENCE_ROWS = 32 };

/* op(A) op(B) and |op(A)| |op(B)| on REFERENCE_ROWS rows and all columns. */
struct reference {
    enum xg_type type; /* of operands and results */
    int64_t n, k;
    int64_t row[REFERENCE_ROWS]; /* rows of C: spread over it, at all places of a tile */
    long double *sum, *absolute; /* (REFERENCE_ROWS,n) */
    void *a;                     /* (REFERENCE_ROWS,k), of the type: these rows of op(A) */
};

/*
 * Floats are summed in double precision, doubles in long double: products of floats are exact
 * there, and the error of the sums, at most k 2^-53 of the absolute sum, is a few thousandths of
 * what is measured at k = 65536. The error is relative to |op(A)| |op(B)|, not to the sum, so
 * cancellation needs no more. call->c is not read. m >= REFERENCE_ROWS. False without memory.
 */
bool reference_create(struct reference *reference, const struct xg_problem *call,
                      struct xg_team *team);
void reference_destroy(struct reference *reference);

/* Errors in units of 2^-24 or 2^-53 of |alpha| |op(A)| |op(B)| + |beta| |C|. NaN where an element
 * is. */
struct score {
    double max, rms, mean; /* mean: with its sign */
};

/* c: the sampled rows of a result, (REFERENCE_ROWS,n) of the type; c0: of C before (not read when
 * beta is 0). */
struct score reference_score(const struct reference *reference, const void *c, double alpha,
                             double beta, const void *c0);

/* Whether max and rms are at most these factors times theirs; false if one of them is NaN. */
bool score_within(const struct score *ours, const struct score *theirs, double max, double rms);

/* The number of elements that are not the exact sum, rounded once (as for k = 1). */
int64_t reference_unrounded(const struct reference *reference, const void *c);

/*
 * The number of elements of the wrong kind: NaN where the exact sum is a number or the reverse, an
 * infinity of the wrong sign or where the sum is below the largest number, or finite and beyond
 * (k + 3) units of the absolute sum and k steps of the least subnormal number.
 */
int64_t reference_misplaced(const struct reference *reference, const void *c);

#endif
