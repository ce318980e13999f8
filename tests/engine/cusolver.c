/* SPDX-License-Identifier: MIT */
/* The fake cuSOLVER itself: each of its functions in each type on random matrices, judged by
 * residuals; what it refuses; and that each of them fails when it is told to. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/engine/solver.h"

static struct columns random_matrix(int m, int n)
{
    return columns_random(type, m, n, &seed);
}

/* Hermitian, and positive definite with the number added to its diagonal. */
static struct columns random_hermitian(int n, double diagonal)
{
    struct columns a = random_matrix(n, n), adjoint = columns_adjoint(&a);
    for (int64_t i = 0; i < (int64_t)n * n; i++)
        a.x[i] = (a.x[i] + adjoint.x[i]) / 2;
    for (int i = 0; i < n; i++)
        AT(&a, i, i) += diagonal;
    return a;
}

/* --- Cholesky -------------------------------------------------------------------------------- */

static void test_cholesky(int n, int uplo)
{
    struct columns a = random_hermitian(n, 2.0 * n), b = random_matrix(n, 3);
    struct columns l = columns_hidden(&a, uplo == LOWER), x = columns_copy(&b);
    columns_up(&l);
    columns_up(&x);
    ASK_TYPED(potrf, uplo, n, ON(l.dev), (int)l.ld);
    CALL_TYPED(potrf, handle, uplo, n, ON(l.dev), (int)l.ld, TYPED_WORK);
    CALL(Xpotrs, handle, params, uplo, n, 3, cuda_type, ON(l.dev), l.ld, cuda_type, ON(x.dev), x.ld,
         ON(work.info));
    columns_down(&l);
    columns_down(&x);
    XT_CHECK(info() == 0 && columns_is_hidden(&l, uplo == LOWER), "n %d", n);
    struct columns factor = columns_triangle(&l, uplo == LOWER, false),
                   other = columns_adjoint(&factor);
    JUDGE(columns_residual(uplo == LOWER ? &factor : &other, uplo == LOWER ? &other : &factor, &a,
                           columns_norm(&a)),
          "potrf %d", n);
    JUDGE(columns_residual(&a, &x, &b, columns_norm(&a) * columns_norm(&x)), "potrs %d", n);

    ASK_TYPED(potri, uplo, n, ON(l.dev), (int)l.ld);
    CALL_TYPED(potri, handle, uplo, n, ON(l.dev), (int)l.ld, TYPED_WORK);
    columns_down(&l);
    XT_CHECK(info() == 0 && columns_is_hidden(&l, uplo == LOWER), "n %d", n);
    struct columns inverse = columns_copy(&l), unit = columns_unit(type, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (uplo == LOWER ? i < j : i > j)
                AT(&inverse, i, j) = conj(AT(&l, j, i));
    JUDGE(columns_residual(&a, &inverse, &unit, columns_norm(&a) * columns_norm(&inverse)),
          "potri %d", n);

    /* Not positive definite from its last row on. */
    AT(&a, n - 1, n - 1) = -1.0;
    l = columns_hidden(&a, uplo == LOWER);
    columns_up(&l);
    ASK_TYPED(potrf, uplo, n, ON(l.dev), (int)l.ld);
    CALL_TYPED(potrf, handle, uplo, n, ON(l.dev), (int)l.ld, TYPED_WORK);
    XT_CHECK(info() == n, "n %d: info %d", n, info());
}

/* --- LU -------------------------------------------------------------------------------------- */

/* The rows exchanged as the factorization exchanged them. */
static struct columns exchange_rows(const struct columns *a, const int64_t *pivots, int count)
{
    struct columns b = columns_copy(a);
    for (int i = 0; pivots && i < count; i++)
        for (int j = 0; j < a->n; j++) {
            double _Complex x = AT(&b, i, j);
            AT(&b, i, j) = AT(&b, pivots[i] - 1, j);
            AT(&b, pivots[i] - 1, j) = x;
        }
    return b;
}

static struct columns factor_lu(const struct columns *a, CUdeviceptr pivots, const char *what)
{
    const int least = a->m < a->n ? a->m : a->n;
    struct columns f = columns_copy(a);
    int64_t *rows = pivots ? columns_here((size_t)least * sizeof(*rows)) : NULL;
    columns_up(&f);
    ASK(Xgetrf, a->m, a->n, cuda_type, ON(f.dev), f.ld);
    CALL(Xgetrf, handle, params, a->m, a->n, cuda_type, ON(f.dev), f.ld, ON(pivots), WORK);
    columns_down(&f);
    if (pivots)
        COLUMNS_MUST(cuMemcpyDtoHAsync, rows, pivots, (size_t)least * sizeof(*rows),
                     columns_all.stream);
    XT_CHECK(info() == 0);
    struct columns exchanged = exchange_rows(a, rows, least),
                   lower = columns_triangle(&f, true, true),
                   upper = columns_triangle(&f, false, false);
    JUDGE(columns_residual(&lower, &upper, &exchanged, columns_norm(a)), "%s %d,%d", what, a->m,
          a->n);
    return f;
}

static void test_lu(int n)
{
    CUdeviceptr pivots = columns_there((size_t)(n + 4) * 8);
    struct columns tall = random_matrix(n + 4, n), wide = random_matrix(n, n + 4),
                   a = random_matrix(n, n), b = random_matrix(n, 2);
    factor_lu(&tall, pivots, "getrf");
    factor_lu(&wide, pivots, "getrf");
    for (int i = 0; i < n; i++) {
        AT(&tall, i, i) += n;
        AT(&a, i, i) += n % 2 ? 1.0 : 0.0;
    }
    factor_lu(&tall, 0, "getrf without pivots");
    struct columns f = factor_lu(&a, pivots, "getrf");
    for (int trans = NO_TRANS; trans <= CONJ_TRANS; trans++) {
        struct columns x = columns_copy(&b), op = trans ? columns_adjoint(&a) : a;
        for (int64_t i = 0; trans == TRANS && i < (int64_t)n * n; i++)
            op.x[i] = conj(op.x[i]);
        columns_up(&x);
        CALL(Xgetrs, handle, params, trans, n, 2, cuda_type, ON(f.dev), f.ld, ON(pivots), cuda_type,
             ON(x.dev), x.ld, ON(work.info));
        columns_down(&x);
        XT_CHECK(info() == 0);
        JUDGE(columns_residual(&op, &x, &b, columns_norm(&a) * columns_norm(&x)), "getrs %d, %d", n,
              trans);
    }
    for (int pivoting = 0; pivoting < 2; pivoting++) {
        struct columns zero = columns_zero(type, n, n);
        columns_up(&zero);
        ASK(Xgetrf, n, n, cuda_type, ON(zero.dev), zero.ld);
        CALL(Xgetrf, handle, params, n, n, cuda_type, ON(zero.dev), zero.ld,
             pivoting ? ON(pivots) : NULL, WORK);
        XT_CHECK(info() == 1, "a matrix of zeros");
    }
}

/* --- QR -------------------------------------------------------------------------------------- */

static void test_qr(int n)
{
    const int m = n + 4;
    struct columns a = random_matrix(m, n), q = columns_copy(&a), tau = columns_zero(type, n, 1);
    columns_up(&q);
    columns_up(&tau);
    ASK(Xgeqrf, m, n, cuda_type, ON(q.dev), q.ld, cuda_type, ON(tau.dev));
    CALL(Xgeqrf, handle, params, m, n, cuda_type, ON(q.dev), q.ld, cuda_type, ON(tau.dev), WORK);
    columns_down(&q);
    XT_CHECK(info() == 0);
    struct columns r = columns_triangle(&q, false, false), reflectors = columns_copy(&q);
    columns_up(&reflectors);
    ASK_TYPED(orgqr, m, n, n, ON(q.dev), (int)q.ld, ON(tau.dev));
    CALL_TYPED(orgqr, handle, m, n, n, ON(q.dev), (int)q.ld, ON(tau.dev), TYPED_WORK);
    columns_down(&q);
    XT_CHECK(info() == 0);
    JUDGE(columns_residual(&q, &r, &a, columns_norm(&a)), "geqrf %d", n);
    JUDGE(columns_orthogonality(&q), "orgqr %d", n);

    /* Q's adjoint times A is R; Q's adjoint from the right, and Q again, change nothing. */
    const int adjoint = xg_type_is_complex(type) ? CONJ_TRANS : TRANS;
    struct columns c = columns_copy(&a);
    columns_up(&c);
    ASK_TYPED(ormqr, LEFT, adjoint, m, n, n, ON(reflectors.dev), (int)reflectors.ld, ON(tau.dev),
              ON(c.dev), (int)c.ld);
    CALL_TYPED(ormqr, handle, LEFT, adjoint, m, n, n, ON(reflectors.dev), (int)reflectors.ld,
               ON(tau.dev), ON(c.dev), (int)c.ld, TYPED_WORK);
    columns_down(&c);
    XT_CHECK(info() == 0);
    struct columns padded = columns_zero(type, m, n);
    for (int j = 0; j < n; j++)
        memcpy(&AT(&padded, 0, j), &AT(&r, 0, j), (size_t)n * sizeof(*r.x));
    JUDGE(columns_ratio(&c, &padded, columns_norm(&a)), "ormqr %d", n);
    struct columns row = random_matrix(2, m), back = columns_copy(&row);
    columns_up(&back);
    for (int trans = 0; trans <= adjoint; trans += adjoint) {
        ASK_TYPED(ormqr, RIGHT, trans, 2, m, n, ON(reflectors.dev), (int)reflectors.ld, ON(tau.dev),
                  ON(back.dev), (int)back.ld);
        CALL_TYPED(ormqr, handle, RIGHT, trans, 2, m, n, ON(reflectors.dev), (int)reflectors.ld,
                   ON(tau.dev), ON(back.dev), (int)back.ld, TYPED_WORK);
        columns_down(&back);
        if (trans == 0)
            XT_CHECK(columns_ratio(&back, &row, columns_norm(&row)) > GOOD, "%d is turned", n);
    }
    JUDGE(columns_ratio(&back, &row, columns_norm(&row)), "ormqr and back %d", n);
    XT_CHECK(typed[type].ormqr(handle, LEFT, TRANS + CONJ_TRANS - adjoint, m, n, n,
                               ON(reflectors.dev), (int)reflectors.ld, ON(tau.dev), ON(c.dev),
                               (int)c.ld, TYPED_WORK) == CUSOLVER_STATUS_INVALID_VALUE);
}

/* --- Eigenvalues ----------------------------------------------------------------------------- */

static bool ascend(const struct columns *w)
{
    for (int i = 1; i < w->m; i++)
        if (!(creal(w->x[i - 1]) <= creal(w->x[i])))
            return false;
    return true;
}

static void test_hermitian(int n, int uplo)
{
    struct columns a = random_hermitian(n, 0.0), v = columns_hidden(&a, uplo == LOWER),
                   w = columns_zero(xg_type_real(type), n, 1);
    columns_up(&v);
    columns_up(&w);
    ASK(Xsyevd, VECTORS, uplo, n, cuda_type, ON(v.dev), v.ld, real_type, ON(w.dev));
    CALL(Xsyevd, handle, params, VECTORS, uplo, n, cuda_type, ON(v.dev), v.ld, real_type, ON(w.dev),
         WORK);
    columns_down(&v);
    columns_down(&w);
    XT_CHECK(info() == 0 && ascend(&w));
    struct columns scaled = columns_scaled(&v, &w);
    JUDGE(columns_residual(&a, &v, &scaled, columns_norm(&a)), "syevd %d", n);
    JUDGE(columns_orthogonality(&v), "syevd's vectors %d", n);

    struct columns values = columns_copy(&w);
    v = columns_hidden(&a, uplo == LOWER);
    columns_up(&v);
    ASK(Xsyevd, NO_VECTORS, uplo, n, cuda_type, ON(v.dev), v.ld, real_type, ON(w.dev));
    CALL(Xsyevd, handle, params, NO_VECTORS, uplo, n, cuda_type, ON(v.dev), v.ld, real_type,
         ON(w.dev), WORK);
    columns_down(&w);
    JUDGE(columns_ratio(&w, &values, columns_norm(&a)), "syevd's values alone %d", n);
}

static void test_generalized(int n, int itype)
{
    struct columns a = random_hermitian(n, 0.0), b = random_hermitian(n, 2.0 * n),
                   v = columns_hidden(&a, false), factor = columns_hidden(&b, false),
                   w = columns_zero(xg_type_real(type), n, 1);
    columns_up(&v);
    columns_up(&factor);
    columns_up(&w);
    ASK_TYPED(sygvd, itype, VECTORS, UPPER, n, ON(v.dev), (int)v.ld, ON(factor.dev), (int)factor.ld,
              ON(w.dev));
    CALL_TYPED(sygvd, handle, itype, VECTORS, UPPER, n, ON(v.dev), (int)v.ld, ON(factor.dev),
               (int)factor.ld, ON(w.dev), TYPED_WORK);
    columns_down(&v);
    columns_down(&w);
    XT_CHECK(info() == 0 && ascend(&w));
    /* A x = w B x; A B x = w x; B A x = w x. */
    struct columns left = columns_product(itype == 3   ? &a
                                          : itype == 2 ? &b
                                                       : &a,
                                          &v),
                   right = columns_scaled(&v, &w);
    if (itype == 1)
        right = columns_product(&b, &right);
    else
        left = columns_product(itype == 2 ? &a : &b, &left);
    JUDGE(columns_ratio(&left, &right, columns_norm(&a) * columns_norm(&b) * columns_norm(&v)),
          "sygvd %d, %d", n, itype);
    XT_CHECK(columns_norm(&v) > 0.0);
}

/* LAPACK's vectors of a real matrix, made complex numbers. */
static struct columns unpack(const struct columns *v, const struct columns *w)
{
    struct columns full = columns_copy(v);
    for (int j = 0; j < v->n && !xg_type_is_complex(type); j++) {
        if (cimag(w->x[j]) == 0.0)
            continue;
        for (int i = 0; i < v->m; i++) {
            AT(&full, i, j) = CMPLX(creal(AT(v, i, j)), creal(AT(v, i, j + 1)));
            AT(&full, i, j + 1) = conj(AT(&full, i, j));
        }
        j++;
    }
    return full;
}

static void test_any_matrix(int n)
{
    const int mixed = xg_type_is_double(type) ? CUDA_C_64F : CUDA_C_32F;
    const enum xg_type mixed_type = xg_type_is_double(type) ? XG_TYPE_Z : XG_TYPE_C;
    struct columns a = random_matrix(n, n), f = columns_copy(&a), v = columns_zero(type, n, n),
                   w = columns_zero(mixed_type, n, 1), parts = columns_zero(type, 2 * n, 1);
    columns_up(&f);
    columns_up(&v);
    columns_up(&w);
    columns_up(&parts);
    ASK(Xgeev, NO_VECTORS, VECTORS, n, cuda_type, ON(f.dev), f.ld, mixed, ON(w.dev), cuda_type,
        NULL, 1, cuda_type, ON(v.dev), v.ld);
    CALL(Xgeev, handle, params, NO_VECTORS, VECTORS, n, cuda_type, ON(f.dev), f.ld, mixed,
         ON(w.dev), cuda_type, NULL, 1, cuda_type, ON(v.dev), v.ld, WORK);
    columns_down(&v);
    columns_down(&w);
    XT_CHECK(info() == 0);
    struct columns full = unpack(&v, &w), scaled = columns_scaled(&full, &w);
    JUDGE(columns_residual(&a, &full, &scaled, columns_norm(&a) * columns_norm(&full)), "geev %d",
          n);
    XT_CHECK(fabs(columns_norm(&full) - sqrt((double)n)) < 1e-3, "vectors of length 1");

    columns_up(&f);
    ASK(Xgeev, NO_VECTORS, NO_VECTORS, n, cuda_type, ON(f.dev), f.ld, cuda_type, ON(parts.dev),
        cuda_type, NULL, 1, cuda_type, NULL, 1);
    CALL(Xgeev, handle, params, NO_VECTORS, NO_VECTORS, n, cuda_type, ON(f.dev), f.ld, cuda_type,
         ON(parts.dev), cuda_type, NULL, 1, cuda_type, NULL, 1, WORK);
    columns_down(&parts);
    double _Complex trace = 0.0, sum = 0.0;
    for (int i = 0; i < n; i++) {
        trace += AT(&a, i, i);
        sum +=
            xg_type_is_complex(type) ? parts.x[i] : CMPLX(creal(parts.x[i]), creal(parts.x[n + i]));
    }
    JUDGE(cabs(trace - sum) / (n * columns_eps(type) * columns_norm(&a)), "geev's values %d", n);
    REFUSED(api.Xgeev, handle, params, VECTORS, NO_VECTORS, n, cuda_type, ON(f.dev), f.ld, mixed,
            ON(w.dev), cuda_type, ON(v.dev), v.ld, cuda_type, NULL, 1, WORK);
}

/* --- Singular values ------------------------------------------------------------------------- */

static bool descend(const struct columns *s)
{
    for (int i = 1; i < s->m; i++)
        if (!(creal(s->x[i - 1]) >= creal(s->x[i])))
            return false;
    return creal(s->x[s->m - 1]) >= 0.0;
}

/* U S V' against A, of the first columns of U and of V. */
static void judge_svd(const struct columns *a, const struct columns *u, const struct columns *s,
                      const struct columns *v, const char *what)
{
    struct columns u_first = columns_first(u, s->m), v_first = columns_first(v, s->m),
                   scaled = columns_scaled(&u_first, s), adjoint = columns_adjoint(&v_first);
    XT_CHECK(info() == 0 && descend(s));
    JUDGE(columns_residual(&scaled, &adjoint, a, columns_norm(a)), "%s %d,%d", what, a->m, a->n);
    JUDGE(columns_orthogonality(u), "%s's U %d,%d", what, a->m, a->n);
    JUDGE(columns_orthogonality(v), "%s's V %d,%d", what, a->m, a->n);
}

static void test_gesvd(int n, bool all)
{
    const int m = n + 4;
    const signed char job = all ? 'A' : 'S';
    struct columns a = random_matrix(m, n), f = columns_copy(&a),
                   u = columns_zero(type, m, all ? m : n), vt = columns_zero(type, n, n),
                   s = columns_zero(xg_type_real(type), n, 1);
    columns_up(&f);
    columns_up(&u);
    columns_up(&vt);
    columns_up(&s);
    ASK(Xgesvd, job, job, m, n, cuda_type, ON(f.dev), f.ld, real_type, ON(s.dev), cuda_type,
        ON(u.dev), u.ld, cuda_type, ON(vt.dev), vt.ld);
    CALL(Xgesvd, handle, params, job, job, m, n, cuda_type, ON(f.dev), f.ld, real_type, ON(s.dev),
         cuda_type, ON(u.dev), u.ld, cuda_type, ON(vt.dev), vt.ld, WORK);
    columns_down(&u);
    columns_down(&vt);
    columns_down(&s);
    struct columns v = columns_adjoint(&vt);
    judge_svd(&a, &u, &s, &v, "gesvd");
    REFUSED(api.Xgesvd, handle, params, job, job, n, m, cuda_type, ON(f.dev), f.ld, real_type,
            ON(s.dev), cuda_type, ON(u.dev), u.ld, cuda_type, ON(vt.dev), m, WORK);
}

/* Leaves U, S and V in the arguments; returns the status, and the error that the call tells. */
static int run_gesvdp(const struct columns *a, bool econ, struct columns *u, struct columns *s,
                      struct columns *v, double *error)
{
    const int least = a->m < a->n ? a->m : a->n;
    struct columns f = columns_copy(a);
    *u = columns_zero(type, a->m, econ ? least : a->m);
    *s = columns_zero(xg_type_real(type), least, 1);
    *v = columns_zero(type, a->n, econ ? least : a->n);
    columns_up(&f);
    columns_up(u);
    columns_up(s);
    columns_up(v);
    ASK(Xgesvdp, VECTORS, econ, a->m, a->n, cuda_type, ON(f.dev), f.ld, real_type, ON(s->dev),
        cuda_type, ON(u->dev), u->ld, cuda_type, ON(v->dev), v->ld);
    const char *name = fail("cusolverDnXgesvdp");
    int status[2];
    for (int i = 0; i < 2; i++)
        status[i] = api.Xgesvdp(handle, params, VECTORS, econ, a->m, a->n, cuda_type, ON(f.dev),
                                f.ld, real_type, ON(s->dev), cuda_type, ON(u->dev), u->ld,
                                cuda_type, ON(v->dev), v->ld, WORK, error);
    XT_CHECK(status[0] == CUSOLVER_STATUS_EXECUTION_FAILED && fake.faults(name) == 1);
    columns_down(u);
    columns_down(s);
    columns_down(v);
    return status[1];
}

static void test_gesvdp(int m, int n, bool econ)
{
    struct columns a = random_matrix(m, n), u, s, v;
    double error = -1.0;
    XT_CHECK(run_gesvdp(&a, econ, &u, &s, &v, &error) == CUSOLVER_STATUS_SUCCESS && error == 0.0);
    judge_svd(&a, &u, &s, &v, "gesvdp");

    /* Of lower rank: wrong, and it says so. */
    for (int i = 0; i < m; i++)
        AT(&a, i, 0) = n > 1 ? AT(&a, i, n - 1) : 0.0;
    if (m >= n) {
        XT_CHECK(run_gesvdp(&a, econ, &u, &s, &v, &error) == CUSOLVER_STATUS_SUCCESS &&
                 error > 0.0);
        XT_CHECK(columns_orthogonality(&u) > GOOD, "%d,%d", m, n);
    }
    AT(&a, m - 1, n - 1) = NAN;
    XT_CHECK(run_gesvdp(&a, econ, &u, &s, &v, &error) == CUSOLVER_STATUS_EXECUTION_FAILED);
}

/* --- Triangles ------------------------------------------------------------------------------- */

static void test_triangle(int n, int uplo, int diag)
{
    struct columns a = random_matrix(n, n);
    for (int i = 0; i < n; i++)
        AT(&a, i, i) += 2.0;
    for (int64_t i = 0; i < (int64_t)n * n && diag; i++)
        a.x[i] /= n;
    struct columns f = columns_hidden(&a, uplo == LOWER);
    columns_up(&f);
    CALL(Xtrtri_bufferSize, handle, uplo, diag, n, cuda_type, ON(f.dev), f.ld, &work.device_bytes,
         &work.host_bytes);
    allocate_work();
    CALL(Xtrtri, handle, uplo, diag, n, cuda_type, ON(f.dev), f.ld, ON(work.device),
         work.device_bytes, work.host, work.host_bytes, ON(work.info));
    columns_down(&f);
    struct columns before = columns_triangle(&a, uplo == LOWER, diag),
                   after = columns_triangle(&f, uplo == LOWER, diag), unit = columns_unit(type, n);
    XT_CHECK(info() == 0 && columns_is_hidden(&f, uplo == LOWER));
    JUDGE(columns_residual(&before, &after, &unit, columns_norm(&before) * columns_norm(&after)),
          "trtri %d, %d, %d", n, uplo, diag);
}

/* --- What it refuses ------------------------------------------------------------------------- */

static void test_refused(void)
{
    struct columns a = random_hermitian(5, 10.0);
    const int other = cuda_type ^ 1;
    columns_up(&a);
    ASK_TYPED(potrf, LOWER, 5, ON(a.dev), (int)a.ld);
    REFUSED(typed[type].potrf, handle, 2, 5, ON(a.dev), (int)a.ld, TYPED_WORK);
    ASK(Xgetrf, 5, 5, cuda_type, ON(a.dev), a.ld);
    REFUSED(api.Xgetrf, handle, params, 5, 5, cuda_type, ON(a.dev), 4, NULL, WORK);
    REFUSED(api.Xgetrf, handle, params, 5, 0, cuda_type, ON(a.dev), a.ld, NULL, WORK);
    REFUSED(api.Xgetrf, handle, params, 5, 5, other, ON(a.dev), a.ld, NULL, WORK);
    REFUSED(api.Xgetrf, handle, NULL, 5, 5, cuda_type, ON(a.dev), a.ld, NULL, WORK);
    REFUSED(api.Xgetrf, NULL, params, 5, 5, cuda_type, ON(a.dev), a.ld, NULL, WORK);
    REFUSED(api.Xgetrs, handle, params, 3, 5, 5, cuda_type, ON(a.dev), a.ld, NULL, cuda_type,
            ON(a.dev), a.ld, ON(work.info));
    REFUSED(api.Xsyevd, handle, params, VECTORS, LOWER, 5, cuda_type, ON(a.dev), a.ld,
            xg_type_is_complex(type) ? cuda_type : other, ON(a.dev), WORK);
}

/* What ends a test, each in a child process, which begins with the device closed. */
enum misuse { SMALL_WORK, SMALL_HOST, NO_INFO, SHORT_OPERAND, MISALIGNED, MISUSES };

static void misuse(enum misuse kind)
{
    size_t bytes = 8 * 25;
    struct columns a = random_hermitian(5, 10.0);
    columns_up(&a);
    api.Xgetrf_bufferSize(handle, params, 5, 5, cuda_type, ON(a.dev), a.ld, cuda_type,
                          &work.device_bytes, &work.host_bytes);
    CUdeviceptr operand = kind == SHORT_OPERAND ? columns_there(bytes - 1) : a.dev;
    work.device = columns_there(work.device_bytes + 1) + (kind == MISALIGNED);
    work.host = columns_here(work.host_bytes);
    work.device_bytes -= kind == SMALL_WORK;
    work.host_bytes -= kind == SMALL_HOST;
    if (kind == NO_INFO)
        work.info = 0;
    api.Xgetrf(handle, params, 5, 5, cuda_type, ON(operand), kind == SHORT_OPERAND ? 5 : a.ld, NULL,
               WORK);
}

/* False where there is no LAPACK. */
static bool must_abort(enum misuse kind)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(XT_HARD);
        signal(SIGABRT, SIG_DFL);
        choose(XG_TYPE_D);
        begin();
        misuse(kind);
        _exit(XT_PASS);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == XT_SKIP)
        return false;
    XT_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "misuse %d: status %d", (int)kind,
             status);
    return true;
}

