/* SPDX-License-Identifier: MIT */
/* A fake libcublas.so.13 on the fake driver: the functions that src/compute/cublas.c looks up. */
#include "fake.h"

#include <stdlib.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, EXECUTION_FAILED = 13 };

struct cublasContext {
    CUstream stream;
    bool streams;   /* it has had more than one */
    bool workspace; /* the caller gave the stream a workspace */
    int math;
    unsigned calls;
};

/* The driver counts calls of each function, and injects faults in it, by its name. */
static int status_of(CUresult result, int otherwise)
{
    return result == CUDA_SUCCESS                 ? SUCCESS
           : result == CUDA_ERROR_OUT_OF_MEMORY   ? ALLOC_FAILED
           : result == CUDA_ERROR_INVALID_CONTEXT ? NOT_INITIALIZED
                                                  : otherwise;
}

int cublasCreate_v2(struct cublasContext **out)
{
    CUresult result = fake_enter("cublasCreate", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS && !(*out = fake_make(sizeof(**out))))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return status_of(fake_leave(result), NOT_INITIALIZED);
}

int cublasDestroy_v2(struct cublasContext *handle)
{
    CUresult result = fake_enter("cublasDestroy", FAKE_CONTEXT);
    if (fake_releases(result))
        free(handle);
    return status_of(fake_leave(result), NOT_INITIALIZED);
}

/* Only emulation depends on the mode. */
int cublasSetMathMode(struct cublasContext *handle, int mode)
{
    handle->math = mode;
    return SUCCESS;
}

int cublasSetStream_v2(struct cublasContext *handle, CUstream stream)
{
    CUresult result = fake_enter("cublasSetStream", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        handle->streams |= handle->stream && handle->stream != stream;
        handle->stream = stream;
        handle->workspace = false;
    }
    return status_of(fake_leave(result), NOT_INITIALIZED);
}

int cublasSetWorkspace_v2(struct cublasContext *handle, void *memory, size_t bytes)
{
    CUresult result = fake_enter("cublasSetWorkspace", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        fakecuda_device_memory((CUdeviceptr)(uintptr_t)memory, bytes, "a workspace");
        handle->workspace = true;
    }
    return status_of(fake_leave(result), NOT_INITIALIZED);
}

/* If streams share the workspace, some products are split along k, so that last bits differ. */
static int choose_split(struct cublasContext *handle)
{
    return handle->streams && !handle->workspace && handle->calls++ % 7 == 3 ? 2 : 1;
}

/* Emulation of doubles, which default math uses if the environment asks for it. Here a product
 * loses half of its bits. */
static void emulate(const struct cublasContext *handle, struct xg_problem *p)
{
    enum { DEFAULT_MATH = 0 };
    const char *asked = getenv("CUBLAS_EMULATE_DOUBLE_PRECISION");
    if (handle->math == DEFAULT_MATH && xg_type_is_double(p->type) && asked && *asked == '1')
        p->alpha *= 1 + 0x1p-26;
}

/* Queues a product stated by rows: column-major C = op(A) op(B) is row-major Ct = op(B)t op(A)t. */
static int queue_gemm(struct cublasContext *handle, const char *name, struct xg_problem p,
                      int transa, int transb)
{
    static const enum xg_trans trans[] = {XG_NO_TRANS, XG_TRANS, XG_CONJ_TRANS};
    CUresult result = fake_enter(name, FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        p.transa = trans[transb];
        p.transb = trans[transa];
        emulate(handle, &p);
        result =
            fakecuda_problem(&p, p.type == XG_TYPE_S ? choose_split(handle) : 1, handle->stream);
    }
    return status_of(fake_leave(result), EXECUTION_FAILED);
}

