/* SPDX-License-Identifier: MIT */
#include "tests/support/routines.h"

#include <float.h>
#include <math.h>

#include "tests/support/dense.h"
#include "tests/support/xt.h"

/* LAPACK's testers accept residuals up to 30 of their units. */
static const double BOUND = 30;

static double worst;

int rx_failures(void)
{
    return xt_failures;
}

double rx_worst(void)
{
    return worst;
}

static void check_rest(const struct matrix *a, enum xg_uplo part, const char *what)
{
    XT_CHECK(matrix_rest_is_intact(a, part), "%s: something else was written", what);
}

static double eps_of(enum xg_type type)
{
    return xg_type_is_double(type) ? DBL_EPSILON : FLT_EPSILON;
}

/* x and y are equal up to rounding of numbers as large as scale; both are freed. */
static void check_equal(enum xg_type type, struct dense x, struct dense y, double scale,
                        const char *what)
{
    const int64_t n = xg_max_i64(x.rows, x.columns);
    double units = dense_distance(&x, &y) / (eps_of(type) * (double)n * scale);
    XT_CHECK(x.rows == y.rows && x.columns == y.columns);
    XT_CHECK_LE(units, BOUND, "%s: %g units of n eps (%lld by %lld)", what, units,
                (long long)x.rows, (long long)x.columns);
    if (units > worst)
        worst = units;
    free(x.at);
    free(y.at);
}

/* The columns are orthonormal. */
static void check_orthonormal(enum xg_type type, const struct dense *q, const char *what)
{
    struct dense qh = dense_conjugate(q);
    check_equal(type, dense_product(&qh, q), dense_unit(q->columns), sqrt((double)q->columns),
                what);
    free(qh.at);
}

/* --- Systems --------------------------------------------------------------------------------- */

static struct xg_routine routine_of(enum xg_routine_name name, enum xg_type type, int64_t m,
                                    int64_t n)
{
    return (struct xg_routine){.name = name, .type = type, .m = m, .n = n, .pivot_bytes = 4};
}

static const char *text_of(const struct xg_routine *routine)
{
    return xg_routine_text(routine->name, routine->type);
}

/* A X = B, for the dense A; frees nothing of the caller's. */
static void check_solution(const struct dense *a, const struct matrix *x, const struct matrix *b,
                           const char *what)
{
    struct dense solution = dense_of(x), right = dense_of(b);
    double scale = dense_norm(a) * dense_norm(&solution);
    check_equal(x->type, dense_product(a, &solution), right, scale, what);
    free(solution.at);
    check_rest(x, XG_FULL, what);
}

static void check_inverse(const struct dense *a, struct dense inverse, enum xg_type type,
                          const char *what)
{
    double scale = dense_norm(a) * dense_norm(&inverse);
    check_equal(type, dense_product(a, &inverse), dense_unit(a->rows), scale, what);
    free(inverse.at);
}

/* Random, Hermitian and positive definite, stored in one triangle; the other one is NaN. */
static struct matrix positive(enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad)
{
    struct matrix a = matrix_create(type, n, n, pad);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (matrix_in_part(uplo, i, j))
                matrix_set(&a, i, j, i == j ? (double)n + 1 : matrix_random(type));
    memcpy(a.before, a.view.at, a.bytes);
    return a;
}

