/* SPDX-License-Identifier: MIT */
/* Computes the fake cuSOLVER's calls by a reference LAPACK, on the thread that executes streams. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver.h"
#include "tests/support/one_thread.h"
#include "tests/support/typed.h"

/* A call in LAPACK's terms. real: the numbers are real, and the routine has fewer parameters. */
struct lapack {
    const struct solver_call *call;
    solver_function function;
    bool real;
    int m, n, k, lda, ldb, ldu, ldv, info;
    void *a, *b, *u, *v, *vector;
    void *work, *rwork;
    int lwork, lrwork, liwork, *iwork, *pivots;
};

/* OpenBLAS 0.3.21's cgemv_n and zgemv_n for AVX-512 read up to a page past the end of operands. */
static void *allocate(size_t count, size_t bytes)
{
    enum { SPARE_BYTES = 4096 };
    void *memory = calloc(1, count * bytes + SPARE_BYTES);
    if (!memory)
        fake_abort("no memory for LAPACK");
    return memory;
}

/* --- Elements -------------------------------------------------------------------------------- */

static double _Complex get(const struct lapack *l, const void *data, int64_t i)
{
    return xt_complex_get(l->call->type, data, i);
}

static void set(const struct lapack *l, void *data, int64_t i, double _Complex value)
{
    xt_complex_set(l->call->type, data, i, value);
}

static double get_real(const struct lapack *l, const void *data, int64_t i)
{
    return xt_get(xg_type_real(l->call->type), data, i);
}

static bool finite_matrix(const struct lapack *l)
{
    for (int64_t j = 0; j < l->n; j++)
        for (int64_t i = 0; i < l->m; i++) {
            double _Complex x = get(l, l->a, i + j * l->lda);
            if (!isfinite(creal(x)) || !isfinite(cimag(x)))
                return false;
        }
    return true;
}

/* --- Factorizations -------------------------------------------------------------------------- */

typedef const char *letter;
typedef const int *number;

static void run_uplo(struct lapack *l)
{
    ((void (*)(letter, number, void *, number, int *, size_t))l->function)(
        &l->call->uplo, &l->n, l->a, &l->lda, &l->info, 1);
}

static void run_potrs(struct lapack *l)
{
    ((void (*)(letter, number, number, const void *, number, void *, number, int *,
               size_t))l->function)(&l->call->uplo, &l->n, &l->k, l->a, &l->lda, l->b, &l->ldb,
                                    &l->info, 1);
}

static void run_trtri(struct lapack *l)
{
    ((void (*)(letter, letter, number, void *, number, int *, size_t, size_t))l->function)(
        &l->call->uplo, &l->call->diag, &l->n, l->a, &l->lda, &l->info, 1, 1);
}

/* LU without pivoting, which LAPACK lacks. */
static void factor_as_is(struct lapack *l)
{
    const int64_t ld = l->lda, least = l->m < l->n ? l->m : l->n;
    for (int64_t k = 0; k < least; k++) {
        double _Complex pivot = get(l, l->a, k + k * ld);
        if (pivot == 0.0) {
            l->info = l->info ? l->info : (int)k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < l->m; i++)
            set(l, l->a, i + k * ld, get(l, l->a, i + k * ld) / pivot);
        for (int64_t j = k + 1; j < l->n; j++)
            for (int64_t i = k + 1; i < l->m; i++)
                set(l, l->a, i + j * ld,
                    get(l, l->a, i + j * ld) - get(l, l->a, i + k * ld) * get(l, l->a, k + j * ld));
    }
}

static void run_getrf(struct lapack *l)
{
    const struct solver_operand *pivots = &l->call->operands[SOLVER_PIVOTS];
    if (!pivots->bytes) {
        factor_as_is(l);
        return;
    }
    ((void (*)(number, number, void *, number, int *, int *))l->function)(
        &l->m, &l->n, l->a, &l->lda, l->pivots, &l->info);
    for (int64_t i = 0; i < pivots->rows; i++)
        ((int64_t *)pivots->data)[i] = l->pivots[i];
}

/* Solves with these factors like reference BLAS, which does not divide an element that is 0, not
 * even by 0. The real one may do the same. */
