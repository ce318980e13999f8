/* SPDX-License-Identifier: MIT */
#include "routines.h"

#include <complex.h>
#include <float.h>
#include <math.h>

#include "xt.h"

/* LAPACK's testers accept residuals up to 30 of their units. */
static const double BOUND = 30;

static uint64_t seed = 1;
static double worst;

double rx_worst(void)
{
    return worst;
}

/* --- Matrices -------------------------------------------------------------------------------- */

/* A matrix of a type with guards in its padding, and what it held before. */
struct matrix {
    enum xg_type type;
    struct xg_matrix view;
    size_t bytes;
    void *before;
};

static double complex get(const struct matrix *a, int64_t i, int64_t j)
{
    int64_t at = i + j * a->view.ld;
    switch (a->type) {
    case XG_TYPE_S:
        return ((const float *)a->view.at)[at];
    case XG_TYPE_D:
        return ((const double *)a->view.at)[at];
    case XG_TYPE_C:
        return ((const float complex *)a->view.at)[at];
    default:
        return ((const double complex *)a->view.at)[at];
    }
}

static void set(struct matrix *a, int64_t i, int64_t j, double complex value)
{
    int64_t at = i + j * a->view.ld;
    switch (a->type) {
    case XG_TYPE_S:
        ((float *)a->view.at)[at] = (float)creal(value);
        break;
    case XG_TYPE_D:
        ((double *)a->view.at)[at] = creal(value);
        break;
    case XG_TYPE_C:
        ((float complex *)a->view.at)[at] = (float complex)value;
        break;
    default:
        ((double complex *)a->view.at)[at] = value;
        break;
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        exit(XT_HARD);
    return memory;
}

/* Everything is NaN at first: what is not to be read spoils what reads it. */
static struct matrix create(enum xg_type type, int64_t rows, int64_t columns, int64_t pad)
{
    struct matrix a = {.type = type, .view = {NULL, rows, columns, rows + pad}};
    a.bytes = (size_t)(a.view.ld * columns) * xg_type_bytes(type);
    a.view.at = allocate(a.bytes);
    a.before = allocate(a.bytes);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < a.view.ld; i++)
            set(&a, i, j, NAN);
    memcpy(a.before, a.view.at, a.bytes);
    return a;
}

static void destroy(struct matrix *a)
{
    free(a->view.at);
    free(a->before);
}

static struct matrix copy_of(const struct matrix *a)
{
    struct matrix b = create(a->type, a->view.rows, a->view.columns, a->view.ld - a->view.rows);
    memcpy(b.view.at, a->view.at, a->bytes);
    memcpy(b.before, a->view.at, a->bytes);
    return b;
}

static double complex random_number(enum xg_type type)
{
    double re = xt_random(&seed), im = xg_type_is_complex(type) ? xt_random(&seed) : 0;
    return re + im * I;
}

static bool in_part(enum xg_uplo part, int64_t i, int64_t j)
{
    return part == XG_FULL || (part == XG_LOWER ? i >= j : i <= j);
}

static void fill(struct matrix *a)
{
    for (int64_t j = 0; j < a->view.columns; j++)
        for (int64_t i = 0; i < a->view.rows; i++)
            set(a, i, j, random_number(a->type));
    memcpy(a->before, a->view.at, a->bytes);
}

/* Whatever lies outside the part has the bits that it had. */
static void check_rest(const struct matrix *a, enum xg_uplo part, const char *what)
{
    const size_t bytes = xg_type_bytes(a->type);
    bool same = true;
    for (int64_t j = 0; j < a->view.columns; j++)
        for (int64_t i = 0; i < a->view.ld; i++) {
            size_t at = (size_t)(i + j * a->view.ld) * bytes;
            bool outside = i >= a->view.rows || !in_part(part, i, j);
            if (outside && memcmp((char *)a->view.at + at, (char *)a->before + at, bytes))
                same = false;
        }
    XT_CHECK(same, "%s: something else was written", what);
}

/* --- Dense arithmetic in double precision ---------------------------------------------------- */

/* Row-major, without padding. */
struct dense {
    int64_t rows, columns;
    double complex *at;
};

static struct dense dense_new(int64_t rows, int64_t columns)
{
    struct dense x = {rows, columns, allocate((size_t)(rows * columns) * sizeof *x.at)};
    memset(x.at, 0, (size_t)(rows * columns) * sizeof *x.at);
    return x;
}

static struct dense dense_of(const struct matrix *a)
{
    struct dense x = dense_new(a->view.rows, a->view.columns);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.columns; j++)
            x.at[i * x.columns + j] = get(a, i, j);
    return x;
}

/* The triangle of a, with ones on the diagonal if unit. */
static struct dense dense_triangle(const struct matrix *a, enum xg_uplo part, bool unit)
{
    struct dense x = dense_of(a);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.columns; j++)
            if (!in_part(part, i, j))
                x.at[i * x.columns + j] = 0;
            else if (unit && i == j)
                x.at[i * x.columns + j] = 1;
    return x;
}

