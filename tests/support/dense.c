/* SPDX-License-Identifier: MIT */
#include "tests/support/dense.h"

#include <float.h>
#include <math.h>

#include "tests/support/routines.h"
#include "tests/support/typed.h"
#include "tests/support/xt.h"

static uint64_t seed = 1;

double complex matrix_get(const struct matrix *a, int64_t i, int64_t j)
{
    return xt_complex_get(a->type, a->view.at, i + j * a->view.ld);
}

void matrix_set(struct matrix *a, int64_t i, int64_t j, double complex value)
{
    xt_complex_set(a->type, a->view.at, i + j * a->view.ld, value);
}

static struct room {
    struct room *next;
    _Alignas(16) char memory[];
} * rooms;

void *dense_allocate(size_t bytes)
{
    struct room *room = xt_alloc(1, sizeof *room + bytes);
    room->next = rooms;
    rooms = room;
    return room->memory;
}

void dense_release(void)
{
    while (rooms) {
        struct room *next = rooms->next;
        free(rooms);
        rooms = next;
    }
}

struct matrix matrix_create(enum xg_type type, int64_t rows, int64_t columns, int64_t pad)
{
    struct matrix a = {.type = type, .view = {NULL, rows, columns, rows + pad}};
    a.bytes = (size_t)(a.view.ld * columns) * xg_type_bytes(type);
    a.view.at = dense_allocate(a.bytes);
    a.before = dense_allocate(a.bytes);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < a.view.ld; i++)
            matrix_set(&a, i, j, NAN);
    memcpy(a.before, a.view.at, a.bytes);
    return a;
}

struct matrix matrix_copy(const struct matrix *a)
{
    struct matrix b =
        matrix_create(a->type, a->view.rows, a->view.columns, a->view.ld - a->view.rows);
    memcpy(b.view.at, a->view.at, a->bytes);
    memcpy(b.before, a->view.at, a->bytes);
    return b;
}

double complex matrix_random(enum xg_type type)
{
    double re = xt_random(&seed), im = xg_type_is_complex(type) ? xt_random(&seed) : 0;
    return re + im * I;
}

bool matrix_in_part(enum xg_uplo part, int64_t i, int64_t j)
{
    return part == XG_FULL || (part == XG_LOWER ? i >= j : i <= j);
}

void matrix_fill(struct matrix *a)
{
    for (int64_t j = 0; j < a->view.columns; j++)
        for (int64_t i = 0; i < a->view.rows; i++)
            matrix_set(a, i, j, matrix_random(a->type));
    memcpy(a->before, a->view.at, a->bytes);
}

bool matrix_rest_is_intact(const struct matrix *a, enum xg_uplo part)
{
    const size_t bytes = xg_type_bytes(a->type);
    for (int64_t j = 0; j < a->view.columns; j++)
        for (int64_t i = 0; i < a->view.ld; i++) {
            size_t at = (size_t)(i + j * a->view.ld) * bytes;
            bool outside = i >= a->view.rows || !matrix_in_part(part, i, j);
            if (outside && memcmp((char *)a->view.at + at, (char *)a->before + at, bytes))
                return false;
        }
    return true;
}

struct dense dense_new(int64_t rows, int64_t columns)
{
    return (struct dense){rows, columns,
                          dense_allocate((size_t)(rows * columns) * sizeof(double complex))};
}

struct dense dense_of(const struct matrix *a)
{
    struct dense x = dense_new(a->view.rows, a->view.columns);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.columns; j++)
            x.at[i * x.columns + j] = matrix_get(a, i, j);
    return x;
}

struct dense dense_triangle(const struct matrix *a, enum xg_uplo part, bool unit)
{
    struct dense x = dense_of(a);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.columns; j++)
            if (!matrix_in_part(part, i, j))
                x.at[i * x.columns + j] = 0;
            else if (unit && i == j)
                x.at[i * x.columns + j] = 1;
    return x;
}

struct dense dense_hermitian(const struct matrix *a, enum xg_uplo part)
{
    struct dense x = dense_new(a->view.rows, a->view.rows);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.rows; j++)
            x.at[i * x.rows + j] = i == j                       ? creal(matrix_get(a, i, i))
                                   : matrix_in_part(part, i, j) ? matrix_get(a, i, j)
                                                                : conj(matrix_get(a, j, i));
    return x;
}

struct dense dense_conjugate(const struct dense *x)
{
    struct dense y = dense_new(x->columns, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++)
            y.at[j * y.columns + i] = conj(x->at[i * x->columns + j]);
    return y;
}

struct dense dense_product(const struct dense *x, const struct dense *y)
{
    struct dense z = dense_new(x->rows, y->columns);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t k = 0; k < x->columns; k++) {
            const double complex f = x->at[i * x->columns + k];
            for (int64_t j = 0; j < y->columns; j++)
                z.at[i * z.columns + j] += f * y->at[k * y->columns + j];
        }
    return z;
}

struct dense dense_top(const struct dense *x, int64_t rows)
{
    struct dense first = dense_new(rows, x->columns);
    memcpy(first.at, x->at, (size_t)(rows * x->columns) * sizeof *x->at);
    return first;
}

double dense_column_square(const struct dense *x, int64_t column, int64_t from)
{
    double sum = 0;
    for (int64_t i = from; i < x->rows; i++)
        sum += pow(cabs(x->at[i * x->columns + column]), 2);
    return sum;
}

double dense_norm(const struct dense *x)
{
    double sum = 0;
    for (int64_t i = 0; i < x->rows * x->columns; i++)
        sum += creal(x->at[i] * conj(x->at[i]));
    return sqrt(sum);
}

double dense_distance(const struct dense *x, const struct dense *y)
{
    double sum = 0;
    for (int64_t i = 0; i < x->rows * x->columns; i++) {
        double complex d = x->at[i] - y->at[i];
        sum += creal(d * conj(d));
    }
    return sqrt(sum);
}

struct dense dense_unit(int64_t n)
{
    struct dense x = dense_new(n, n);
    for (int64_t i = 0; i < n; i++)
        x.at[i * n + i] = 1;
    return x;
}

/* --- Errors ---------------------------------------------------------------------------------- */

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
