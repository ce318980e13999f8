/* SPDX-License-Identifier: MIT */
#include "tests/support/routines.h"

#include <math.h>
#include <stdlib.h>

#include "src/pipeline/least_squares.h"
#include "tests/support/dense.h"
#include "tests/support/xt.h"

/* --- Systems --------------------------------------------------------------------------------- */

/* A X = B, for the dense A. */
static void check_solution(const struct dense *a, const struct matrix *x, const struct matrix *b,
                           const char *what)
{
    struct dense solution = dense_of(x), right = dense_of(b);
    double scale = dense_norm(a) * dense_norm(&solution);
    judge_equal(x->type, dense_product(a, &solution), right, scale, what);
    judge_rest(x, XG_FULL, what);
}

static void check_inverse(const struct dense *a, struct dense inverse, enum xg_type type,
                          const char *what)
{
    double scale = dense_norm(a) * dense_norm(&inverse);
    judge_equal(type, dense_product(a, &inverse), dense_unit(a->rows), scale, what);
}

void rx_cholesky(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t k,
                 int64_t pad)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_POTRF, type, n, n);
    struct matrix a = judge_positive(type, uplo, n, pad), both = matrix_copy(&a);
    struct matrix b = matrix_create(type, n, k, pad);
    matrix_fill(&b);
    struct matrix x = matrix_copy(&b), y = matrix_copy(&b);
    struct dense exact = dense_hermitian(&a, uplo);
    routine.uplo = uplo;
    routine.k = k;
    routine.operand[XG_SLOT_A] = a.view;
    if (run(&routine) == XG_OK) {
        struct dense factor = dense_triangle(&a, uplo, false), other = dense_conjugate(&factor);
        judge_equal(type,
                    uplo == XG_LOWER ? dense_product(&factor, &other)
                                     : dense_product(&other, &factor),
                    dense_hermitian(&both, uplo), dense_norm(&exact), judge_text(&routine));
        judge_rest(&a, uplo, judge_text(&routine));

        routine.name = XG_ROUTINE_POTRS;
        routine.operand[XG_SLOT_B] = x.view;
        if (run(&routine) == XG_OK)
            check_solution(&exact, &x, &b, judge_text(&routine));
        routine.name = XG_ROUTINE_POTRI;
        routine.operand[XG_SLOT_B] = (struct xg_matrix){0};
        if (run(&routine) == XG_OK) {
            check_inverse(&exact, dense_hermitian(&a, uplo), type, judge_text(&routine));
            judge_rest(&a, uplo, judge_text(&routine));
        }
    }
    routine.name = XG_ROUTINE_POSV;
    routine.operand[XG_SLOT_A] = both.view;
    routine.operand[XG_SLOT_B] = y.view;
    if (run(&routine) == XG_OK)
        check_solution(&exact, &y, &b, judge_text(&routine));
}

/* The other triangle is NaN, and a unit diagonal too. */
void rx_triangle(rx_run *run, enum xg_type type, enum xg_uplo uplo, bool unit, int64_t n,
                 int64_t pad)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_TRTRI, type, n, n);
    struct matrix a = matrix_create(type, n, n, pad);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (matrix_in_part(uplo, i, j) && !(unit && i == j))
                matrix_set(&a, i, j, i == j ? 2 : matrix_random(type) / (double)n);
    memcpy(a.before, a.view.at, a.bytes);
    struct dense exact = dense_triangle(&a, uplo, unit);
    routine.uplo = uplo;
    routine.unit = unit;
    routine.operand[XG_SLOT_A] = a.view;
    if (run(&routine) == XG_OK) {
        check_inverse(&exact, dense_triangle(&a, uplo, unit), type, judge_text(&routine));
        judge_rest(&a, uplo, judge_text(&routine));
        for (int64_t i = 0; unit && i < n; i++)
            XT_CHECK(isnan(creal(matrix_get(&a, i, i))), "%s: the diagonal was written",
                     judge_text(&routine));
    }
}

static int64_t pivot_at(const void *pivots, int bytes, int64_t i)
{
    return bytes == 8 ? ((const int64_t *)pivots)[i] : ((const int32_t *)pivots)[i];
}

