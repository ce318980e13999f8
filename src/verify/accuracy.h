/* SPDX-License-Identifier: MIT */
/* Measures the error of a result against the exact product, on a sample of its elements. */
#ifndef XG_ACCURACY_H
#define XG_ACCURACY_H

#include "base/xg.h"
#include "reference/cpu.h"

enum { XG_ACCURACY_SAMPLES = 512 };

/* The exact values of sampled elements of one product, taken before C is overwritten. */
struct xg_accuracy {
    int count;
    int64_t row[XG_ACCURACY_SAMPLES], column[XG_ACCURACY_SAMPLES];
    struct xg_cpu_exact exact[XG_ACCURACY_SAMPLES];
    enum xg_type type;
};

/*
 * Picks elements of C (the corners, and others spread evenly by a fixed sequence; of a triangle
 * only those inside it) and computes them with 64 bits. Costs at most 512 dot products of length k.
 * call->c must hold C as it is before the call.
 */
void xg_accuracy_init(struct xg_accuracy *accuracy, const struct xg_problem *call);

/*
 * The largest componentwise error |c - exact| / (|alpha||A||B| + |beta||C|) of *call's computed C,
 * in units of the type's precision (2^-24 or 2^-53). NaN if an element is NaN and its exact value
 * is not.
 */
double xg_accuracy_error(const struct xg_accuracy *accuracy, const struct xg_problem *call);

#endif
