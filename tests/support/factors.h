/* SPDX-License-Identifier: MIT */
/* Judges of getrf's and geqrf's factorizations of a real matrix. */
#ifndef XT_FACTORS_H
#define XT_FACTORS_H

#include <float.h>
#include <math.h>

#include "tests/support/typed.h"
#include "tests/support/xt.h"

/* The result for A of (m,n): L and U with pivots of 8 bytes, or R and reflectors with tau; and A
 * itself, with ld = m. */
struct xt_factors {
    enum xg_type type;
    int64_t m, n, ld;
    const void *at, *beside;
    const double *a;
};

static inline double xt_epsilon(enum xg_type type)
{
    return type == XG_TYPE_D ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* The smallest numbers of the type have a fixed rounding unit: the sum of these units over the
 * steps, divided by the type's epsilon. */
static inline double xt_least(enum xg_type type, int64_t steps)
{
    return (double)steps * (type == XG_TYPE_D ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN) /
           xt_epsilon(type);
}

/* --- LU -------------------------------------------------------------------------------------- */

/* The largest |P A - L U| of a column, over |L| |U|. rows: the rows of A in their final order. */
static inline double xt_lu_column_error(const struct xt_factors *f, const int64_t *rows, int64_t j)
{
    const int64_t steps = f->m < f->n ? f->m : f->n;
    double worst = 0;
    for (int64_t i = 0; i < f->m; i++) {
        long double sum = 0, absolute = 0;
        for (int64_t k = 0; k <= i && k <= j && k < steps; k++) {
            const long double l = i == k ? 1 : (long double)xt_get(f->type, f->at, i + k * f->ld);
            const long double term = l * (long double)xt_get(f->type, f->at, k + j * f->ld);
            sum += term;
            absolute += fabsl(term);
        }
        const double error = (double)fabsl(sum - (long double)f->a[rows[i] + j * f->m]);
        worst = fmax(worst, error / ((double)absolute + xt_least(f->type, steps)));
        if (!(error <= DBL_MAX))
            return INFINITY;
    }
    return worst;
}

/* LAPACK's info: the first column whose pivot is 0, from 1 on, or 0. */
static inline int xt_lu_info(const struct xt_factors *f)
{
    for (int64_t k = 0; k < f->m && k < f->n; k++)
        if (xt_get(f->type, f->at, k + k * f->ld) == 0)
            return (int)k + 1;
    return 0;
}

/* Checks that pivots are largest elements and, in every stride-th column, that P A = L U. */
static inline void xt_lu_check(const struct xt_factors *f, int64_t stride, const char *what)
{
    const int64_t steps = f->m < f->n ? f->m : f->n, *pivots = f->beside;
    const double eps = xt_epsilon(f->type);
    int64_t *rows = xt_alloc((size_t)f->m, sizeof *rows);
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < f->m; i++)
        rows[i] = i;
    for (int64_t k = 0; k < steps; k++) {
        const int64_t place = pivots[k] - 1;
        XT_CHECK(place >= k && place < f->m, "%s: pivot %lld", what, (long long)pivots[k]);
        if (place < k || place >= f->m)
            goto free_rows;
        const int64_t row = rows[k];
        rows[k] = rows[place];
        rows[place] = row;
        for (int64_t i = k + 1; i < f->m; i++)
            largest = fmax(largest, fabs(xt_get(f->type, f->at, i + k * f->ld)));
    }
    /* A reciprocal and a product round; the smallest pivots have few bits. */
    XT_CHECK_LE(largest, 1 + 4 * eps, "%s: |l| %.17g", what, largest);
    for (int64_t j = 0; j < f->n; j += stride)
        worst = fmax(worst, xt_lu_column_error(f, rows, j));
    XT_CHECK_LE(worst, (double)(steps + 8) * eps, "%s: %.3g units", what, worst / eps);
free_rows:
    free(rows);
}

/* --- QR -------------------------------------------------------------------------------------- */

/* |tau v'v - 2| of reflector k, for orthogonality; 0 if tau is 0 and v is a unit vector;
 * INFINITY for NaN. */
static inline double xt_reflector_error(const struct xt_factors *f, int64_t k)
{
    const long double tau = (long double)xt_get(f->type, f->beside, k);
    long double sum = 1;
    for (int64_t i = k + 1; i < f->m; i++) {
        const long double v = (long double)xt_get(f->type, f->at, i + k * f->ld);
        sum += v * v;
    }
    const long double error = tau == 0 ? sum - 1 : fabsl(tau * sum - 2);
    return error <= LDBL_MAX ? (double)error : INFINITY;
}

/* The norm of H_k ... H_1 a_j - r_j over that of a_j; column: m numbers to work in. */
static inline double xt_column_error(const struct xt_factors *f, int64_t j, long double *column)
{
    const int64_t steps = f->m < f->n ? f->m : f->n;
    long double size = 0, error = 0;
    for (int64_t i = 0; i < f->m; i++) {
        column[i] = (long double)f->a[i + j * f->m];
        size = hypotl(size, column[i]);
    }
    for (int64_t k = 0; k < steps && k <= j; k++) {
        long double w = column[k];
        for (int64_t i = k + 1; i < f->m; i++)
            w += column[i] * (long double)xt_get(f->type, f->at, i + k * f->ld);
        w *= (long double)xt_get(f->type, f->beside, k);
        column[k] -= w;
        for (int64_t i = k + 1; i < f->m; i++)
            column[i] -= w * (long double)xt_get(f->type, f->at, i + k * f->ld);
    }
    for (int64_t i = 0; i < f->m; i++) {
        const bool in_r = i <= j && i < steps;
        error = hypotl(error, column[i] - (in_r || j >= steps
                                               ? (long double)xt_get(f->type, f->at, i + j * f->ld)
                                               : 0));
    }
    size += (long double)xt_least(f->type, f->m + steps);
    return error <= LDBL_MAX ? (double)(error / size) : INFINITY;
}

/* Checks that the reflectors are orthogonal, and that they turn every stride-th column of A into
 * R's. */
static inline void xt_qr_check(const struct xt_factors *f, int64_t stride, const char *what)
{
    const int64_t steps = f->m < f->n ? f->m : f->n;
    const double eps = xt_epsilon(f->type);
    long double *column = xt_alloc((size_t)f->m, sizeof *column);
    double worst = 0, crooked = 0;
    for (int64_t k = 0; k < steps; k++)
        crooked = fmax(crooked, xt_reflector_error(f, k));
    XT_CHECK_LE(crooked, 20 * eps, "%s: reflectors, %.3g units", what, crooked / eps);
    for (int64_t j = 0; j < f->n; j += stride)
        worst = fmax(worst, xt_column_error(f, j, column));
    XT_CHECK_LE(worst, (double)(steps + 10) * eps, "%s: %.3g units", what, worst / eps);
    free(column);
}

#endif