void rx_cholesky(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t k,
                 int64_t pad)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_POTRF, type, n, n);
    struct matrix a = positive(type, uplo, n, pad), both = matrix_copy(&a);
    struct matrix b = matrix_create(type, n, k, pad);
    matrix_fill(&b);
    struct matrix x = matrix_copy(&b), y = matrix_copy(&b);
    struct dense exact = dense_hermitian(&a, uplo);
    routine.uplo = uplo;
    routine.k = k;
    routine.operand[XG_SLOT_A] = a.view;
    if (run(&routine) == XG_OK) {
        struct dense factor = dense_triangle(&a, uplo, false), other = dense_conjugate(&factor);
        check_equal(type,
                    uplo == XG_LOWER ? dense_product(&factor, &other)
                                     : dense_product(&other, &factor),
                    dense_hermitian(&both, uplo), dense_norm(&exact), text_of(&routine));
        check_rest(&a, uplo, text_of(&routine));
        free(factor.at);
        free(other.at);

        routine.name = XG_ROUTINE_POTRS;
        routine.operand[XG_SLOT_B] = x.view;
        if (run(&routine) == XG_OK)
            check_solution(&exact, &x, &b, text_of(&routine));
        routine.name = XG_ROUTINE_POTRI;
        routine.operand[XG_SLOT_B] = (struct xg_matrix){0};
        if (run(&routine) == XG_OK) {
            check_inverse(&exact, dense_hermitian(&a, uplo), type, text_of(&routine));
            check_rest(&a, uplo, text_of(&routine));
        }
    }
    routine.name = XG_ROUTINE_POSV;
    routine.operand[XG_SLOT_A] = both.view;
    routine.operand[XG_SLOT_B] = y.view;
    if (run(&routine) == XG_OK)
        check_solution(&exact, &y, &b, text_of(&routine));
    free(exact.at);
    matrix_destroy(&a);
    matrix_destroy(&both);
    matrix_destroy(&b);
    matrix_destroy(&x);
    matrix_destroy(&y);
}

/* The other triangle is NaN, and so is the diagonal for which ones stand. */
void rx_triangle(rx_run *run, enum xg_type type, enum xg_uplo uplo, bool unit, int64_t n,
                 int64_t pad)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_TRTRI, type, n, n);
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
        check_inverse(&exact, dense_triangle(&a, uplo, unit), type, text_of(&routine));
        check_rest(&a, uplo, text_of(&routine));
        for (int64_t i = 0; unit && i < n; i++)
            XT_CHECK(isnan(creal(matrix_get(&a, i, i))), "%s: the diagonal was written",
                     text_of(&routine));
    }
    free(exact.at);
    matrix_destroy(&a);
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
    check_equal(routine->type, dense_product(&l, &u), permuted, scale, text_of(routine));
    check_rest(a, XG_FULL, text_of(routine));
    free(lower.at);
    free(upper.at);
    free(l.at);
    free(u.at);
}

static struct dense transposed(const struct dense *a, enum xg_trans trans)
{
    struct dense x = dense_conjugate(a);
    for (int64_t i = 0; i < x.rows * x.columns; i++)
        if (trans == XG_TRANS)
            x.at[i] = conj(x.at[i]);
    return x;
}

void rx_lu(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad,
           int pivot_bytes)
{
    const int64_t least = xg_min_i64(m, n);
    struct xg_routine routine = routine_of(XG_ROUTINE_GETRF, type, m, n);
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
        struct dense op = trans ? transposed(&exact, routine.trans) : dense_of(&original);
        if (run(&routine) == XG_OK)
            check_solution(&op, &x, &b, text_of(&routine));
        free(op.at);
        matrix_destroy(&x);
    }
    if (factored && m == n) {
        routine.name = XG_ROUTINE_GETRI;
        routine.operand[XG_SLOT_B] = (struct xg_matrix){0};
        if (run(&routine) == XG_OK)
            check_inverse(&exact, dense_of(&a), type, text_of(&routine));
        check_rest(&a, XG_FULL, text_of(&routine));
    }
    if (m == n) {
        struct matrix x = matrix_copy(&b);
        routine.name = XG_ROUTINE_GESV;
        routine.trans = XG_NO_TRANS;
        routine.operand[XG_SLOT_A] = all.view;
        routine.operand[XG_SLOT_B] = x.view;
        if (run(&routine) == XG_OK) {
            check_solution(&exact, &x, &b, text_of(&routine));
            check_factors(&all, &original, &routine);
        }
        matrix_destroy(&x);
    }
    free(exact.at);
    free(pivots);
    matrix_destroy(&original);
    matrix_destroy(&a);
    matrix_destroy(&all);
    matrix_destroy(&b);
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
    struct dense op = trans ? dense_conjugate(q) : dense_copy(q);
    struct dense before = dense_of(&c);
    routine->name = XG_ROUTINE_ORMQR;
    routine->right = right;
    routine->trans = trans;
    routine->m = rows;
    routine->n = columns;
    routine->operand[XG_SLOT_B] = b.view;
    if (run(routine) == XG_OK) {
        double scale = dense_norm(&before);
        check_equal(routine->type,
                    right ? dense_product(&before, &op) : dense_product(&op, &before), dense_of(&b),
                    scale, text_of(routine));
        check_rest(&b, XG_FULL, text_of(routine));
    }
    routine->operand[XG_SLOT_B] = (struct xg_matrix){0};
    free(before.at);
    free(op.at);
    matrix_destroy(&b);
    matrix_destroy(&c);
}

