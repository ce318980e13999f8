/* SPDX-License-Identifier: MIT */
/* The built-in product on the CPU: a plain loop, for calls that find no BLAS, and for tests. */
#ifndef XG_CPU_H
#define XG_CPU_H

#include "base/xg.h"

/* Computes *p as problem.h defines it. Any dimensions >= 0. Touches no other memory. Any thread may
 * call it. */
void xg_cpu_compute(const struct xg_problem *p);

/*
 * The exact value of one element of C, for judging results: the sum in long double (64 bits) of
 * alpha * op(A)[i,:] . op(B)[:,j] + beta * c0, and the componentwise scale |alpha| |op(A)[i,:]| .
 * |op(B)[:,j]| + |beta| |c0|, where |x| of a complex number is |re| + |im|.
 */
struct xg_cpu_exact {
    long double re, im, magnitude;
};

/* c0: C[i,j] before the call, an element of p's type; not read when beta is 0. */
struct xg_cpu_exact xg_cpu_exact(const struct xg_problem *p, int64_t i, int64_t j, const void *c0);

#endif