#define FAKE_GEMM(Letter, type_, number, im)                                                       \
    int cublas##Letter##gemm_v2(struct cublasContext *handle, int transa, int transb, int m,       \
                                int n, int k, const number *alpha, const void *a, int lda,         \
                                const void *b, int ldb, const number *beta, void *c, int ldc)      \
    {                                                                                              \
        struct xg_problem p = {.type = type_,                                                      \
                               .m = n,                                                             \
                               .n = m,                                                             \
                               .k = k,                                                             \
                               .alpha = alpha[0],                                                  \
                               .alpha_im = im(alpha),                                              \
                               .a = b,                                                             \
                               .lda = ldb,                                                         \
                               .b = a,                                                             \
                               .ldb = lda,                                                         \
                               .beta = beta[0],                                                    \
                               .beta_im = im(beta),                                                \
                               .c = c,                                                             \
                               .ldc = ldc};                                                        \
        return queue_gemm(handle, "cublas" #Letter "gemm", p, transa, transb);                     \
    }

#define NO_PART(x) 0
#define PART(x) (x)[1]
FAKE_GEMM(S, XG_TYPE_S, float, NO_PART)
FAKE_GEMM(D, XG_TYPE_D, double, NO_PART)
FAKE_GEMM(C, XG_TYPE_C, float, PART)
FAKE_GEMM(Z, XG_TYPE_Z, double, PART)

/* TRMM and TRSM. By rows all matrices are transposes, and the other triangle is stored. */
static int queue_triangular(struct cublasContext *handle, const char *name, struct xg_problem p,
                            int side, int uplo, int trans, const void *a, int lda, const void *b,
                            int ldb)
{
    static const enum xg_trans transposes[] = {XG_NO_TRANS, XG_TRANS, XG_CONJ_TRANS};
    CUresult result = fake_enter(name, FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        bool left = side == 1; /* on the right, by columns */
        p.structured = left ? XG_OPERAND_A : XG_OPERAND_B;
        p.stored = uplo == 1 ? XG_LOWER : XG_UPPER;
        p.k = left ? p.m : p.n;
        p.a = left ? a : b;
        p.lda = left ? lda : ldb;
        p.b = left ? b : a;
        p.ldb = left ? ldb : lda;
        *(left ? &p.transa : &p.transb) = transposes[trans];
        emulate(handle, &p);
        result = fakecuda_problem(&p, 1, handle->stream);
    }
    return status_of(fake_leave(result), EXECUTION_FAILED);
}

#define FAKE_TRIANGULAR(Letter, type_, number, im)                                                 \
    int cublas##Letter##trmm_v2(struct cublasContext *handle, int side, int uplo, int trans,       \
                                int diag, int m, int n, const number *alpha, const void *a,        \
                                int lda, const void *b, int ldb, void *c, int ldc)                 \
    {                                                                                              \
        struct xg_problem p = {.op = XG_OP_TRMM,                                                   \
                               .type = type_,                                                      \
                               .unit = diag,                                                       \
                               .m = n,                                                             \
                               .n = m,                                                             \
                               .alpha = alpha[0],                                                  \
                               .alpha_im = im(alpha),                                              \
                               .c = c,                                                             \
                               .ldc = ldc};                                                        \
        return queue_triangular(handle, "cublas" #Letter "trmm", p, side, uplo, trans, a, lda, b,  \
                                ldb);                                                              \
    }                                                                                              \
    int cublas##Letter##trsm_v2(struct cublasContext *handle, int side, int uplo, int trans,       \
                                int diag, int m, int n, const number *alpha, const void *a,        \
                                int lda, void *b, int ldb)                                         \
    {                                                                                              \
        struct xg_problem p = {.op = XG_OP_TRSM,                                                   \
                               .type = type_,                                                      \
                               .unit = diag,                                                       \
                               .m = n,                                                             \
                               .n = m,                                                             \
                               .alpha = alpha[0],                                                  \
                               .alpha_im = im(alpha),                                              \
                               .c = b,                                                             \
                               .ldc = ldb};                                                        \
        return queue_triangular(handle, "cublas" #Letter "trsm", p, side, uplo, trans, a, lda, b,  \
                                ldb);                                                              \
    }
FAKE_TRIANGULAR(S, XG_TYPE_S, float, NO_PART)
FAKE_TRIANGULAR(D, XG_TYPE_D, double, NO_PART)
FAKE_TRIANGULAR(C, XG_TYPE_C, float, PART)
FAKE_TRIANGULAR(Z, XG_TYPE_Z, double, PART)