/* --- The whole ------------------------------------------------------------------------------- */

static void test_handles(void)
{
    const int failure = CUSOLVER_STATUS_NOT_INITIALIZED;
    cusolverDnHandle_t other = NULL;
    cusolverDnParams_t others = NULL;
    CALL_AS("cusolverDnCreate", api.Create, failure, &other);
    CALL_AS("cusolverDnCreateParams", api.CreateParams, failure, &others);
    CALL_AS("cusolverDnSetStream", api.SetStream, failure, other, columns_all.stream);
    fake.reset(1);
    fake.fail("cusolverDnDestroy", 2, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    XT_CHECK(api.Destroy(other) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.DestroyParams(others) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(fake.calls("cusolverDnDestroy") == 1 && fake.calls("cusolverDnDestroyParams") == 1);
}

static void test_size(int n)
{
    for (int uplo = LOWER; uplo <= UPPER; uplo++) {
        test_cholesky(n, uplo);
        test_hermitian(n, uplo);
        test_triangle(n, uplo, 0);
        test_triangle(n, uplo, 1);
        test_gesvd(n, uplo);
        test_gesvdp(n + 4, n, uplo);
        test_gesvdp(n, n + 4, uplo);
        forget();
    }
    test_lu(n);
    test_qr(n);
    test_any_matrix(n);
    for (int itype = 1; itype <= 3; itype++)
        test_generalized(n, itype);
    forget();
}

/* The call that waits tells of it; later ones fail, and handles are given back all the same. */
static void test_lost(struct xg_dev *dev)
{
    struct columns a = random_matrix(5, 5), s = columns_zero(xg_type_real(type), 5, 1);
    struct columns u = random_matrix(5, 5), v = random_matrix(5, 5);
    double error = -1.0;
    columns_up(&a);
    columns_up(&s);
    columns_up(&u);
    columns_up(&v);
    COLUMNS_MUST(cuStreamSynchronize, columns_all.stream);
    ASK(Xgesvdp, NO_VECTORS, 1, 5, 5, cuda_type, ON(a.dev), a.ld, real_type, ON(s.dev), cuda_type,
        ON(u.dev), u.ld, cuda_type, ON(v.dev), v.ld);
    fake.reset(1);
    fake.fail("exec", 1, FX_CODE_LAUNCH_FAILED, FAKECUDA_ONCE);
    XT_CHECK(api.Xgesvdp(handle, params, NO_VECTORS, 1, 5, 5, cuda_type, ON(a.dev), a.ld, real_type,
                         ON(s.dev), cuda_type, ON(u.dev), u.ld, cuda_type, ON(v.dev), v.ld, WORK,
                         &error) == CUSOLVER_STATUS_EXECUTION_FAILED);
    XT_CHECK(error == -1.0);
    XT_CHECK(api.Xgetrf(handle, params, 5, 5, cuda_type, ON(a.dev), a.ld, NULL, WORK) ==
             CUSOLVER_STATUS_EXECUTION_FAILED);
    api.DestroyParams(params);
    api.Destroy(handle);
    while (columns_all.here_count)
        free(columns_all.here[--columns_all.here_count]);
    columns_all.drv->cuStreamDestroy(columns_all.stream);
    xg_dev_leave(dev);
    xg_dev_destroy(dev);
}

/* The names of BLAS and LAPACK by which LAPACK calls what this program interposes, as the library
 * under test does: the fake's own finds its own. */
#ifndef XG_SANITIZED
#define INTERPOSE(name)                                                                            \
    void name(void);                                                                               \
    __attribute__((visibility("default"))) void name(void)                                         \
    {                                                                                              \
        fprintf(stderr, "the fake cuSOLVER's LAPACK called an interposed " #name "\n");            \
        abort();                                                                                   \
    }
INTERPOSE(dgemm_)
INTERPOSE(dtrsm_)
INTERPOSE(dgemv_)
INTERPOSE(dtrmm_)
INTERPOSE(dgetrf_)
INTERPOSE(dpotrf_)
#endif

int main(void)
{
    static const int sizes[] = {1, 5, 37};
    fx_watchdog();
    load_all();
    for (int kind = 0; kind < MISUSES; kind++)
        if (!must_abort((enum misuse)kind))
            return xt_skip("no LAPACK");
    /* From here on as in a program that has a BLAS. */
    if (!dlopen(XG_DEFAULT_CPU_BLAS, RTLD_NOW | RTLD_LOCAL))
        return xt_skip("no BLAS");
    fake = fx_fake();
    struct xg_dev *dev = begin();
    test_handles();
    for (int i = 0; i < XG_TYPE_COUNT; i++) {
        choose((enum xg_type)i);
        for (int j = 0; j < 3; j++)
            test_size(sizes[j]);
        test_refused();
    }
    test_lost(dev);
    return xt_done();
}