void rx_qr(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad)
{
    const int64_t least = xg_min_i64(m, n);
    struct xg_routine routine = routine_of(XG_ROUTINE_GEQRF, type, m, n);
    struct matrix original = matrix_create(type, m, n, pad), tau = matrix_create(type, least, 1, 0);
    matrix_fill(&original);
    struct matrix a = matrix_copy(&original), all = matrix_create(type, m, m, pad);
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_TAU] = tau.view;
    if (run(&routine) != XG_OK)
        goto end;
    check_rest(&a, XG_FULL, text_of(&routine));
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
        check_orthonormal(type, &q, text_of(&routine));
        check_equal(type, dense_product(&q, &r), exact, scale, "geqrf");
        check_rest(&all, XG_FULL, text_of(&routine));
        routine.operand[XG_SLOT_A] =
            (struct xg_matrix){reflectors.view.at, m, least, reflectors.view.ld};
        const enum xg_trans trans = xg_type_is_complex(type) ? XG_CONJ_TRANS : XG_TRANS;
        check_ormqr(run, &routine, &q, false, XG_NO_TRANS, k, pad);
        check_ormqr(run, &routine, &q, false, trans, k, pad);
        check_ormqr(run, &routine, &q, true, XG_NO_TRANS, k, pad);
        check_ormqr(run, &routine, &q, true, trans, k, pad);
        free(q.at);
        free(r.at);
    }
    matrix_destroy(&reflectors);
end:
    matrix_destroy(&original);
    matrix_destroy(&a);
    matrix_destroy(&all);
    matrix_destroy(&tau);
}

/* --- Spectra --------------------------------------------------------------------------------- */

static double spectrum_at(enum rx_spectrum spectrum, int64_t i, int64_t n)
{
    if (spectrum == RX_GRADED)
        return pow(10, -16 * (double)i / (double)n);
    return spectrum == RX_DEFICIENT && 2 * i >= n ? 0 : 1 + (double)(n - i) / (double)n;
}

/* Orthonormal columns, by Gram and Schmidt, twice. */
static struct dense orthonormal(enum xg_type type, int64_t rows, int64_t columns)
{
    struct dense q = dense_new(columns, rows); /* columns of the result as rows */
    for (int64_t j = 0; j < columns; j++) {
        double complex *v = q.at + j * rows;
        for (int64_t i = 0; i < rows; i++)
            v[i] = matrix_random(type);
        for (int turn = 0; turn < 2; turn++)
            for (int64_t l = 0; l <= j; l++) {
                const double complex *u = q.at + l * rows;
                double complex dot = 0;
                for (int64_t i = 0; i < rows; i++)
                    dot += conj(u[i]) * v[i];
                for (int64_t i = 0; i < rows; i++)
                    v[i] = l < j ? v[i] - dot * u[i] : v[i] / sqrt(creal(dot));
            }
    }
    struct dense result = transposed(&q, XG_TRANS);
    free(q.at);
    return result;
}

