/* SPDX-License-Identifier: MIT */
/* Matrices of LAPACK's types with guards in their padding, arithmetic on them in double, and the
 * errors that LAPACK's testers measure. */
#ifndef DENSE_H
#define DENSE_H

#include <complex.h>

#include "src/base/routine.h"
#include "src/base/xg.h"

/* A matrix of a type with guards in its padding, and what it held before. */
struct matrix {
    enum xg_type type;
    struct xg_matrix view;
    size_t bytes;
    void *before;
};

/* Row-major, without padding. */
struct dense {
    int64_t rows, columns;
    double complex *at;
};

/* Reads and writes an element of the matrix's type. */
double complex matrix_get(const struct matrix *a, int64_t i, int64_t j);
void matrix_set(struct matrix *a, int64_t i, int64_t j, double complex value);
/* Memory that lasts until dense_release(), like all matrices. Ends the test without memory. */
void *dense_allocate(size_t bytes);
void dense_release(void);
/* All elements are NaN at first, so that reads of unset elements show in the result. */
struct matrix matrix_create(enum xg_type type, int64_t rows, int64_t columns, int64_t pad);
struct matrix matrix_copy(const struct matrix *a);
double complex matrix_random(enum xg_type type);
bool matrix_in_part(enum xg_uplo part, int64_t i, int64_t j);
void matrix_fill(struct matrix *a);
/* Whether all bits outside the part are unchanged. */
bool matrix_rest_is_intact(const struct matrix *a, enum xg_uplo part);
struct dense dense_new(int64_t rows, int64_t columns);
struct dense dense_of(const struct matrix *a);
/* The triangle of a, with ones on the diagonal if unit. */
struct dense dense_triangle(const struct matrix *a, enum xg_uplo part, bool unit);
struct dense dense_hermitian(const struct matrix *a, enum xg_uplo part);
struct dense dense_conjugate(const struct dense *x);
struct dense dense_product(const struct dense *x, const struct dense *y);
/* The first rows. */
struct dense dense_top(const struct dense *x, int64_t rows);
double dense_norm(const struct dense *x);
/* The square of the length of a column below a row. */
double dense_column_square(const struct dense *x, int64_t column, int64_t from);
double dense_distance(const struct dense *x, const struct dense *y);
struct dense dense_unit(int64_t n); /* the unit matrix */

/* --- Errors in units of n eps ---------------------------------------------------------------- */

/* LAPACK's testers accept residuals up to 30 of their units. */
#define JUDGE_BOUND 30.0

double judge_eps(enum xg_type type);

/* Checks that nothing outside the part was written. */
void judge_rest(const struct matrix *a, enum xg_uplo part, const char *what);

/* Checks that x and y are equal up to rounding of numbers as large as scale. */
void judge_equal(enum xg_type type, struct dense x, struct dense y, double scale, const char *what);

/* Checks that the columns are orthonormal. */
void judge_orthonormal(enum xg_type type, const struct dense *q, const char *what);

/* Checks that the first rows of `solved` are an X with Aᴴ (A X - B) = 0. If `rest`, each column
 * below X must be as long as the residual's column. */
void judge_squares(enum xg_type type, const struct dense *a, const struct dense *b,
                   const struct dense *solved, bool rest, const char *what);

/* The values are the singular values of A. vectors: its first rows are the right singular vectors;
 * NULL: only the sum of squares is judged. */
void judge_values(const struct dense *a, const struct matrix *vectors, const struct matrix *values,
                  const char *what);

struct dense judge_transposed(const struct dense *a, enum xg_trans trans);

/* Random, Hermitian and positive definite, stored in one triangle; the other one is NaN. */
struct matrix judge_positive(enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad);

/* Begins a routine's test. Frees the matrices of the test before. */
struct xg_routine judge_routine(enum xg_routine_name name, enum xg_type type, int64_t m, int64_t n);

static inline const char *judge_text(const struct xg_routine *routine)
{
    return xg_routine_text(routine->name, routine->type);
}

#endif