static void solve_as_is(struct lapack *l)
{
    for (int64_t j = 0; j < l->k; j++)
        for (int64_t step = 0; step < 2 * l->n; step++) {
            const bool upper = step >= l->n;
            const int64_t k = upper ? 2 * l->n - 1 - step : step, at = k + j * l->ldb;
            if (get(l, l->b, at) == 0.0)
                continue;
            if (upper)
                set(l, l->b, at, get(l, l->b, at) / get(l, l->a, k + k * l->lda));
            for (int64_t i = upper ? 0 : k + 1; i < (upper ? k : l->n); i++)
                set(l, l->b, i + j * l->ldb,
                    get(l, l->b, i + j * l->ldb) - get(l, l->a, i + k * l->lda) * get(l, l->b, at));
        }
}

static void run_getrs(struct lapack *l)
{
    const struct solver_operand *pivots = &l->call->operands[SOLVER_PIVOTS];
    if (!pivots->bytes && l->call->trans == 'N') {
        solve_as_is(l);
        return;
    }
    for (int i = 0; i < l->n; i++) {
        int64_t row = pivots->bytes ? ((const int64_t *)pivots->data)[i] : i + 1;
        if (row < i + 1 || row > l->n)
            fake_abort("%s: pivot %d is %lld", l->call->name, i + 1, (long long)row);
        l->pivots[i] = (int)row;
    }
    ((void (*)(letter, number, number, const void *, number, number, void *, number, int *,
               size_t))l->function)(&l->call->trans, &l->n, &l->k, l->a, &l->lda, l->pivots, l->b,
                                    &l->ldb, &l->info, 1);
}

static void run_geqrf(struct lapack *l)
{
    ((void (*)(number, number, void *, number, void *, void *, number, int *))l->function)(
        &l->m, &l->n, l->a, &l->lda, l->vector, l->work, &l->lwork, &l->info);
}

static void run_orgqr(struct lapack *l)
{
    ((void (*)(number, number, number, void *, number, const void *, void *, number,
               int *))l->function)(&l->m, &l->n, &l->k, l->a, &l->lda, l->vector, l->work,
                                   &l->lwork, &l->info);
}

static void run_ormqr(struct lapack *l)
{
    ((void (*)(letter, letter, number, number, number, void *, number, const void *, void *, number,
               void *, number, int *, size_t, size_t))l->function)(
        &l->call->side, &l->call->trans, &l->m, &l->n, &l->k, l->a, &l->lda, l->vector, l->b,
        &l->ldb, l->work, &l->lwork, &l->info, 1, 1);
}

/* --- Eigenvalues ----------------------------------------------------------------------------- */

static void run_syevd(struct lapack *l)
{
    const char *job = &l->call->job, *uplo = &l->call->uplo;
    if (l->real)
        ((void (*)(letter, letter, number, void *, number, void *, void *, number, int *, number,
                   int *, size_t, size_t))l->function)(job, uplo, &l->n, l->a, &l->lda, l->vector,
                                                       l->work, &l->lwork, l->iwork, &l->liwork,
                                                       &l->info, 1, 1);
    else
        ((void (*)(letter, letter, number, void *, number, void *, void *, number, void *, number,
                   int *, number, int *, size_t, size_t))l->function)(
            job, uplo, &l->n, l->a, &l->lda, l->vector, l->work, &l->lwork, l->rwork, &l->lrwork,
            l->iwork, &l->liwork, &l->info, 1, 1);
}

static void run_sygvd(struct lapack *l)
{
    const char *job = &l->call->job, *uplo = &l->call->uplo;
    const int *itype = &l->call->itype;
    if (l->real)
        ((void (*)(number, letter, letter, number, void *, number, void *, number, void *, void *,
                   number, int *, number, int *, size_t, size_t))l->function)(
            itype, job, uplo, &l->n, l->a, &l->lda, l->b, &l->ldb, l->vector, l->work, &l->lwork,
            l->iwork, &l->liwork, &l->info, 1, 1);
    else
        ((void (*)(number, letter, letter, number, void *, number, void *, number, void *, void *,
                   number, void *, number, int *, number, int *, size_t, size_t))l->function)(
            itype, job, uplo, &l->n, l->a, &l->lda, l->b, &l->ldb, l->vector, l->work, &l->lwork,
            l->rwork, &l->lrwork, l->iwork, &l->liwork, &l->info, 1, 1);
}

