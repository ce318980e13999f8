/* SPDX-License-Identifier: MIT */
/* Whether R, reflectors and tau are a QR factorization of a matrix. */
#ifndef XT_REFLECT_H
#define XT_REFLECT_H

#include <float.h>
#include <math.h>

#include "tests/support/typed.h"

/* What geqrf returned for a real A of (m,n), and A itself with ld = m. */
struct xt_factors {
    enum xg_type type;
    int64_t m, n, ld;
    const void *qr, *tau;
    const double *a;
};

/* |tau v'v - 2| of reflector k, for orthogonality; 0 if tau is 0 and v is a unit vector;
 * INFINITY for NaN. */
static inline double xt_reflector_error(const struct xt_factors *f, int64_t k)
{
    const long double tau = (long double)xt_get(f->type, f->tau, k);
    long double sum = 1;
    for (int64_t i = k + 1; i < f->m; i++) {
        const long double v = (long double)xt_get(f->type, f->qr, i + k * f->ld);
        sum += v * v;
    }
    const long double error = tau == 0 ? sum - 1 : fabsl(tau * sum - 2);
    return error <= LDBL_MAX ? (double)error : INFINITY;
}

/* The norm of H_k ... H_1 a_j - r_j over that of a_j; column: m numbers to work in. The smallest
 * numbers of the type round by a unit of their own in each step. */
static inline double xt_column_error(const struct xt_factors *f, int64_t j, long double *column)
{
    const int64_t steps = f->m < f->n ? f->m : f->n;
    const bool wide = f->type == XG_TYPE_D;
    long double size = 0, error = 0;
    for (int64_t i = 0; i < f->m; i++) {
        column[i] = (long double)f->a[i + j * f->m];
        size = hypotl(size, column[i]);
    }
    for (int64_t k = 0; k < steps && k <= j; k++) {
        long double w = column[k];
        for (int64_t i = k + 1; i < f->m; i++)
            w += column[i] * (long double)xt_get(f->type, f->qr, i + k * f->ld);
        w *= (long double)xt_get(f->type, f->tau, k);
        column[k] -= w;
        for (int64_t i = k + 1; i < f->m; i++)
            column[i] -= w * (long double)xt_get(f->type, f->qr, i + k * f->ld);
    }
    for (int64_t i = 0; i < f->m; i++) {
        const bool in_r = i <= j && i < steps;
        error = hypotl(error, column[i] - (in_r || j >= steps
                                               ? (long double)xt_get(f->type, f->qr, i + j * f->ld)
                                               : 0));
    }
    size += (long double)(f->m + steps) * (wide ? DBL_TRUE_MIN : FLT_TRUE_MIN) /
            (wide ? DBL_EPSILON : FLT_EPSILON);
    return error <= LDBL_MAX ? (double)(error / size) : INFINITY;
}

#endif
