/* SPDX-License-Identifier: MIT */
/*
 * A fake libcusolver.so.12 on the fake driver: handles, and the functions that take any type. Each
 * of these is a call as data, of which one function asks the sizes of workspaces, and one is
 * queued.
 */
#include "cusolver.h"

#include <stdlib.h>
#include <string.h>

#include "solver.h"

struct cusolverDnParams {
    char unused;
};

/* --- Handles --------------------------------------------------------------------------------- */

static int status_of(CUresult result)
{
    return result == CUDA_SUCCESS               ? CUSOLVER_STATUS_SUCCESS
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CUSOLVER_STATUS_ALLOC_FAILED
                                                : CUSOLVER_STATUS_NOT_INITIALIZED;
}

int cusolverDnCreate(cusolverDnHandle_t *handle)
{
    bool lapack = solver_lapack_open();
    CUresult result = fake_enter("cusolverDnCreate", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS && !lapack)
        result = CUDA_ERROR_NOT_INITIALIZED;
    if (result == CUDA_SUCCESS && !(*handle = fake_make(sizeof(**handle))))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return status_of(fake_leave(result));
}

int cusolverDnDestroy(cusolverDnHandle_t handle)
{
    CUresult result = fake_enter("cusolverDnDestroy", FAKE_CONTEXT);
    if (fake_releases(result))
        free(handle);
    return status_of(fake_leave(result));
}

int cusolverDnSetStream(cusolverDnHandle_t handle, CUstream stream)
{
    CUresult result = fake_enter("cusolverDnSetStream", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS)
        handle->stream = stream;
    return status_of(fake_leave(result));
}

int cusolverDnCreateParams(cusolverDnParams_t *params)
{
    CUresult result = fake_enter("cusolverDnCreateParams", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS && !(*params = fake_make(sizeof(**params))))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return status_of(fake_leave(result));
}

int cusolverDnDestroyParams(cusolverDnParams_t params)
{
    CUresult result = fake_enter("cusolverDnDestroyParams", FAKE_CONTEXT);
    if (fake_releases(result))
        free(params);
    return status_of(fake_leave(result));
}

/* --- What all have in common ----------------------------------------------------------------- */

/* Of a matrix of m rows and n columns. */
static struct solver_call start(enum solver_routine routine, bool legal, int type, int64_t m,
                                int64_t n)
{
    return (struct solver_call){
        .routine = routine, .legal = legal, .type = solver_type(type), .m = m, .n = n};
}