static void check_factors(const struct matrix *a, const struct matrix *original,
                          const struct xg_routine *routine)
{
    const int64_t m = routine->m, n = routine->n, least = xg_min_i64(m, n);
    struct dense lower = dense_triangle(a, XG_LOWER, true);
    struct dense upper = dense_triangle(a, XG_UPPER, false), permuted = dense_of(original);
    struct dense l = dense_new(m, least), u = dense_new(least, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < least; j++)
            l.at[i * least + j] = lower.at[i * n + j];
    memcpy(u.at, upper.at, (size_t)(least * n) * sizeof *u.at);
    for (int64_t i = 0; i < least; i++) {
        int64_t other = pivot_at(routine->operand[XG_SLOT_PIVOTS].at, routine->pivot_bytes, i) - 1;
        XT_CHECK(other >= i && other < m, "pivot %lld", (long long)other);
        for (int64_t j = 0; j < n && other >= i && other < m; j++) {
            double complex kept = permuted.at[i * n + j];
            permuted.at[i * n + j] = permuted.at[other * n + j];
            permuted.at[other * n + j] = kept;
        }
    }
    double scale = dense_norm(&permuted) + dense_norm(&l) * dense_norm(&u);
    judge_equal(routine->type, dense_product(&l, &u), permuted, scale, judge_text(routine));
    judge_rest(a, XG_FULL, judge_text(routine));
}

void rx_lu(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad,
           int pivot_bytes)
{
    const int64_t least = xg_min_i64(m, n);
    struct xg_routine routine = judge_routine(XG_ROUTINE_GETRF, type, m, n);
    struct matrix original = matrix_create(type, m, n, pad);
    matrix_fill(&original);
    struct matrix a = matrix_copy(&original), all = matrix_copy(&original),
                  b = matrix_create(type, n, k, pad);
    matrix_fill(&b);
    struct dense exact = dense_of(&original);
    void *pivots = dense_allocate((size_t)(least * pivot_bytes));
    routine.k = k;
    routine.pivot_bytes = pivot_bytes;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, least, 1, least};
    bool factored = run(&routine) == XG_OK;
    if (factored)
        check_factors(&a, &original, &routine);
    for (int trans = XG_NO_TRANS; trans <= XG_CONJ_TRANS && factored && m == n; trans++) {
        struct matrix x = matrix_copy(&b);
        routine.name = XG_ROUTINE_GETRS;
        routine.trans = (enum xg_trans)trans;
        routine.operand[XG_SLOT_B] = x.view;
        struct dense op = trans ? judge_transposed(&exact, routine.trans) : dense_of(&original);
        if (run(&routine) == XG_OK)
            check_solution(&op, &x, &b, judge_text(&routine));
    }
    if (factored && m == n) {
        routine.name = XG_ROUTINE_GETRI;
        routine.operand[XG_SLOT_B] = (struct xg_matrix){0};
        if (run(&routine) == XG_OK)
            check_inverse(&exact, dense_of(&a), type, judge_text(&routine));
        judge_rest(&a, XG_FULL, judge_text(&routine));
    }
    if (m == n) {
        struct matrix x = matrix_copy(&b);
        routine.name = XG_ROUTINE_GESV;
        routine.trans = XG_NO_TRANS;
        routine.operand[XG_SLOT_A] = all.view;
        routine.operand[XG_SLOT_B] = x.view;
        if (run(&routine) == XG_OK) {
            check_solution(&exact, &x, &b, judge_text(&routine));
            check_factors(&all, &original, &routine);
        }
    }
}

/* --- Orthogonal factors ---------------------------------------------------------------------- */

/* B = op(Q) C or C op(Q), for the first columns of Q, which the dense q holds. */
static void check_ormqr(rx_run *run, struct xg_routine *routine, const struct dense *q, bool right,
                        enum xg_trans trans, int64_t other, int64_t pad)
{
    const int64_t order = q->rows, rows = right ? other : order, columns = right ? order : other;
    struct matrix c = matrix_create(routine->type, rows, columns, pad);
    matrix_fill(&c);
    struct matrix b = matrix_copy(&c);
    const struct dense op = trans ? dense_conjugate(q) : *q;
    struct dense before = dense_of(&c);
    routine->name = XG_ROUTINE_ORMQR;
    routine->right = right;
    routine->trans = trans;
    routine->m = rows;
    routine->n = columns;
    routine->operand[XG_SLOT_B] = b.view;
    if (run(routine) == XG_OK) {
        double scale = dense_norm(&before);
        judge_equal(routine->type,
                    right ? dense_product(&before, &op) : dense_product(&op, &before), dense_of(&b),
                    scale, judge_text(routine));
        judge_rest(&b, XG_FULL, judge_text(routine));
    }
    routine->operand[XG_SLOT_B] = (struct xg_matrix){0};
}

