/* SPDX-License-Identifier: MIT */
#include "tests/support/judge.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/routines.h"
#include "tests/support/xt.h"

static double worst;

double rx_worst(void)
{
    return worst;
}

struct xg_routine judge_routine(enum xg_routine_name name, enum xg_type type, int64_t m, int64_t n)
{
    dense_release();
    return (struct xg_routine){.name = name, .type = type, .m = m, .n = n, .pivot_bytes = 4};
}

double judge_eps(enum xg_type type)
{
    return xg_type_is_double(type) ? DBL_EPSILON : FLT_EPSILON;
}

void judge_rest(const struct matrix *a, enum xg_uplo part, const char *what)
{
    XT_CHECK(matrix_rest_is_intact(a, part), "%s: something else was written", what);
}

void judge_equal(enum xg_type type, struct dense x, struct dense y, double scale, const char *what)
{
    const int64_t n = xg_max_i64(x.rows, x.columns);
    double units = dense_distance(&x, &y) / (judge_eps(type) * (double)n * scale);
    XT_CHECK(x.rows == y.rows && x.columns == y.columns);
    XT_CHECK_LE(units, JUDGE_BOUND, "%s: %g units of n eps (%lld by %lld)", what, units,
                (long long)x.rows, (long long)x.columns);
    if (units > worst)
        worst = units;
}

void judge_orthonormal(enum xg_type type, const struct dense *q, const char *what)
{
    struct dense qh = dense_conjugate(q);
    judge_equal(type, dense_product(&qh, q), dense_unit(q->columns), sqrt((double)q->columns),
                what);
}

void judge_squares(enum xg_type type, const struct dense *a, const struct dense *b,
                   const struct dense *solved, bool rest, const char *what)
{
    struct dense x = dense_top(solved, a->columns), ax = dense_product(a, &x),
                 ah = dense_conjugate(a);
    double scale = dense_norm(a) * (dense_norm(a) * dense_norm(&x) + dense_norm(b));
    judge_equal(type, dense_product(&ah, &ax), dense_product(&ah, b), scale, what);
    for (int64_t i = 0; i < ax.rows * ax.columns; i++)
        ax.at[i] -= b->at[i];
    for (int64_t j = 0; rest && j < b->columns; j++) {
        double residual = dense_column_square(&ax, j, 0);
        double kept = dense_column_square(solved, j, a->columns);
        XT_CHECK_LE(fabs(residual - kept),
                    JUDGE_BOUND * judge_eps(type) * (double)a->rows * dense_column_square(b, j, 0),
                    "%s: column %lld: a residual of %g, not %g", what, (long long)j, kept,
                    residual);
    }
}

void judge_values(const struct dense *a, const struct matrix *vectors, const struct matrix *values,
                  const char *what)
{
    const double norm = dense_norm(a);
    double squares = 0;
    for (int64_t j = 0; j < a->columns; j++)
        squares += pow(creal(matrix_get(values, j, 0)), 2);
    const double unit = JUDGE_BOUND * judge_eps(values->type) * (double)a->rows;
    XT_CHECK_LE(fabs(sqrt(squares) - norm), unit * norm, "%s: values of norm %g, not %g", what,
                sqrt(squares), norm);
    if (!vectors)
        return;
    struct dense all = dense_of(vectors), vh = dense_top(&all, a->columns);
    struct dense v = dense_conjugate(&vh), av = dense_product(a, &v);
    judge_orthonormal(vectors->type, &v, what);
    for (int64_t j = 0; j < a->columns; j++)
        XT_CHECK_LE(fabs(sqrt(dense_column_square(&av, j, 0)) - creal(matrix_get(values, j, 0))),
                    unit * creal(matrix_get(values, 0, 0)), "%s: vector %lld", what, (long long)j);
}

struct dense judge_transposed(const struct dense *a, enum xg_trans trans)
{
    struct dense x = dense_conjugate(a);
    for (int64_t i = 0; i < x.rows * x.columns; i++)
        if (trans == XG_TRANS)
            x.at[i] = conj(x.at[i]);
    return x;
}

struct matrix judge_positive(enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad)
{
    struct matrix a = matrix_create(type, n, n, pad);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (matrix_in_part(uplo, i, j))
                matrix_set(&a, i, j, i == j ? (double)n + 1 : matrix_random(type));
    memcpy(a.before, a.view.at, a.bytes);
    return a;
}
