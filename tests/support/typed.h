/* SPDX-License-Identifier: MIT */
/* Elements of matrices of each type. */
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

#endif
