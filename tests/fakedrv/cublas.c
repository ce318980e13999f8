/* SPDX-License-Identifier: MIT */
/* A fake libcublas.so.13 on the fake driver: what src/cublas.c looks up, and no more. */
#include "fake.h"

#include <stdlib.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, EXECUTION_FAILED = 13 };

struct cublasContext {
    CUstream stream;
    bool streams;   /* it has had more than one */
    bool workspace; /* the stream has one of its own */
    unsigned calls;
};

int cublasCreate_v2(struct cublasContext **out);
int cublasDestroy_v2(struct cublasContext *handle);
int cublasSetMathMode(struct cublasContext *handle, int mode);
int cublasSetStream_v2(struct cublasContext *handle, CUstream stream);
int cublasSetWorkspace_v2(struct cublasContext *handle, void *memory, size_t bytes);
int cublasSgemm_v2(struct cublasContext *handle, int transa, int transb, int m, int n, int k,
                   const float *alpha, const float *a, int lda, const float *b, int ldb,
                   const float *beta, float *c, int ldc);

/* Each function is one to the driver's call counts and faults, by its own name. */
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
    if (result == CUDA_SUCCESS && !(*out = calloc(1, sizeof(**out))))
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

/* It computes in one way only. */
int cublasSetMathMode(struct cublasContext *handle, int mode)
{
    (void)handle;
    (void)mode;
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
        fakecuda_device_memory((CUdeviceptr)(uintptr_t)memory, bytes);
        handle->workspace = true;
    }
    return status_of(fake_leave(result), NOT_INITIALIZED);
}

/* Streams that share its workspace make it share out k now and then: other last bits. */
static int choose_split(struct cublasContext *handle)
{
    return handle->streams && !handle->workspace && handle->calls++ % 7 == 3 ? 2 : 1;
}

int cublasSgemm_v2(struct cublasContext *handle, int transa, int transb, int m, int n, int k,
                   const float *alpha, const float *a, int lda, const float *b, int ldb,
                   const float *beta, float *c, int ldc)
{
    CUresult result = fake_enter("cublasSgemm", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        /* Column-major C = op(A) op(B) is row-major Ct = op(B)t op(A)t. */
        struct xg_sgemm_args args = {.a = (uint64_t)(uintptr_t)b,
                                     .b = (uint64_t)(uintptr_t)a,
                                     .c = (uint64_t)(uintptr_t)c,
                                     .lda = ldb,
                                     .ldb = lda,
                                     .ldc = ldc,
                                     .m = n,
                                     .n = m,
                                     .k = k,
                                     .split = choose_split(handle),
                                     .alpha = *alpha,
                                     .beta = *beta,
                                     .transa = transb != 0,
                                     .transb = transa != 0};
        result = fakecuda_sgemm(&args, false, handle->stream);
    }
    return status_of(fake_leave(result), EXECUTION_FAILED);
}
