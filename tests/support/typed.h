/* SPDX-License-Identifier: MIT */
/* Elements of matrices of each type, and products of such matrices. */
#ifndef XT_TYPED_H
#define XT_TYPED_H

#include <complex.h>

#include "src/base/problem.h"

/* type: XG_TYPE_S or XG_TYPE_D. */
static inline double xt_get(enum xg_type type, const void *data, int64_t i)
{
    return type == XG_TYPE_D ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline void xt_set(enum xg_type type, void *data, int64_t i, double x)
{
    if (type == XG_TYPE_D)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = (float)x;
}

/* The same for all four types. */
static inline double complex xt_complex_get(enum xg_type type, const void *data, int64_t i)
{
    const enum xg_type real = xg_type_real(type);
    return real == type ? xt_get(type, data, i)
                        : CMPLX(xt_get(real, data, 2 * i), xt_get(real, data, 2 * i + 1));
}

static inline void xt_complex_set(enum xg_type type, void *data, int64_t i, double complex x)
{
    const enum xg_type real = xg_type_real(type);
    const int64_t parts = real == type ? 1 : 2;
    xt_set(real, data, parts * i, creal(x));
    if (parts == 2)
        xt_set(real, data, 2 * i + 1, cimag(x));
}

/* C = op(A) op(B), rows without padding. a: op(A) is (m,k); b: op(B) is (k,n); c: (m,n). */
static inline struct xg_problem xt_problem(enum xg_type type, int64_t m, int64_t n, int64_t k,
                                           bool transa, bool transb, const void *a, const void *b,
                                           void *c)
{
    return (struct xg_problem){.op = XG_OP_GEMM,
                               .type = type,
                               .m = m,
                               .n = n,
                               .k = k,
                               .transa = transa ? XG_TRANS : XG_NO_TRANS,
                               .transb = transb ? XG_TRANS : XG_NO_TRANS,
                               .alpha = 1,
                               .a = a,
                               .lda = transa ? m : k,
                               .b = b,
                               .ldb = transb ? k : n,
                               .c = c,
                               .ldc = n};
}

#endif
