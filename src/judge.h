/* SPDX-License-Identifier: MIT */
/* How far a result is from the exact product, on a sample of its elements. */
#ifndef XG_JUDGE_H
#define XG_JUDGE_H

#include "xg.h"

enum { XG_JUDGE_SAMPLES = 512 };

/* The exact values of sampled elements of one product, taken before C is overwritten. */
struct xg_judge {
    int count;
    int64_t row[XG_JUDGE_SAMPLES], column[XG_JUDGE_SAMPLES];
    double exact[XG_JUDGE_SAMPLES], magnitude[XG_JUDGE_SAMPLES];
};

/*
 * Picks elements of C (the corners, and others spread evenly by a fixed sequence) and computes them
 * in double precision; costs 512 dot products of length k. call->c must hold C as it is before the
 * call.
 */
void xg_judge_init(struct xg_judge *judge, const struct xg_sgemm *call);

/*
 * The largest componentwise error |c - exact| / (|alpha||A||B| + |beta||C|) of a computed C (m,n)
 * with leading dimension ldc, in units of 2^-24. NaN when an element is NaN and the exact one is
 * not.
 */
double xg_judge_error(const struct xg_judge *judge, const float *c, int64_t ldc);

#endif
