/* SPDX-License-Identifier: MIT */
/*
 * A fake libcusolver.so.12 on the fake driver: handles, and the functions of each routine. A
 * routine has a pair of functions: one returns the sizes of its workspaces, the other queues the
 * call. Both state their arguments as data.
 */
#include "cusolver.h"

#include <stdlib.h>
#include <string.h>

#include "solver.h"

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams {
    char unused;
} * cusolverDnParams_t;

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

/* --- Pairs of functions ---------------------------------------------------------------------- */

/* The first and the last parameters of functions of any type. */
#define ANY cusolverDnHandle_t handle, cusolverDnParams_t params
#define SIZES int compute, size_t *device_bytes, size_t *host_bytes
#define WORK                                                                                       \
    int compute, void *device, size_t device_bytes, void *host, size_t host_bytes, int *info
#define UNPACK(...) __VA_ARGS__

/* Each defines one function. The arguments after the parameters initialize a struct solver_call. */
#define DEFINE_SIZES(function, parameters, ...)                                                    \
    int cusolverDn##function##_bufferSize parameters                                               \
    {                                                                                              \
        const struct solver_call call = {.name = __func__, __VA_ARGS__};                           \
        return solver_sizes(handle, &call, device_bytes, host_bytes);                              \
    }
#define DEFINE_CALL(function, parameters, ...)                                                     \
    int cusolverDn##function parameters                                                            \
    {                                                                                              \
        const struct solver_call call = {.name = __func__,                                         \
                                         .work = device,                                           \
                                         .work_bytes = device_bytes,                               \
                                         .host_work = host,                                        \
                                         .host_bytes = host_bytes,                                 \
                                         .info = info,                                             \
                                         __VA_ARGS__};                                             \
        return solver_queue(handle, &call);                                                        \
    }

/* Defines the pair of functions for any type. */
#define DEFINE_PAIR(function, parameters, ...)                                                     \
    DEFINE_SIZES(function, (ANY, UNPACK parameters, SIZES), __VA_ARGS__)                           \
    DEFINE_CALL(function, (ANY, UNPACK parameters, WORK), __VA_ARGS__)

/* Defines the pair for one type, which CUDA calls `cuda`. Sizes are int, and workspaces are counted
 * in elements. */
#define DEFINE_TYPED(function, cuda, parameters, ...)                                              \
    int cusolverDn##function##_bufferSize(cusolverDnHandle_t handle, UNPACK parameters,            \
                                          int *lwork)                                              \
    {                                                                                              \
        const int type = cuda;                                                                     \
        const struct solver_call call = {                                                          \
            .name = __func__, .legal = true, .typed = true, __VA_ARGS__};                          \
        return solver_lwork(handle, &call, lwork);                                                 \
    }                                                                                              \
    int cusolverDn##function(cusolverDnHandle_t handle, UNPACK parameters, void *work, int lwork,  \
                             int *info)                                                            \
    {                                                                                              \
        const int type = cuda;                                                                     \
        const struct solver_call call = {.name = __func__,                                         \
                                         .legal = true,                                            \
                                         .typed = true,                                            \
                                         .work = work,                                             \
                                         .work_bytes = (size_t)(lwork > 0 ? lwork : 0) *           \
                                                       xg_type_bytes(solver_type(type)),           \
                                         .info = info,                                             \
                                         __VA_ARGS__};                                             \
        return solver_queue(handle, &call);                                                        \
    }

/* --- Initializers ---------------------------------------------------------------------------- */

#define ROUTINE(name, rows, columns)                                                               \
    .routine = SOLVER_##name, .type = solver_type(type), .m = (rows), .n = (columns)
#define UPLO .uplo = solver_letter("LU", uplo)
#define MATRIX(data, rows, columns, ld) solver_matrix(data, rows, columns, ld, solver_type(type))
#define INPUT(data, rows, columns, ld) solver_input(data, rows, columns, ld, solver_type(type))
#define A(rows, columns) .operands[SOLVER_A] = MATRIX(a, rows, columns, lda)
#define B(columns) .operands[SOLVER_B] = MATRIX(b, n, columns, ldb)
#define VECTOR(data, count, type) .operands[SOLVER_VECTOR] = solver_vector(data, count, type)
#define TAU .operands[SOLVER_VECTOR] = solver_input(tau, k, 1, k > 0 ? k : 1, solver_type(type))
#define PIVOTS(count, input) .operands[SOLVER_PIVOTS] = pivots_of(pivots, count, input)
#define NONE ((struct solver_operand){0})

