/* SPDX-License-Identifier: MIT */
/* The fake cuSOLVER's functions of one type, which count in int: each makes a call as data. */
#include "cusolver.h"
#include "solver.h"

static struct solver_call start(enum solver_routine routine, enum xg_type type, int m, int n, int k)
{
    return (struct solver_call){
        .routine = routine, .legal = true, .typed = true, .type = type, .m = m, .n = n, .k = k};
}

static int ask(cusolverDnHandle_t handle, const char *name, struct solver_call call, int *lwork)
{
    call.name = name;
    return solver_lwork(handle, &call, lwork);
}

static int queue(cusolverDnHandle_t handle, const char *name, struct solver_call call, void *work,
                 int lwork, int *info)
{
    call.name = name;
    call.work = work;
    call.work_bytes = lwork > 0 ? (size_t)lwork * xg_type_bytes(call.type) : 0;
    call.info = info;
    return solver_queue(handle, &call);
}

/* POTRF or POTRI. */
static struct solver_call cholesky(enum solver_routine routine, enum xg_type type, int uplo, int n,
                                   const void *a, int lda)
{
    struct solver_call call = start(routine, type, n, n, 0);
    call.uplo = solver_letter("LU", uplo);
    call.operands[SOLVER_A] = solver_matrix(a, n, n, lda, type);
    return call;
}

static struct solver_call orgqr(enum xg_type type, int m, int n, int k, const void *a, int lda,
                                const void *tau)
{
    struct solver_call call = start(SOLVER_ORGQR, type, m, n, k);
    call.operands[SOLVER_A] = solver_matrix(a, m, n, lda, type);
    call.operands[SOLVER_VECTOR] = solver_vector(tau, k, type);
    call.operands[SOLVER_VECTOR].input = true;
    return call;
}

static struct solver_call ormqr(enum xg_type type, int side, int trans, int m, int n, int k,
                                const void *a, int lda, const void *tau, const void *c, int ldc)
{
    struct solver_call call = start(SOLVER_ORMQR, type, m, n, k);
    call.side = solver_letter("LR", side);
    call.trans = solver_letter("NTC", trans);
    call.operands[SOLVER_A] = solver_input(a, call.side == 'L' ? m : n, k, lda, type);
    call.operands[SOLVER_VECTOR] = solver_vector(tau, k, type);
    call.operands[SOLVER_VECTOR].input = true;
    call.operands[SOLVER_B] = solver_matrix(c, m, n, ldc, type);
    return call;
}

static struct solver_call sygvd(enum xg_type type, int itype, int job, int uplo, int n,
                                const void *a, int lda, const void *b, int ldb, const void *w)
{
    struct solver_call call = start(SOLVER_SYGVD, type, n, n, 0);
    call.itype = itype;
    call.job = solver_letter("NV", job);
    call.uplo = solver_letter("LU", uplo);
    call.operands[SOLVER_A] = solver_matrix(a, n, n, lda, type);
    call.operands[SOLVER_B] = solver_matrix(b, n, n, ldb, type);
    call.operands[SOLVER_VECTOR] = solver_vector(w, n, xg_type_real(type));
    return call;
}

#define DEFINE_CHOLESKY(T, name, routine)                                                          \
    int cusolverDn##T##name##_bufferSize(cusolverDnHandle_t handle, int uplo, int n, void *a,      \
                                         int lda, int *lwork)                                      \
    {                                                                                              \
        return ask(handle, __func__, cholesky(routine, XG_TYPE_##T, uplo, n, a, lda), lwork);      \
    }                                                                                              \
    int cusolverDn##T##name(cusolverDnHandle_t handle, int uplo, int n, void *a, int lda,          \
                            void *work, int lwork, int *info)                                      \
    {                                                                                              \
        return queue(handle, __func__, cholesky(routine, XG_TYPE_##T, uplo, n, a, lda), work,      \
                     lwork, info);                                                                 \
    }
#define DEFINE(T, or, sy)                                                                          \
    DEFINE_CHOLESKY(T, potrf, SOLVER_POTRF)                                                        \
    DEFINE_CHOLESKY(T, potri, SOLVER_POTRI)                                                        \
    int cusolverDn##T## or ##gqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k,        \
                                            const void *a, int lda, const void *tau, int *lwork)   \
    {                                                                                              \
        return ask(handle, __func__, orgqr(XG_TYPE_##T, m, n, k, a, lda, tau), lwork);             \
    }                                                                                              \
    int cusolverDn##T## or ##gqr(cusolverDnHandle_t handle, int m, int n, int k, void *a, int lda, \
                                 const void *tau, void *work, int lwork, int *info)                \
    {                                                                                              \
        return queue(handle, __func__, orgqr(XG_TYPE_##T, m, n, k, a, lda, tau), work, lwork,      \
                     info);                                                                        \
    }                                                                                              \
    int cusolverDn##T## or ##mqr_bufferSize(cusolverDnHandle_t handle, int side, int trans, int m, \
                                            int n, int k, const void *a, int lda, const void *tau, \
                                            const void *c, int ldc, int *lwork)                    \
    {                                                                                              \
        return ask(handle, __func__,                                                               \
                   ormqr(XG_TYPE_##T, side, trans, m, n, k, a, lda, tau, c, ldc), lwork);          \
    }                                                                                              \
    int cusolverDn##T## or                                                                         \
        ##mqr(cusolverDnHandle_t handle, int side, int trans, int m, int n, int k, const void *a,  \
              int lda, const void *tau, void *c, int ldc, void *work, int lwork, int *info)        \
    {                                                                                              \
        return queue(handle, __func__,                                                             \
                     ormqr(XG_TYPE_##T, side, trans, m, n, k, a, lda, tau, c, ldc), work, lwork,   \
                     info);                                                                        \
    }                                                                                              \
    int cusolverDn##T##sy##gvd_bufferSize(cusolverDnHandle_t handle, int itype, int job, int uplo, \
                                          int n, const void *a, int lda, const void *b, int ldb,   \
                                          const void *w, int *lwork)                               \
    {                                                                                              \
        return ask(handle, __func__, sygvd(XG_TYPE_##T, itype, job, uplo, n, a, lda, b, ldb, w),   \
                   lwork);                                                                         \
    }                                                                                              \
    int cusolverDn##T##sy##gvd(cusolverDnHandle_t handle, int itype, int job, int uplo, int n,     \
                               void *a, int lda, void *b, int ldb, void *w, void *work, int lwork, \
                               int *info)                                                          \
    {                                                                                              \
        return queue(handle, __func__, sygvd(XG_TYPE_##T, itype, job, uplo, n, a, lda, b, ldb, w), \
                     work, lwork, info);                                                           \
    }
CUSOLVER_TYPED(DEFINE)