void rx_qr(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad)
{
    const int64_t least = xg_min_i64(m, n);
    struct xg_routine routine = judge_routine(XG_ROUTINE_GEQRF, type, m, n);
    struct matrix original = matrix_create(type, m, n, pad), tau = matrix_create(type, least, 1, 0);
    matrix_fill(&original);
    struct matrix a = matrix_copy(&original), all = matrix_create(type, m, m, pad);
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_TAU] = tau.view;
    if (run(&routine) != XG_OK)
        return;
    judge_rest(&a, XG_FULL, judge_text(&routine));
    /* The reflectors in the first columns of an m by m matrix, of which all of Q is made. */
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++)
            matrix_set(&all, i, j, j < least ? matrix_get(&a, i, j) : 0);
    memcpy(all.before, all.view.at, all.bytes);
    struct matrix reflectors = matrix_copy(&all);
    routine.name = XG_ROUTINE_ORGQR;
    routine.n = m;
    routine.k = least;
    routine.operand[XG_SLOT_A] = all.view;
    if (run(&routine) == XG_OK) {
        struct dense q = dense_of(&all), r = dense_triangle(&a, XG_UPPER, false);
        struct dense exact = dense_of(&original);
        double scale = dense_norm(&exact);
        judge_orthonormal(type, &q, judge_text(&routine));
        judge_equal(type, dense_product(&q, &r), exact, scale, "geqrf");
        judge_rest(&all, XG_FULL, judge_text(&routine));
        routine.operand[XG_SLOT_A] =
            (struct xg_matrix){reflectors.view.at, m, least, reflectors.view.ld};
        const enum xg_trans trans = xg_type_is_complex(type) ? XG_CONJ_TRANS : XG_TRANS;
        check_ormqr(run, &routine, &q, false, XG_NO_TRANS, k, pad);
        check_ormqr(run, &routine, &q, false, trans, k, pad);
        check_ormqr(run, &routine, &q, true, XG_NO_TRANS, k, pad);
        check_ormqr(run, &routine, &q, true, trans, k, pad);
    }
}

/* --- Least squares --------------------------------------------------------------------------- */

/* Xᴴ Y, which has the rounding errors of sums of as many terms as X has rows. */
static struct dense inner(const struct dense *x, const struct dense *y)
{
    const struct dense xh = dense_conjugate(x);
    return dense_product(&xh, y);
}

/* Xᴴ Y = Aᴴ B: the columns have the same lengths and angles. */
static void check_inner(enum xg_type type, const struct dense *x, const struct dense *y,
                        const struct dense *a, const struct dense *b, const char *what)
{
    double terms = (double)a->rows / (double)xg_max_i64(a->columns, b->columns);
    judge_equal(type, inner(x, y), inner(a, b), dense_norm(a) * dense_norm(b) * terms, what);
}

/* GELS: R in A, and in B first X, then the residual's rows. */
static void check_solved(rx_run *run, struct xg_routine *routine, const struct matrix *a,
                         const struct matrix *b)
{
    const enum xg_type type = a->type;
    const int64_t n = a->view.columns;
    const char *what = xg_routine_text(XG_ROUTINE_GELS, type);
    struct matrix factors = matrix_copy(a), solved = matrix_copy(b);
    routine->name = XG_ROUTINE_GELS;
    routine->operand[XG_SLOT_A] = factors.view;
    routine->operand[XG_SLOT_B] = solved.view;
    if (run(routine) == XG_OK) {
        struct dense left = dense_of(a), right = dense_of(b), all = dense_of(&solved);
        struct dense r = dense_triangle(&factors, XG_UPPER, false), triangle = dense_top(&r, n);
        check_inner(type, &triangle, &triangle, &left, &left, what);
        judge_squares(type, &left, &right, &all, true, what);
        judge_rest(&factors, XG_FULL, what);
        judge_rest(&solved, XG_FULL, what);
    }
}