/* W of a real matrix: real parts, then imaginary parts; or complex numbers. */
static void run_geev_real(struct lapack *l)
{
    const size_t bytes = xg_type_bytes(l->call->type);
    const int one = 1;
    char *values = l->call->complex_values ? allocate(2 * (size_t)l->n, bytes) : l->vector;
    ((void (*)(letter, letter, number, void *, number, void *, void *, void *, number, void *,
               number, void *, number, int *, size_t, size_t))l->function)(
        &l->call->job, &l->call->job_v, &l->n, l->a, &l->lda, values, values + (size_t)l->n * bytes,
        NULL, &one, l->v, &l->ldv, l->work, &l->lwork, &l->info, 1, 1);
    if (!l->call->complex_values)
        return;
    for (int64_t i = 0; i < 2 * l->n; i++)
        memcpy((char *)l->vector + (size_t)i * bytes,
               values + (size_t)(i / 2 + (i % 2 ? l->n : 0)) * bytes, bytes);
    free(values);
}

static void run_geev(struct lapack *l)
{
    const int one = 1;
    if (l->real)
        run_geev_real(l);
    else
        ((void (*)(letter, letter, number, void *, number, void *, void *, number, void *, number,
                   void *, number, void *, int *, size_t, size_t))l->function)(
            &l->call->job, &l->call->job_v, &l->n, l->a, &l->lda, l->vector, NULL, &one, l->v,
            &l->ldv, l->work, &l->lwork, l->rwork, &l->info, 1, 1);
}

/* --- Singular values ------------------------------------------------------------------------- */

static void call_gesvd(struct lapack *l, letter job_u, letter job_vt, void *vt, number ldvt)
{
    if (l->real)
        ((void (*)(letter, letter, number, number, void *, number, void *, void *, number, void *,
                   number, void *, number, int *, size_t, size_t))l->function)(
            job_u, job_vt, &l->m, &l->n, l->a, &l->lda, l->vector, l->u, &l->ldu, vt, ldvt, l->work,
            &l->lwork, &l->info, 1, 1);
    else
        ((void (*)(letter, letter, number, number, void *, number, void *, void *, number, void *,
                   number, void *, number, void *, int *, size_t, size_t))l->function)(
            job_u, job_vt, &l->m, &l->n, l->a, &l->lda, l->vector, l->u, &l->ldu, vt, ldvt, l->work,
            &l->lwork, l->rwork, &l->info, 1, 1);
}

/* The real one did not return within minutes for a matrix of 1024 with a NaN. */
static void run_gesvd(struct lapack *l)
{
    if (!finite_matrix(l))
        fake_abort("%s: with a NaN or an infinity it may never end", l->call->name);
    call_gesvd(l, &l->call->job, &l->call->job_v, l->v, &l->ldv);
}

/* The real one is right unless the matrix nearly has a lower rank. Then it reports a positive
 * error, and it has no result for a NaN. It returns V, not its conjugate transpose, and uses the
 * memory of U and V even if the caller does not want them. */
static void run_gesvdp(struct lapack *l)
{
    const double nearly = xg_type_is_double(l->call->type) ? 1e-10 : 1e-5;
    const char job = l->call->job == 'N' ? 'N' : l->call->econ ? 'S' : 'A';
    const int least = l->m < l->n ? l->m : l->n, rows = job == 'A' ? l->n : least;
    if (!finite_matrix(l)) {
        *l->call->status = CUSOLVER_STATUS_EXECUTION_FAILED;
        return;
    }
    void *vt = allocate((size_t)rows * (size_t)l->n, xg_type_bytes(l->call->type));
    call_gesvd(l, &job, &job, vt, &rows);
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < l->n; i++)
            set(l, l->v, i + j * l->ldv, job == 'N' ? NAN : conj(get(l, vt, j + i * rows)));
    for (int64_t j = 0; job == 'N' && j < rows; j++)
        for (int64_t i = 0; i < l->m; i++)
            set(l, l->u, i + j * l->ldu, NAN);
    free(vt);
    bool wrong = get_real(l, l->vector, least - 1) <= nearly * get_real(l, l->vector, 0);
    *l->call->err_sigma = wrong ? 1e-12 : 0.0;
    if (wrong && job != 'N')
        set(l, l->u, 0, get(l, l->u, 0) + 1e-3);
}

/* --- A call ---------------------------------------------------------------------------------- */