static int real_of(int type)
{
    return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

static int64_t least(int64_t m, int64_t n)
{
    return m < n ? m : n;
}

static int ask(cusolverDnHandle_t handle, const char *name, struct solver_call call, size_t *device,
               size_t *host)
{
    call.name = name;
    return solver_sizes(handle, &call, device, host);
}

static int queue(cusolverDnHandle_t handle, const char *name, struct solver_call call, void *device,
                 size_t device_bytes, void *host, size_t host_bytes, int *info)
{
    call.name = name;
    call.work = device;
    call.work_bytes = device_bytes;
    call.host_work = host;
    call.host_bytes = host_bytes;
    call.info = info;
    return solver_queue(handle, &call);
}

#define ASK(call) ask(handle, __func__, call, device_bytes, host_bytes)
#define QUEUE(call) queue(handle, __func__, call, device, device_bytes, host, host_bytes, info)

/* --- Cholesky -------------------------------------------------------------------------------- */

int cusolverDnXpotrs(CUSOLVER_ANY, int uplo, int64_t n, int64_t nrhs, int type, const void *a,
                     int64_t lda, int type_b, void *b, int64_t ldb, int *info)
{
    struct solver_call call = start(SOLVER_POTRS, params && type_b == type, type, n, n);
    call.name = __func__;
    call.uplo = solver_letter("LU", uplo);
    call.k = nrhs;
    call.operands[SOLVER_A] = solver_input(a, n, n, lda, call.type);
    call.operands[SOLVER_B] = solver_matrix(b, n, nrhs, ldb, call.type);
    call.info = info;
    return solver_queue(handle, &call);
}

/* --- LU -------------------------------------------------------------------------------------- */

static struct solver_operand pivots_of(const int64_t *pivots, int64_t count)
{
    struct solver_operand operand = solver_vector(pivots, count, XG_TYPE_D);
    _Static_assert(sizeof(int64_t) == sizeof(double), "a pivot has the bytes of a double");
    if (!pivots)
        operand.bytes = 0;
    return operand;
}

static struct solver_call getrf(const void *params, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, const int64_t *pivots, int compute)
{
    struct solver_call call = start(SOLVER_GETRF, params && compute == type, type, m, n);
    call.operands[SOLVER_A] = solver_matrix(a, m, n, lda, call.type);
    call.operands[SOLVER_PIVOTS] = pivots_of(pivots, least(m, n));
    return call;
}

int cusolverDnXgetrf_bufferSize(CUSOLVER_ANY, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, CUSOLVER_SIZES)
{
    return ASK(getrf(params, m, n, type, a, lda, NULL, compute));
}

int cusolverDnXgetrf(CUSOLVER_ANY, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, CUSOLVER_WORK)
{
    return QUEUE(getrf(params, m, n, type, a, lda, pivots, compute));
}

int cusolverDnXgetrs(CUSOLVER_ANY, int trans, int64_t n, int64_t nrhs, int type, const void *a,
                     int64_t lda, const int64_t *pivots, int type_b, void *b, int64_t ldb,
                     int *info)
{
    struct solver_call call = start(SOLVER_GETRS, params && type_b == type, type, n, n);
    call.name = __func__;
    call.trans = solver_letter("NTC", trans);
    call.k = nrhs;
    call.operands[SOLVER_A] = solver_input(a, n, n, lda, call.type);
    call.operands[SOLVER_B] = solver_matrix(b, n, nrhs, ldb, call.type);
    call.operands[SOLVER_PIVOTS] = pivots_of(pivots, n);
    call.operands[SOLVER_PIVOTS].input = true;
    call.info = info;
    return solver_queue(handle, &call);
}

/* --- QR -------------------------------------------------------------------------------------- */

static struct solver_call geqrf(const void *params, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int type_tau, const void *tau, int compute)
{
    bool legal = params && compute == type && type_tau == type;
    struct solver_call call = start(SOLVER_GEQRF, legal, type, m, n);
    call.operands[SOLVER_A] = solver_matrix(a, m, n, lda, call.type);
    call.operands[SOLVER_VECTOR] = solver_vector(tau, least(m, n), call.type);
    return call;
}

int cusolverDnXgeqrf_bufferSize(CUSOLVER_ANY, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int type_tau, const void *tau, CUSOLVER_SIZES)
{
    return ASK(geqrf(params, m, n, type, a, lda, type_tau, tau, compute));
}

int cusolverDnXgeqrf(CUSOLVER_ANY, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int type_tau, void *tau, CUSOLVER_WORK)
{
    return QUEUE(geqrf(params, m, n, type, a, lda, type_tau, tau, compute));
}

/* --- Eigenvalues ----------------------------------------------------------------------------- */

static struct solver_call syevd(const void *params, int job, int uplo, int64_t n, int type,
                                const void *a, int64_t lda, int type_w, const void *w, int compute)
{
    bool legal = params && compute == type && type_w == real_of(type);
    struct solver_call call = start(SOLVER_SYEVD, legal, type, n, n);
    call.job = solver_letter("NV", job);
    call.uplo = solver_letter("LU", uplo);
    call.operands[SOLVER_A] = solver_matrix(a, n, n, lda, call.type);
    call.operands[SOLVER_VECTOR] = solver_vector(w, n, solver_type(type_w));
    return call;
}

int cusolverDnXsyevd_bufferSize(CUSOLVER_ANY, int job, int uplo, int64_t n, int type, const void *a,
                                int64_t lda, int type_w, const void *w, CUSOLVER_SIZES)
{
    return ASK(syevd(params, job, uplo, n, type, a, lda, type_w, w, compute));
}

int cusolverDnXsyevd(CUSOLVER_ANY, int job, int uplo, int64_t n, int type, void *a, int64_t lda,
                     int type_w, void *w, CUSOLVER_WORK)
{
    return QUEUE(syevd(params, job, uplo, n, type, a, lda, type_w, w, compute));
}

/* The values of a real matrix: 2 n numbers, or n complex ones. Its vectors are LAPACK's: a pair of
 * columns is the real and the imaginary part. */
static struct solver_call geev(const void *params, int job_vl, int job_vr, int64_t n, int type,
                               const void *a, int64_t lda, int type_w, const void *w, int type_vl,
                               int type_vr, const void *vr, int64_t ldvr, int compute)
{
    bool mixed = type_w != type && type == real_of(type_w);
    bool legal = params && compute == type && (mixed || type_w == type) && type_vl == type &&
                 type_vr == type;
    struct solver_call call = start(SOLVER_GEEV, legal, type, n, n);
    call.job = solver_letter("NV", job_vl);
    call.job_v = solver_letter("NV", job_vr);
    call.complex_values = mixed;
    call.operands[SOLVER_A] = solver_matrix(a, n, n, lda, call.type);
    call.operands[SOLVER_VECTOR] =
        solver_vector(w, type_w == real_of(type_w) ? 2 * n : n, solver_type(type_w));
    if (call.job_v == 'V')
        call.operands[SOLVER_V] = solver_matrix(vr, n, n, ldvr, call.type);
    return call;
}

int cusolverDnXgeev_bufferSize(CUSOLVER_ANY, int job_vl, int job_vr, int64_t n, int type,
                               const void *a, int64_t lda, int type_w, const void *w, int type_vl,
                               const void *vl, int64_t ldvl, int type_vr, const void *vr,
                               int64_t ldvr, CUSOLVER_SIZES)
{
    (void)vl;
    (void)ldvl;
    return ASK(geev(params, job_vl, job_vr, n, type, a, lda, type_w, w, type_vl, type_vr, vr, ldvr,
                    compute));
}

int cusolverDnXgeev(CUSOLVER_ANY, int job_vl, int job_vr, int64_t n, int type, void *a, int64_t lda,
                    int type_w, void *w, int type_vl, void *vl, int64_t ldvl, int type_vr, void *vr,
                    int64_t ldvr, CUSOLVER_WORK)
{
    (void)vl;
    (void)ldvl;
    return QUEUE(geev(params, job_vl, job_vr, n, type, a, lda, type_w, w, type_vl, type_vr, vr,
                      ldvr, compute));
}

/* --- Singular values ------------------------------------------------------------------------- */

static char job_letter(signed char job)
{
    return job && strchr("ASON", job) ? (char)job : (char)SOLVER_ILLEGAL;
}

/* S, U, and VT or V; without columns, or rows, the caller does not want it. */
static void put_vectors(struct solver_call *call, const void *s, const void *u, int64_t u_columns,
                        int64_t ldu, struct solver_operand v)
{
    call->operands[SOLVER_VECTOR] =
        solver_vector(s, least(call->m, call->n), xg_type_real(call->type));
    if (u_columns)
        call->operands[SOLVER_U] = solver_matrix(u, call->m, u_columns, ldu, call->type);
    if (v.rows)
        call->operands[SOLVER_V] = v;
}

static struct solver_call gesvd(const void *params, signed char job_u, signed char job_vt,
                                int64_t m, int64_t n, int type, const void *a, int64_t lda,
                                int type_s, const void *s, int type_u, const void *u, int64_t ldu,
                                int type_vt, const void *vt, int64_t ldvt, int compute)
{
    bool legal =
        params && compute == type && type_s == real_of(type) && type_u == type && type_vt == type;
    struct solver_call call = start(SOLVER_GESVD, legal, type, m, n);
    call.job = job_letter(job_u);
    call.job_v = job_letter(job_vt);
    call.operands[SOLVER_A] = solver_matrix(a, m, n, lda, call.type);
    int64_t u_columns = job_u == 'A' ? m : job_u == 'S' ? least(m, n) : 0;
    int64_t v_rows = job_vt == 'A' ? n : job_vt == 'S' ? least(m, n) : 0;
    put_vectors(&call, s, u, u_columns, ldu, solver_matrix(vt, v_rows, n, ldvt, call.type));
    return call;
}

int cusolverDnXgesvd_bufferSize(CUSOLVER_ANY, signed char job_u, signed char job_vt, int64_t m,
                                int64_t n, int type, const void *a, int64_t lda, int type_s,
                                const void *s, int type_u, const void *u, int64_t ldu, int type_vt,
                                const void *vt, int64_t ldvt, CUSOLVER_SIZES)
{
    return ASK(gesvd(params, job_u, job_vt, m, n, type, a, lda, type_s, s, type_u, u, ldu, type_vt,
                     vt, ldvt, compute));
}

int cusolverDnXgesvd(CUSOLVER_ANY, signed char job_u, signed char job_vt, int64_t m, int64_t n,
                     int type, void *a, int64_t lda, int type_s, void *s, int type_u, void *u,
                     int64_t ldu, int type_vt, void *vt, int64_t ldvt, CUSOLVER_WORK)
{
    return QUEUE(gesvd(params, job_u, job_vt, m, n, type, a, lda, type_s, s, type_u, u, ldu,
                       type_vt, vt, ldvt, compute));
}

static struct solver_call gesvdp(const void *params, int job, int econ, int64_t m, int64_t n,
                                 int type, const void *a, int64_t lda, int type_s, const void *s,
                                 int type_u, const void *u, int64_t ldu, int type_v, const void *v,
                                 int64_t ldv, int compute)
{
    bool legal = params && compute == type && type_s == real_of(type) && type_u == type &&
                 type_v == type && (econ == 0 || econ == 1);
    struct solver_call call = start(SOLVER_GESVDP, legal, type, m, n);
    call.job = solver_letter("NV", job);
    call.econ = econ;
    call.operands[SOLVER_A] = solver_matrix(a, m, n, lda, call.type);
    int64_t u_columns = econ ? least(m, n) : m, v_columns = econ ? least(m, n) : n;
    put_vectors(&call, s, u, u_columns, ldu, solver_matrix(v, n, v_columns, ldv, call.type));
    return call;
}

int cusolverDnXgesvdp_bufferSize(CUSOLVER_ANY, int job, int econ, int64_t m, int64_t n, int type,
                                 const void *a, int64_t lda, int type_s, const void *s, int type_u,
                                 const void *u, int64_t ldu, int type_v, const void *v, int64_t ldv,
                                 CUSOLVER_SIZES)
{
    return ASK(gesvdp(params, job, econ, m, n, type, a, lda, type_s, s, type_u, u, ldu, type_v, v,
                      ldv, compute));
}

int cusolverDnXgesvdp(CUSOLVER_ANY, int job, int econ, int64_t m, int64_t n, int type, void *a,
                      int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu,
                      int type_v, void *v, int64_t ldv, CUSOLVER_WORK, double *err_sigma)
{
    struct solver_call call = gesvdp(params, job, econ, m, n, type, a, lda, type_s, s, type_u, u,
                                     ldu, type_v, v, ldv, compute);
    call.legal = call.legal && err_sigma;
    call.err_sigma = err_sigma;
    return QUEUE(call);
}

/* --- Triangles ------------------------------------------------------------------------------- */

static struct solver_call trtri(int uplo, int diag, int64_t n, int type, const void *a, int64_t lda)
{
    struct solver_call call = start(SOLVER_TRTRI, true, type, n, n);
    call.uplo = solver_letter("LU", uplo);
    call.diag = solver_letter("NU", diag);
    call.operands[SOLVER_A] = solver_matrix(a, n, n, lda, call.type);
    return call;
}

int cusolverDnXtrtri_bufferSize(cusolverDnHandle_t handle, int uplo, int diag, int64_t n, int type,
                                void *a, int64_t lda, size_t *device_bytes, size_t *host_bytes)
{
    return ASK(trtri(uplo, diag, n, type, a, lda));
}

int cusolverDnXtrtri(cusolverDnHandle_t handle, int uplo, int diag, int64_t n, int type, void *a,
                     int64_t lda, void *device, size_t device_bytes, void *host, size_t host_bytes,
                     int *info)
{
    return QUEUE(trtri(uplo, diag, n, type, a, lda));
}