/* U diag(spectrum) Vᴴ */
static struct dense with_spectrum(const struct dense *u, const struct dense *v,
                                  enum rx_spectrum spectrum)
{
    struct dense scaled = dense_new(u->rows, u->columns), vh = dense_conjugate(v);
    for (int64_t i = 0; i < u->rows; i++)
        for (int64_t j = 0; j < u->columns; j++)
            scaled.at[i * u->columns + j] =
                u->at[i * u->columns + j] * spectrum_at(spectrum, j, u->columns);
    struct dense a = dense_times(scaled, &vh);
    free(vh.at);
    return a;
}

static void put(struct matrix *a, const struct dense *x, enum xg_uplo part)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++)
            if (matrix_in_part(part, i, j))
                matrix_set(a, i, j,
                           i == j && part != XG_FULL ? creal(x->at[i * x->columns + j])
                                                     : x->at[i * x->columns + j]);
    memcpy(a->before, a->view.at, a->bytes);
}

static void check_order(const struct matrix *w, bool ascends, const char *what)
{
    bool ordered = true;
    for (int64_t i = 0; i + 1 < w->view.rows; i++) {
        double one = creal(matrix_get(w, i, 0)), next = creal(matrix_get(w, i + 1, 0));
        ordered = ordered && (ascends ? one <= next : one >= next);
    }
    XT_CHECK(ordered, "%s: out of order", what);
}

static struct dense dense_diagonal(const struct matrix *w)
{
    struct dense x = dense_new(w->view.rows, w->view.rows);
    for (int64_t i = 0; i < x.rows; i++)
        x.at[i * x.rows + i] = matrix_get(w, i, 0);
    return x;
}

void rx_eigen(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
              bool vectors, bool in_place, enum rx_spectrum spectrum)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_SYEVD, type, n, n);
    struct matrix a = matrix_create(type, n, n, pad), z = matrix_create(type, n, n, pad);
    struct matrix w = matrix_create(xg_type_real(type), n, 1, 0);
    struct dense q = orthonormal(type, n, n), made = with_spectrum(&q, &q, spectrum);
    put(&a, &made, uplo);
    struct dense exact = dense_hermitian(&a, uplo);
    routine.uplo = uplo;
    routine.vectors = vectors ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_W] = w.view;
    if (vectors)
        routine.operand[XG_SLOT_U] = in_place ? a.view : z.view;
    if (run(&routine) == XG_OK) {
        const char *what = text_of(&routine);
        double trace = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            trace += creal(exact.at[i * n + i]);
            sum += creal(matrix_get(&w, i, 0));
        }
        XT_CHECK_LE(fabs(trace - sum), BOUND * eps_of(type) * (double)n * dense_norm(&exact),
                    "%s: the trace is %g, not %g", what, sum, trace);
        check_order(&w, true, what);
        check_rest(&a, in_place && vectors ? XG_FULL : uplo, what);
        if (vectors) {
            struct dense v = dense_of(in_place ? &a : &z), d = dense_diagonal(&w);
            check_orthonormal(type, &v, what);
            check_equal(type, dense_product(&exact, &v), dense_product(&v, &d), dense_norm(&exact),
                        what);
            check_rest(&z, XG_FULL, what);
            free(v.at);
            free(d.at);
        }
    }
    free(q.at);
    free(made.at);
    free(exact.at);
    matrix_destroy(&a);
    matrix_destroy(&z);
    matrix_destroy(&w);
}