static struct dense dense_hermitian(const struct matrix *a, enum xg_uplo part)
{
    struct dense x = dense_new(a->view.rows, a->view.rows);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.rows; j++)
            x.at[i * x.rows + j] = i == j                ? creal(get(a, i, i))
                                   : in_part(part, i, j) ? get(a, i, j)
                                                         : conj(get(a, j, i));
    return x;
}

static struct dense dense_copy(const struct dense *x)
{
    struct dense y = dense_new(x->rows, x->columns);
    memcpy(y.at, x->at, (size_t)(x->rows * x->columns) * sizeof *y.at);
    return y;
}

static struct dense dense_conjugate(const struct dense *x)
{
    struct dense y = dense_new(x->columns, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++)
            y.at[j * y.columns + i] = conj(x->at[i * x->columns + j]);
    return y;
}

static struct dense dense_product(const struct dense *x, const struct dense *y)
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

static double dense_norm(const struct dense *x)
{
    double sum = 0;
    for (int64_t i = 0; i < x->rows * x->columns; i++)
        sum += creal(x->at[i] * conj(x->at[i]));
    return sqrt(sum);
}

static double dense_distance(const struct dense *x, const struct dense *y)
{
    double sum = 0;
    for (int64_t i = 0; i < x->rows * x->columns; i++) {
        double complex d = x->at[i] - y->at[i];
        sum += creal(d * conj(d));
    }
    return sqrt(sum);
}

static struct dense dense_unit(int64_t n)
{
    struct dense x = dense_new(n, n);
    for (int64_t i = 0; i < n; i++)
        x.at[i * n + i] = 1;
    return x;
}

/* x y, and x is freed. */
static struct dense times(struct dense x, const struct dense *y)
{
    struct dense z = dense_product(&x, y);
    free(x.at);
    return z;
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
    struct matrix a = create(type, n, n, pad);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (in_part(uplo, i, j))
                set(&a, i, j, i == j ? (double)n + 1 : random_number(type));
    memcpy(a.before, a.view.at, a.bytes);
    return a;
}

void rx_cholesky(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t k,
                 int64_t pad)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_POTRF, type, n, n);
    struct matrix a = positive(type, uplo, n, pad), both = copy_of(&a);
    struct matrix b = create(type, n, k, pad);
    fill(&b);
    struct matrix x = copy_of(&b), y = copy_of(&b);
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
    destroy(&a);
    destroy(&both);
    destroy(&b);
    destroy(&x);
    destroy(&y);
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
    struct matrix original = create(type, m, n, pad);
    fill(&original);
    struct matrix a = copy_of(&original), all = copy_of(&original), b = create(type, n, k, pad);
    fill(&b);
    struct dense exact = dense_of(&original);
    void *pivots = allocate((size_t)(least * pivot_bytes));
    routine.k = k;
    routine.pivot_bytes = pivot_bytes;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, least, 1, least};
    bool factored = run(&routine) == XG_OK;
    if (factored)
        check_factors(&a, &original, &routine);
    for (int trans = XG_NO_TRANS; trans <= XG_CONJ_TRANS && factored && m == n; trans++) {
        struct matrix x = copy_of(&b);
        routine.name = XG_ROUTINE_GETRS;
        routine.trans = (enum xg_trans)trans;
        routine.operand[XG_SLOT_B] = x.view;
        struct dense op = trans ? transposed(&exact, routine.trans) : dense_of(&original);
        if (run(&routine) == XG_OK)
            check_solution(&op, &x, &b, text_of(&routine));
        free(op.at);
        destroy(&x);
    }
    if (factored && m == n) {
        routine.name = XG_ROUTINE_GETRI;
        routine.operand[XG_SLOT_B] = (struct xg_matrix){0};
        if (run(&routine) == XG_OK)
            check_inverse(&exact, dense_of(&a), type, text_of(&routine));
        check_rest(&a, XG_FULL, text_of(&routine));
    }
    if (m == n) {
        struct matrix x = copy_of(&b);
        routine.name = XG_ROUTINE_GESV;
        routine.trans = XG_NO_TRANS;
        routine.operand[XG_SLOT_A] = all.view;
        routine.operand[XG_SLOT_B] = x.view;
        if (run(&routine) == XG_OK) {
            check_solution(&exact, &x, &b, text_of(&routine));
            check_factors(&all, &original, &routine);
        }
        destroy(&x);
    }
    free(exact.at);
    free(pivots);
    destroy(&original);
    destroy(&a);
    destroy(&all);
    destroy(&b);
}

/* --- Orthogonal factors ---------------------------------------------------------------------- */

/* B = op(Q) C or C op(Q), for the first columns of Q, which the dense q holds. */
static void check_ormqr(rx_run *run, struct xg_routine *routine, const struct dense *q, bool right,
                        enum xg_trans trans, int64_t other, int64_t pad)
{
    const int64_t order = q->rows, rows = right ? other : order, columns = right ? order : other;
    struct matrix c = create(routine->type, rows, columns, pad);
    fill(&c);
    struct matrix b = copy_of(&c);
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
    destroy(&b);
    destroy(&c);
}

