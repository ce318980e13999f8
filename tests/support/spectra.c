/* SPDX-License-Identifier: MIT */
/* Eigenvalues and singular values: rx_eigen, rx_some_eigen, rx_generalized, rx_general,
 * rx_balanced and rx_singular. */
#include <math.h>

#include "tests/support/dense.h"
#include "tests/support/routines.h"
#include "tests/support/xt.h"

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
    return judge_transposed(&q, XG_TRANS);
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
    return dense_product(&scaled, &vh);
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

/* A V = V diag(W), with orthonormal columns; nothing else was written. */
static void check_eigenvectors(const struct dense *a, const struct matrix *v,
                               const struct matrix *w, const char *what)
{
    struct dense x = dense_of(v), d = dense_diagonal(w);
    judge_orthonormal(v->type, &x, what);
    judge_equal(v->type, dense_product(a, &x), dense_product(&x, &d), dense_norm(a), what);
    judge_rest(v, XG_FULL, what);
}

void rx_eigen(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
              bool vectors, bool in_place, enum rx_spectrum spectrum)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_SYEVD, type, n, n);
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
        const char *what = judge_text(&routine);
        double trace = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            trace += creal(exact.at[i * n + i]);
            sum += creal(matrix_get(&w, i, 0));
        }
        XT_CHECK_LE(fabs(trace - sum),
                    JUDGE_BOUND * judge_eps(type) * (double)n * dense_norm(&exact),
                    "%s: the trace is %g, not %g", what, sum, trace);
        check_order(&w, true, what);
        judge_rest(&a, in_place && vectors ? XG_FULL : uplo, what);
        if (vectors)
            check_eigenvectors(&exact, in_place ? &a : &z, &w, what);
    }
}

void rx_some_eigen(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
                   bool vectors, int64_t first, int64_t count)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_SYEVD, type, n, n);
    struct matrix a = matrix_create(type, n, n, pad), z = matrix_create(type, n, count, pad);
    struct matrix w = matrix_create(xg_type_real(type), n, 1, 0); /* LAPACK may write all of it */
    struct dense q = orthonormal(type, n, n), d = dense_new(n, n);
    for (int64_t i = 0; i < n; i++)
        d.at[i * n + i] = (double)(i + 1 - n / 3) / (double)n;
    struct dense qd = dense_product(&q, &d), qh = dense_conjugate(&q),
                 made = dense_product(&qd, &qh);
    put(&a, &made, uplo);
    w.view.rows = count;
    struct dense exact = dense_hermitian(&a, uplo);
    routine.uplo = uplo;
    routine.first = first;
    routine.vectors = vectors ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_W] = w.view;
    if (vectors)
        routine.operand[XG_SLOT_U] = z.view;
    if (run(&routine) == XG_OK) {
        const char *what = judge_text(&routine);
        for (int64_t i = 0; i < count; i++)
            XT_CHECK_LE(
                fabs(creal(matrix_get(&w, i, 0)) - (double)(first + i + 1 - n / 3) / (double)n),
                JUDGE_BOUND * judge_eps(type) * (double)n, "%s: value %lld of %lld", what,
                (long long)i, (long long)first);
        judge_rest(&a, uplo, what);
        if (vectors)
            check_eigenvectors(&exact, &z, &w, what);
    }
}

void rx_generalized(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
                    bool vectors, int itype)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_SYGVD, type, n, n);
    struct matrix a = judge_positive(type, uplo, n, pad), b = judge_positive(type, uplo, n, pad);
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
        check_order(&w, true, judge_text(&routine));
        judge_rest(&b, uplo, judge_text(&routine));
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
            judge_equal(type, inner, dense_product(&outer, &d), scale, judge_text(&routine));
        else
            judge_equal(type, outer, dense_product(&x, &d), scale, judge_text(&routine));
    }
}

/* The columns of VR as LAPACK describes them. Of a real matrix a conjugate pair has two columns: a
 * real and an imaginary part. Each vector has the length 1, and its largest element is real. */