void rx_generalized(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
                    bool vectors, int itype)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_SYGVD, type, n, n);
    struct matrix a = positive(type, uplo, n, pad), b = positive(type, uplo, n, pad);
    struct matrix w = matrix_create(xg_type_real(type), n, 1, 0);
    struct dense left = dense_hermitian(&a, uplo), right = dense_hermitian(&b, uplo);
    routine.uplo = uplo;
    routine.itype = itype;
    routine.vectors = vectors ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_B] = b.view;
    routine.operand[XG_SLOT_W] = w.view;
    if (vectors)
        routine.operand[XG_SLOT_U] = a.view;
    if (run(&routine) == XG_OK) {
        check_order(&w, true, text_of(&routine));
        check_rest(&b, uplo, text_of(&routine));
    }
    if (vectors && xt_failures == 0 && !isnan(creal(matrix_get(&w, 0, 0)))) {
        /* 1: A x = w B x; 2: A B x = w x; 3: B A x = w x. */
        struct dense x = dense_of(&a), d = dense_diagonal(&w);
        struct dense inner = itype == 1   ? dense_product(&left, &x)
                             : itype == 2 ? dense_product(&right, &x)
                                          : dense_product(&left, &x);
        struct dense outer = itype == 1   ? dense_product(&right, &x)
                             : itype == 2 ? dense_product(&left, &inner)
                                          : dense_product(&right, &inner);
        double scale = dense_norm(&left) * dense_norm(&x) * (itype == 1 ? 1 : dense_norm(&right));
        if (itype == 1)
            check_equal(type, inner, dense_times(outer, &d), scale, text_of(&routine));
        else
            check_equal(type, outer, dense_product(&x, &d), scale, text_of(&routine));
        if (itype != 1)
            free(inner.at);
        free(x.at);
        free(d.at);
    }
    free(left.at);
    free(right.at);
    matrix_destroy(&a);
    matrix_destroy(&b);
    matrix_destroy(&w);
}

void rx_singular(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t pad,
                 enum xg_vectors vectors, enum rx_spectrum spectrum)
{
    const int64_t least = xg_min_i64(m, n);
    const bool all = vectors == XG_VECTORS_ALL;
    struct xg_routine routine = routine_of(XG_ROUTINE_GESDD, type, m, n);
    struct matrix a = matrix_create(type, m, n, pad),
                  s = matrix_create(xg_type_real(type), least, 1, 0);
    struct matrix u = matrix_create(type, m, all ? m : least, pad);
    struct matrix vt = matrix_create(type, all ? n : least, n, pad);
    struct dense left = orthonormal(type, m, least), right = orthonormal(type, n, least);
    struct dense made = with_spectrum(&left, &right, spectrum);
    put(&a, &made, XG_FULL);
    struct dense exact = dense_of(&a);
    routine.vectors = vectors;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_W] = s.view;
    if (vectors != XG_VECTORS_NONE) {
        routine.operand[XG_SLOT_U] = u.view;
        routine.operand[XG_SLOT_V] = vt.view;
    }
    if (run(&routine) == XG_OK) {
        const char *what = text_of(&routine);
        check_order(&s, false, what);
        for (int64_t i = 0; i < least; i++)
            XT_CHECK_LE(fabs(creal(matrix_get(&s, i, 0)) - spectrum_at(spectrum, i, least)),
                        BOUND * eps_of(type) * (double)(m + n), "%s: value %lld is %g", what,
                        (long long)i, creal(matrix_get(&s, i, 0)));
        if (vectors != XG_VECTORS_NONE) {
            struct dense x = dense_of(&u), yh = dense_of(&vt), y = dense_conjugate(&yh);
            struct dense d = dense_new(x.columns, yh.rows);
            for (int64_t i = 0; i < least; i++)
                d.at[i * d.columns + i] = matrix_get(&s, i, 0);
            check_orthonormal(type, &x, what);
            check_orthonormal(type, &y, what);
            struct dense xd = dense_product(&x, &d);
            check_equal(type, dense_times(xd, &yh), dense_copy(&exact), dense_norm(&exact) + 1,
                        what);
            check_rest(&u, XG_FULL, what);
            check_rest(&vt, XG_FULL, what);
            free(x.at);
            free(yh.at);
            free(y.at);
            free(d.at);
        }
    }
    free(left.at);
    free(right.at);
    free(made.at);
    free(exact.at);
    matrix_destroy(&a);
    matrix_destroy(&u);
    matrix_destroy(&vt);
    matrix_destroy(&s);
}