void rx_qr(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad)
{
    const int64_t least = xg_min_i64(m, n);
    struct xg_routine routine = routine_of(XG_ROUTINE_GEQRF, type, m, n);
    struct matrix original = create(type, m, n, pad), tau = create(type, least, 1, 0);
    fill(&original);
    struct matrix a = copy_of(&original), all = create(type, m, m, pad);
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_TAU] = tau.view;
    if (run(&routine) != XG_OK)
        goto end;
    check_rest(&a, XG_FULL, text_of(&routine));
    /* The reflectors in the first columns of an m by m matrix, of which all of Q is made. */
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++)
            set(&all, i, j, j < least ? get(&a, i, j) : 0);
    memcpy(all.before, all.view.at, all.bytes);
    struct matrix reflectors = copy_of(&all);
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
    destroy(&reflectors);
end:
    destroy(&original);
    destroy(&a);
    destroy(&all);
    destroy(&tau);
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
            v[i] = random_number(type);
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
    struct dense a = times(scaled, &vh);
    free(vh.at);
    return a;
}

static void put(struct matrix *a, const struct dense *x, enum xg_uplo part)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++)
            if (in_part(part, i, j))
                set(a, i, j,
                    i == j && part != XG_FULL ? creal(x->at[i * x->columns + j])
                                              : x->at[i * x->columns + j]);
    memcpy(a->before, a->view.at, a->bytes);
}

static void check_order(const struct matrix *w, bool ascends, const char *what)
{
    bool ordered = true;
    for (int64_t i = 0; i + 1 < w->view.rows; i++) {
        double one = creal(get(w, i, 0)), next = creal(get(w, i + 1, 0));
        ordered = ordered && (ascends ? one <= next : one >= next);
    }
    XT_CHECK(ordered, "%s: out of order", what);
}

static struct dense dense_diagonal(const struct matrix *w)
{
    struct dense x = dense_new(w->view.rows, w->view.rows);
    for (int64_t i = 0; i < x.rows; i++)
        x.at[i * x.rows + i] = get(w, i, 0);
    return x;
}

void rx_eigen(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
              bool vectors, bool in_place, enum rx_spectrum spectrum)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_SYEVD, type, n, n);
    struct matrix a = create(type, n, n, pad), z = create(type, n, n, pad);
    struct matrix w = create(xg_type_real(type), n, 1, 0);
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
            sum += creal(get(&w, i, 0));
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
    destroy(&a);
    destroy(&z);
    destroy(&w);
}

void rx_generalized(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
                    bool vectors, int itype)
{
    struct xg_routine routine = routine_of(XG_ROUTINE_SYGVD, type, n, n);
    struct matrix a = positive(type, uplo, n, pad), b = positive(type, uplo, n, pad);
    struct matrix w = create(xg_type_real(type), n, 1, 0);
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
    if (vectors && xt_failures == 0 && !isnan(creal(get(&w, 0, 0)))) {
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
            check_equal(type, inner, times(outer, &d), scale, text_of(&routine));
        else
            check_equal(type, outer, dense_product(&x, &d), scale, text_of(&routine));
        if (itype != 1)
            free(inner.at);
        free(x.at);
        free(d.at);
    }
    free(left.at);
    free(right.at);
    destroy(&a);
    destroy(&b);
    destroy(&w);
}

void rx_singular(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t pad,
                 enum xg_vectors vectors, enum rx_spectrum spectrum)
{
    const int64_t least = xg_min_i64(m, n);
    const bool all = vectors == XG_VECTORS_ALL;
    struct xg_routine routine = routine_of(XG_ROUTINE_GESDD, type, m, n);
    struct matrix a = create(type, m, n, pad), s = create(xg_type_real(type), least, 1, 0);
    struct matrix u = create(type, m, all ? m : least, pad);
    struct matrix vt = create(type, all ? n : least, n, pad);
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
            XT_CHECK_LE(fabs(creal(get(&s, i, 0)) - spectrum_at(spectrum, i, least)),
                        BOUND * eps_of(type) * (double)(m + n), "%s: value %lld is %g", what,
                        (long long)i, creal(get(&s, i, 0)));
        if (vectors != XG_VECTORS_NONE) {
            struct dense x = dense_of(&u), yh = dense_of(&vt), y = dense_conjugate(&yh);
            struct dense d = dense_new(x.columns, yh.rows);
            for (int64_t i = 0; i < least; i++)
                d.at[i * d.columns + i] = get(&s, i, 0);
            check_orthonormal(type, &x, what);
            check_orthonormal(type, &y, what);
            struct dense xd = dense_product(&x, &d);
            check_equal(type, times(xd, &yh), dense_of(&a), dense_norm(&exact) + 1, what);
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
    destroy(&a);
    destroy(&u);
    destroy(&vt);
    destroy(&s);
}