static struct dense general_vectors(const struct matrix *vr, const struct matrix *w,
                                    const char *what)
{
    const int64_t n = vr->view.rows;
    struct dense v = dense_of(vr);
    for (int64_t j = 0; j < n && !xg_type_is_complex(vr->type); j++) {
        if (!(cimag(matrix_get(w, j, 0)) > 0))
            continue;
        for (int64_t i = 0; i < n; i++) {
            v.at[i * n + j] = CMPLX(creal(v.at[i * n + j]), creal(v.at[i * n + j + 1]));
            v.at[i * n + j + 1] = conj(v.at[i * n + j]);
        }
        j++;
    }
    for (int64_t j = 0; j < n; j++) {
        double complex largest = 0;
        double square = 0;
        for (int64_t i = 0; i < n; i++) {
            double complex x = v.at[i * n + j];
            square += creal(x) * creal(x) + cimag(x) * cimag(x);
            largest = cabs(x) > cabs(largest) ? x : largest;
        }
        XT_CHECK_LE(fabs(square - 1), JUDGE_BOUND * judge_eps(vr->type) * (double)n,
                    "%s: vector %lld has the square %g", what, (long long)j, square);
        XT_CHECK_LE(fabs(cimag(largest)), JUDGE_BOUND * judge_eps(vr->type),
                    "%s: vector %lld has the largest element %g + %g i", what, (long long)j,
                    creal(largest), cimag(largest));
    }
    return v;
}

/* The values as complex numbers. Those of a real matrix come as conjugate pairs, of which the first
 * has the positive imaginary part. */
static struct matrix general_values(enum xg_type type, const struct matrix *w,
                                    const struct matrix *wi, const char *what)
{
    const int64_t n = w->view.rows;
    struct matrix values = matrix_create(XG_TYPE_Z, n, 1, 0);
    for (int64_t i = 0; i < n; i++)
        matrix_set(&values, i, 0,
                   xg_type_is_complex(type)
                       ? matrix_get(w, i, 0)
                       : CMPLX(creal(matrix_get(w, i, 0)), creal(matrix_get(wi, i, 0))));
    for (int64_t i = 0; i < n && !xg_type_is_complex(type); i++) {
        double complex value = matrix_get(&values, i, 0);
        if (cimag(value) == 0)
            continue;
        bool pair = i + 1 < n && cimag(value) > 0;
        XT_CHECK(pair && matrix_get(&values, i + 1, 0) == conj(value), "%s: no pair at %lld", what,
                 (long long)i);
        i++;
    }
    return values;
}

void rx_general(rx_run *run, enum xg_type type, int64_t n, int64_t pad, bool vectors)
{
    struct xg_routine routine = judge_routine(XG_ROUTINE_GEEV, type, n, n);
    struct matrix a = matrix_create(type, n, n, pad), vr = matrix_create(type, n, n, pad);
    struct matrix w = matrix_create(type, n, 1, 0), wi = matrix_create(type, n, 1, 0);
    matrix_fill(&a);
    struct dense exact = dense_of(&a);
    routine.vectors = vectors ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    routine.operand[XG_SLOT_A] = a.view;
    routine.operand[XG_SLOT_W] = w.view;
    if (!xg_type_is_complex(type))
        routine.operand[XG_SLOT_WI] = wi.view;
    if (vectors)
        routine.operand[XG_SLOT_V] = vr.view;
    if (run(&routine) == XG_OK) {
        const char *what = judge_text(&routine);
        struct matrix values = general_values(type, &w, &wi, what);
        double complex trace = 0;
        for (int64_t i = 0; i < n; i++)
            trace += exact.at[i * n + i] - matrix_get(&values, i, 0);
        XT_CHECK_LE(cabs(trace), JUDGE_BOUND * judge_eps(type) * (double)n * dense_norm(&exact),
                    "%s: the trace differs by %g", what, cabs(trace));
        judge_rest(&a, XG_FULL, what);
        judge_rest(&vr, XG_FULL, what);
        if (vectors) {
            struct dense v = general_vectors(&vr, &values, what), d = dense_diagonal(&values);
            judge_equal(type, dense_product(&exact, &v), dense_product(&v, &d), dense_norm(&exact),
                        what);
        }
    }
}