static int real_of(int type)
{
    return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

static int64_t least(int64_t m, int64_t n)
{
    return m < n ? m : n;
}

static struct solver_operand pivots_of(const int64_t *pivots, int64_t count, bool input)
{
    struct solver_operand operand = solver_vector(pivots, count, XG_TYPE_D);
    _Static_assert(sizeof(int64_t) == sizeof(double), "a pivot has the bytes of a double");
    operand.input = input;
    return pivots ? operand : NONE;
}

static char job_letter(signed char job)
{
    return job && strchr("ASON", job) ? (char)job : (char)SOLVER_ILLEGAL;
}

/* The columns of U, or the rows of VT, which a job of GESVD stores in a matrix of their own. */
static int64_t columns_of(signed char job, int64_t all, int64_t some)
{
    return job == 'A' ? all : job == 'S' ? some : 0;
}

static struct solver_operand wanted(struct solver_operand operand)
{
    return operand.rows && operand.columns ? operand : NONE;
}

/* --- Functions of any type ------------------------------------------------------------------- */

int cusolverDnXpotrs(ANY, int uplo, int64_t n, int64_t nrhs, int type, const void *a, int64_t lda,
                     int type_b, void *b, int64_t ldb, int *info)
{
    const struct solver_call call = {.name = __func__,
                                     ROUTINE(POTRS, n, n),
                                     .legal = params && type_b == type,
                                     .k = nrhs,
                                     UPLO,
                                     .operands[SOLVER_A] = INPUT(a, n, n, lda),
                                     B(nrhs),
                                     .info = info};
    return solver_queue(handle, &call);
}

#define GETRF .legal = params && compute == type, ROUTINE(GETRF, m, n), A(m, n)
DEFINE_SIZES(Xgetrf, (ANY, int64_t m, int64_t n, int type, const void *a, int64_t lda, SIZES),
             GETRF)
DEFINE_CALL(Xgetrf,
            (ANY, int64_t m, int64_t n, int type, void *a, int64_t lda, int64_t *pivots, WORK),
            GETRF, PIVOTS(least(m, n), false))

int cusolverDnXgetrs(ANY, int trans, int64_t n, int64_t nrhs, int type, const void *a, int64_t lda,
                     const int64_t *pivots, int type_b, void *b, int64_t ldb, int *info)
{
    const struct solver_call call = {.name = __func__,
                                     ROUTINE(GETRS, n, n),
                                     .legal = params && type_b == type,
                                     .k = nrhs,
                                     .trans = solver_letter("NTC", trans),
                                     .operands[SOLVER_A] = INPUT(a, n, n, lda),
                                     B(nrhs),
                                     PIVOTS(n, true),
                                     .info = info};
    return solver_queue(handle, &call);
}

DEFINE_PAIR(Xgeqrf, (int64_t m, int64_t n, int type, void *a, int64_t lda, int type_tau, void *tau),
            .legal = params && compute == type && type_tau == type, ROUTINE(GEQRF, m, n), A(m, n),
            VECTOR(tau, least(m, n), solver_type(type)))

DEFINE_PAIR(Xsyevd,
            (int job, int uplo, int64_t n, int type, void *a, int64_t lda, int type_w, void *w),
            .legal = params && compute == type && type_w == real_of(type), ROUTINE(SYEVD, n, n),
            .job = solver_letter("NV", job), UPLO, A(n, n), VECTOR(w, n, solver_type(type_w)))

/* The values of a real matrix are 2 n numbers, or n complex ones. Its vectors are stored as LAPACK
 * stores them: a pair of columns is the real and the imaginary part. */
DEFINE_PAIR(Xgeev,
            (int job_vl, int job_vr, int64_t n, int type, void *a, int64_t lda, int type_w, void *w,
             int type_vl, void *vl, int64_t ldvl, int type_vr, void *vr, int64_t ldvr),
            .legal = params && compute == type && (type_w == type || type == real_of(type_w)) &&
                     type_vl == type && type_vr == type,
            ROUTINE(GEEV, n, n), .job = solver_letter("NV", job_vl),
            .job_v = solver_letter("NV", job_vr),
            .complex_values = type_w != type && type == real_of(type_w), A(n, n),
            VECTOR(w, type_w == real_of(type_w) ? 2 * n : n, solver_type(type_w)),
            .operands[SOLVER_U] = job_vl == 1 ? MATRIX(vl, n, n, ldvl) : NONE,
            .operands[SOLVER_V] = job_vr == 1 ? MATRIX(vr, n, n, ldvr) : NONE)

DEFINE_PAIR(Xgesvd,
            (signed char job_u, signed char job_vt, int64_t m, int64_t n, int type, void *a,
             int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu, int type_vt,
             void *vt, int64_t ldvt),
            .legal = params && compute == type && type_s == real_of(type) && type_u == type &&
                     type_vt == type,
            ROUTINE(GESVD, m, n), .job = job_letter(job_u), .job_v = job_letter(job_vt), A(m, n),
            VECTOR(s, least(m, n), solver_type(type_s)),
            .operands[SOLVER_U] = wanted(MATRIX(u, m, columns_of(job_u, m, least(m, n)), ldu)),
            .operands[SOLVER_V] = wanted(MATRIX(vt, columns_of(job_vt, n, least(m, n)), n, ldvt)))

/* econ 1: the first min(m,n) columns of U and V; 0: all. V is not transposed. */
#define GESVDP_PARAMETERS                                                                          \
    ANY, int job, int econ, int64_t m, int64_t n, int type, void *a, int64_t lda, int type_s,      \
        void *s, int type_u, void *u, int64_t ldu, int type_v, void *v, int64_t ldv
#define GESVDP                                                                                     \
    .job = solver_letter("NV", job), .econ = econ, ROUTINE(GESVDP, m, n), A(m, n),                 \
    VECTOR(s, least(m, n), solver_type(type_s)),                                                   \
    .operands[SOLVER_U] = MATRIX(u, m, econ ? least(m, n) : m, ldu),                               \
    .operands[SOLVER_V] = MATRIX(v, n, econ ? least(m, n) : n, ldv)
#define GESVDP_LEGAL                                                                               \
    (params && compute == type && type_s == real_of(type) && type_u == type && type_v == type &&   \
     (econ == 0 || econ == 1))
DEFINE_SIZES(Xgesvdp, (GESVDP_PARAMETERS, SIZES), .legal = GESVDP_LEGAL, GESVDP)
DEFINE_CALL(Xgesvdp, (GESVDP_PARAMETERS, WORK, double *err_sigma),
            .legal = GESVDP_LEGAL && err_sigma, .err_sigma = err_sigma, GESVDP)

#define TRTRI_PARAMETERS                                                                           \
    cusolverDnHandle_t handle, int uplo, int diag, int64_t n, int type, void *a, int64_t lda
#define TRTRI .legal = true, ROUTINE(TRTRI, n, n), UPLO, .diag = solver_letter("NU", diag), A(n, n)
DEFINE_SIZES(Xtrtri, (TRTRI_PARAMETERS, size_t *device_bytes, size_t *host_bytes), TRTRI)
DEFINE_CALL(Xtrtri,
            (TRTRI_PARAMETERS, void *device, size_t device_bytes, void *host, size_t host_bytes,
             int *info),
            TRTRI)

/* --- Functions of one type ------------------------------------------------------------------- */

/* The type's letter, CUDA's name of the type, and the standard's names of ORGQR, ORMQR and SYGVD
 * for it. */
#define DEFINE_TYPE(T, cuda, orgqr, ormqr, sygvd)                                                  \
    DEFINE_TYPED(T##potrf, cuda, (int uplo, int n, void *a, int lda), ROUTINE(POTRF, n, n), UPLO,  \
                 A(n, n))                                                                          \
    DEFINE_TYPED(T##potri, cuda, (int uplo, int n, void *a, int lda), ROUTINE(POTRI, n, n), UPLO,  \
                 A(n, n))                                                                          \
    DEFINE_TYPED(orgqr, cuda, (int m, int n, int k, void *a, int lda, const void *tau),            \
                 ROUTINE(ORGQR, m, n), .k = k, A(m, n), TAU)                                       \
    DEFINE_TYPED(ormqr, cuda,                                                                      \
                 (int side, int trans, int m, int n, int k, const void *a, int lda,                \
                  const void *tau, void *c, int ldc),                                              \
                 ROUTINE(ORMQR, m, n), .k = k, .side = solver_letter("LR", side),                  \
                 .trans = solver_letter("NTC", trans),                                             \
                 .operands[SOLVER_A] = INPUT(a, side == 0 ? m : n, k, lda), TAU,                   \
                 .operands[SOLVER_B] = MATRIX(c, m, n, ldc))                                       \
    DEFINE_TYPED(                                                                                  \
        sygvd, cuda,                                                                               \
        (int itype, int job, int uplo, int n, void *a, int lda, void *b, int ldb, void *w),        \
        ROUTINE(SYGVD, n, n), .itype = itype, .job = solver_letter("NV", job), UPLO, A(n, n),      \
        B(n), VECTOR(w, n, xg_type_real(solver_type(type))))
DEFINE_TYPE(S, CUDA_R_32F, Sorgqr, Sormqr, Ssygvd)
DEFINE_TYPE(D, CUDA_R_64F, Dorgqr, Dormqr, Dsygvd)
DEFINE_TYPE(C, CUDA_C_32F, Cungqr, Cunmqr, Chegvd)
DEFINE_TYPE(Z, CUDA_C_64F, Zungqr, Zunmqr, Zhegvd)
