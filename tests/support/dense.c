/* SPDX-License-Identifier: MIT */
#include "tests/support/dense.h"

#include <math.h>

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