/* The largest distance of an eigenvalue of x from the nearest one of y. */
static double values_distance(const struct matrix *x, const struct matrix *y)
{
    double most = 0;
    for (int64_t i = 0; i < x->view.rows; i++) {
        double least = INFINITY;
        for (int64_t j = 0; j < y->view.rows; j++)
            least = fmin(least, cabs(matrix_get(x, i, 0) - matrix_get(y, j, 0)));
        most = fmax(most, least);
    }
    return most;
}

void rx_balanced(rx_run *run, enum xg_type type, int64_t n)
{
    static const double BOUND = 1e-10;
    struct xg_routine routine = judge_routine(XG_ROUTINE_GEEV, type, n, n);
    struct matrix a = matrix_create(type, n, n, 0), values[2];
    const char *what = judge_text(&routine);
    matrix_fill(&a);
    for (int scaled = 0; scaled <= 1; scaled++) {
        struct matrix copy = matrix_copy(&a);
        struct matrix w = matrix_create(type, n, 1, 0), wi = matrix_create(type, n, 1, 0);
        for (int64_t j = 0; scaled && j < n; j++)
            for (int64_t i = 0; i < n; i++) /* row i by 2^-30 to 2^30, column j by the inverse */
                matrix_set(&copy, i, j,
                           matrix_get(&a, i, j) * ldexp(1, (int)(i * 37 % 61 - j * 37 % 61)));
        routine.operand[XG_SLOT_A] = copy.view;
        routine.operand[XG_SLOT_W] = w.view;
        if (!xg_type_is_complex(type))
            routine.operand[XG_SLOT_WI] = wi.view;
        if (run(&routine) != XG_OK)
            return;
        values[scaled] = general_values(type, &w, &wi, what);
    }
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, cabs(matrix_get(&values[0], i, 0)));
    const double distance =
        fmax(values_distance(&values[0], &values[1]), values_distance(&values[1], &values[0]));
    XT_CHECK_LE(distance, BOUND * largest, "%s: the scaled matrix's eigenvalues are %g off", what,
                distance);
}

void rx_singular(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t pad,
                 enum xg_vectors vectors, enum rx_spectrum spectrum)
{
    const int64_t least = xg_min_i64(m, n);
    const bool all = vectors == XG_VECTORS_ALL;
    struct xg_routine routine = judge_routine(XG_ROUTINE_GESDD, type, m, n);
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
        const char *what = judge_text(&routine);
        check_order(&s, false, what);
        for (int64_t i = 0; i < least; i++)
            XT_CHECK_LE(fabs(creal(matrix_get(&s, i, 0)) - spectrum_at(spectrum, i, least)),
                        JUDGE_BOUND * judge_eps(type) * (double)(m + n), "%s: value %lld is %g",
                        what, (long long)i, creal(matrix_get(&s, i, 0)));
        if (vectors != XG_VECTORS_NONE) {
            struct dense x = dense_of(&u), yh = dense_of(&vt), y = dense_conjugate(&yh);
            struct dense d = dense_new(x.columns, yh.rows);
            for (int64_t i = 0; i < least; i++)
                d.at[i * d.columns + i] = matrix_get(&s, i, 0);
            judge_orthonormal(type, &x, what);
            judge_orthonormal(type, &y, what);
            struct dense xd = dense_product(&x, &d);
            judge_equal(type, dense_product(&xd, &yh), exact, dense_norm(&exact) + 1, what);
            judge_rest(&u, XG_FULL, what);
            judge_rest(&vt, XG_FULL, what);
        }
    }
}
