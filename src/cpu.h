/* SPDX-License-Identifier: MIT */
/* The built-in product on the CPU: a plain loop, for when there is no BLAS, and for tests. */
#ifndef XG_CPU_H
#define XG_CPU_H

#include "xg.h"

/* Computes *call as xg.h defines it. Any dimensions >= 0. Touches nothing else; from any thread. */
void xg_cpu_sgemm(const struct xg_sgemm *call);

/*
 * The exact value of one element of C, for judging results: sum in double precision (53 bits) of
 * alpha * op(A)[i,:] . op(B)[:,j] + beta * c0, and in *magnitude the componentwise scale
 * |alpha| |op(A)[i,:]| . |op(B)[:,j]| + |beta| |c0|. c0 is C[i,j] before the call (ignored when
 * beta == 0).
 */
double xg_cpu_sgemm_element(const struct xg_sgemm *call, int64_t i, int64_t j, float c0,
                            double *magnitude);

#endif
