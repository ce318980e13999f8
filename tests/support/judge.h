/* SPDX-License-Identifier: MIT */
/* The errors that LAPACK's testers measure, in units of n eps. */
#ifndef JUDGE_H
#define JUDGE_H

#include "tests/support/dense.h"

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