static void (*const runs[SOLVER_ROUTINES])(struct lapack *l) = {
    [SOLVER_POTRF] = run_uplo,  [SOLVER_POTRS] = run_potrs, [SOLVER_POTRI] = run_uplo,
    [SOLVER_GETRF] = run_getrf, [SOLVER_GETRS] = run_getrs, [SOLVER_GEQRF] = run_geqrf,
    [SOLVER_ORGQR] = run_orgqr, [SOLVER_ORMQR] = run_ormqr, [SOLVER_SYEVD] = run_syevd,
    [SOLVER_SYGVD] = run_sygvd, [SOLVER_GESVD] = run_gesvd, [SOLVER_GESVDP] = run_gesvdp,
    [SOLVER_GEEV] = run_geev,   [SOLVER_TRTRI] = run_trtri,
};

/* Enough for every routine: symmetric eigenvalues need two squares. */
static void allocate_work(struct lapack *l)
{
    enum { BLOCK = 64, REFLECTORS = 65 * 64 };
    const bool square = l->call->routine == SOLVER_SYEVD || l->call->routine == SOLVER_SYGVD;
    const int64_t n = l->n, elems = (square ? 2 * n * n : 0) + BLOCK * (l->m + n) + REFLECTORS;
    const size_t bytes = xg_type_bytes(l->call->type);
    l->lwork = l->lrwork = (int)elems;
    l->liwork = 3 + 5 * l->n;
    l->work = allocate((size_t)elems, bytes);
    l->rwork = allocate((size_t)elems, bytes);
    l->iwork = allocate((size_t)l->liwork, sizeof(int));
    l->pivots = allocate((size_t)(l->m > l->n ? l->m : l->n), sizeof(int));
}

/* Reports the operands to the thread sanitizer, for which LAPACK is not built. */
static void tell(const struct solver_call *call)
{
    for (int i = 0; i < SOLVER_OPERANDS; i++) {
        const struct solver_operand *x = &call->operands[i];
        for (int64_t j = 0; x->bytes && j < x->columns; j++) {
            char *column = (char *)x->data + (size_t)(j * x->ld) * x->bytes;
            if (x->input)
                XT_TELL_READ(column, (size_t)x->rows * x->bytes);
            else
                XT_TELL_WRITE(column, (size_t)x->rows * x->bytes);
        }
    }
}

/* These bytes are NaN in every type, so that an operand in a workspace shows. */
static void scribble(const struct solver_call *call)
{
    if (call->work_bytes)
        memset(call->work, 0xff, call->work_bytes);
    if (call->host_bytes)
        memset(call->host_work, 0xff, call->host_bytes);
}

/* Inverts a bit of one element of the first operand that the call writes; in the upper half of a
 * double. */
static void flip(const struct solver_call *call)
{
    const struct solver_operand *x = call->operands;
    int64_t i, j;
    while (x->input || !x->bytes)
        x++;
    CUresult bit = fakecuda_flip(x->rows, x->columns, &i, &j);
    if (bit == CUDA_SUCCESS)
        return;
    if (x == call->operands && call->uplo && (call->uplo == 'L') == (i < j)) {
        const int64_t kept = i;
        i = j;
        j = kept;
    }
    const bool wide = xg_type_is_double(call->type);
    uint32_t word;
    char *at = (char *)x->data + (size_t)(j * x->ld + i) * x->bytes + (wide ? sizeof word : 0);
    memcpy(&word, at, sizeof word);
    word ^= 1u << bit;
    memcpy(at, &word, sizeof word);
}

void solver_run(void *data)
{
    const struct solver_call *call = data;
    const struct solver_operand *operands = call->operands;
    struct lapack l = {.call = call,
                       .function = solver_lapack(call->routine, call->type),
                       .real = !xg_type_is_complex(call->type),
                       .m = (int)call->m,
                       .n = (int)call->n,
                       .k = (int)call->k,
                       .lda = (int)operands[SOLVER_A].ld,
                       .ldb = (int)operands[SOLVER_B].ld,
                       .ldu = operands[SOLVER_U].bytes ? (int)operands[SOLVER_U].ld : 1,
                       .ldv = operands[SOLVER_V].bytes ? (int)operands[SOLVER_V].ld : 1,
                       .a = operands[SOLVER_A].data,
                       .b = operands[SOLVER_B].data,
                       .u = operands[SOLVER_U].data,
                       .v = operands[SOLVER_V].data,
                       .vector = operands[SOLVER_VECTOR].data};
    scribble(call);
    tell(call);
    allocate_work(&l);
    runs[call->routine](&l);
    free(l.work);
    free(l.rwork);
    free(l.iwork);
    free(l.pivots);
    scribble(call);
    flip(call);
    *call->info = l.info;
}