/* R and Qᴴ B. */
static void check_factored(const struct xg_routine *routine, const struct matrix *a,
                           const struct matrix *b)
{
    const struct matrix r = {.type = a->type, .view = routine->operand[XG_SLOT_U]};
    const struct matrix qb = {.type = a->type, .view = routine->operand[XG_SLOT_V]};
    const char *what = judge_text(routine);
    struct dense x = dense_of(a), y = dense_of(b), rotated = dense_of(&qb);
    struct dense triangle = dense_triangle(&r, XG_UPPER, false);
    struct dense first = dense_top(&rotated, routine->n);
    check_inner(a->type, &triangle, &triangle, &x, &x, what);
    check_inner(a->type, &triangle, &first, &x, &y, what);
    check_inner(a->type, &rotated, &rotated, &y, &y, what);
}

static void check_same(const struct matrix *a, const char *what)
{
    XT_CHECK(!memcmp(a->view.at, a->before, a->bytes), "%s: an operand was written", what);
}

/* The whole solution, with R's singular values. If the device leaves it to the CPU, R and Qᴴ B are
 * right, and the caller's operands are unchanged. */
static void check_ranked(rx_run *run, const struct xg_routine *given, const struct matrix *a,
                         const struct matrix *b)
{
    struct xg_routine routine = *given;
    const enum xg_type type = a->type, real = xg_type_real(type);
    struct matrix left = matrix_copy(a), solved = matrix_copy(b);
    struct matrix values = matrix_create(real, routine.n, 1, 0);
    int64_t rank = -1;
    routine.operand[XG_SLOT_A] = left.view;
    routine.operand[XG_SLOT_B] = solved.view;
    routine.operand[XG_SLOT_W] = values.view;
    routine.pivot_bytes = sizeof rank;
    routine.rank = &rank;
    routine.decomposes = true;
    if (!xg_least_squares_open(&routine, __builtin_frame_address(0)))
        exit(XT_HARD);
    const char *what = judge_text(&routine);
    const bool done = run(&routine) == XG_OK;
    if (done && rank >= 0) {
        struct dense all = dense_of(&solved), x = dense_of(a), y = dense_of(b);
        XT_CHECK(rank == routine.n, "%s: rank %lld", what, (long long)rank);
        judge_squares(type, &x, &y, &all, true, what);
        judge_values(&x, routine.name == XG_ROUTINE_GELSS ? &left : NULL, &values, what);
        judge_rest(&solved, XG_FULL, what);
        judge_rest(&left, XG_FULL, what);
    } else {
        check_same(&solved, what);
        check_same(&values, what);
    }
    if (done && rank < 0)
        check_factored(&routine, a, b);
    if (rank < 0 || routine.name == XG_ROUTINE_GELSD)
        check_same(&left, what);
    xg_least_squares_close(&routine);
}

void rx_squares(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_GELSD, type, m, n);
    struct matrix a = matrix_create(type, m, n, pad), b = matrix_create(type, m, k, pad);
    struct matrix r = matrix_create(type, n, n, pad), qb = matrix_create(type, m, k, pad);
    matrix_fill(&a);
    matrix_fill(&b);
    routine.uplo = XG_UPPER;
    routine.k = k;
    routine.rcond = -1;
    for (int name = XG_ROUTINE_GELSD; name <= XG_ROUTINE_GELSS; name++) {
        routine.name = (enum xg_routine_name)name;
        check_ranked(run, &routine, &a, &b);
    }
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_B] = b.view;
    routine.operand[XG_SLOT_U] = r.view;
    routine.operand[XG_SLOT_V] = qb.view;
    if (run(&routine) == XG_OK) {
        check_factored(&routine, &a, &b);
        judge_rest(&r, XG_UPPER, judge_text(&routine));
        judge_rest(&qb, XG_FULL, judge_text(&routine));
        check_same(&a, judge_text(&routine));
        check_same(&b, judge_text(&routine));
    }
    check_solved(run, &routine, &a, &b);
}
