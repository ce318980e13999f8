/* SPDX-License-Identifier: MIT */
/* cuBLAS through dlopen: the fallback where no kernel of ours serves a device, and a yardstick. */
#include "cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "log.h"

/* Of cuBLAS's interface (cublas_api.h) only this is needed; declared here so that none of its
 * headers is. */
typedef struct cublasContext *cublas_handle;
enum { CUBLAS_SUCCESS = 0, CUBLAS_ALLOC_FAILED = 3 };
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
/* Pedantic: single precision throughout, whatever the environment says. */
enum { CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 };

struct xg_cublas {
    cublas_handle handle;
    CUstream stream; /* the handle's; NULL at first, as cuBLAS has it */
    int math_mode;   /* likewise */
    int (*create)(cublas_handle *);
    int (*destroy)(cublas_handle);
    int (*set_math_mode)(cublas_handle, int);
    int (*set_stream)(cublas_handle, CUstream);
    int (*sgemm)(cublas_handle, int, int, int, int, int, const float *, const float *, int,
                 const float *, int, const float *, float *, int);
};

void *xg_cublas_library(void)
{
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/"};
    for (int version = 13; version >= 11; version--)
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            char path[64];
            snprintf(path, sizeof path, "%slibcublas.so.%d", folders[i], version);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library)
                return library;
        }
    xg_log(XG_LOG_INFO, "no cuBLAS: %s", dlerror());
    return NULL;
}

/* Called with dev->image_lock held. */
static enum xg_status open_locked(struct xg_dev *dev)
{
    if (dev->cublas)
        return XG_OK;
    void *library = xg_cublas_library();
    if (!library)
        return XG_ERR_NOTFOUND;
    struct xg_cublas *cublas = calloc(1, sizeof *cublas);
    if (!cublas)
        return XG_ERR_NOMEM;
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {{"cublasCreate_v2", &cublas->create},
                   {"cublasDestroy_v2", &cublas->destroy},
                   {"cublasSetMathMode", &cublas->set_math_mode},
                   {"cublasSetStream_v2", &cublas->set_stream},
                   {"cublasSgemm_v2", &cublas->sgemm}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!(*(void **)symbols[i].slot = dlsym(library, symbols[i].name))) {
            xg_log(XG_LOG_INFO, "cuBLAS lacks %s", symbols[i].name);
            free(cublas);
            return XG_ERR_NOTFOUND;
        }
    int result = cublas->create(&cublas->handle);
    if (result != CUBLAS_SUCCESS) {
        xg_log(XG_LOG_INFO, "cublasCreate: %d", result);
        free(cublas);
        return result == CUBLAS_ALLOC_FAILED ? XG_ERR_NOMEM : XG_ERR_DRIVER;
    }
    dev->cublas = cublas;
    return XG_OK;
}

bool xg_cublas_present(struct xg_dev *dev)
{
    pthread_mutex_lock(&dev->image_lock);
    bool present = open_locked(dev) == XG_OK;
    pthread_mutex_unlock(&dev->image_lock);
    return present;
}

/* What the handle is set to already is not set again: cuBLAS takes its workspace anew each time. */
static int set_handle(struct xg_cublas *cublas, int math_mode, CUstream stream)
{
    int result = CUBLAS_SUCCESS;
    if (stream != cublas->stream)
        result = cublas->set_stream(cublas->handle, stream);
    cublas->stream = result == CUBLAS_SUCCESS ? stream : NULL;
    if (result == CUBLAS_SUCCESS && math_mode != cublas->math_mode)
        result = cublas->set_math_mode(cublas->handle, math_mode);
    cublas->math_mode = result == CUBLAS_SUCCESS ? math_mode : 0;
    return result;
}

enum xg_status xg_cublas_sgemm(struct xg_dev *dev, bool tf32, const struct xg_sgemm_args *args,
                               CUstream stream)
{
    const int64_t sizes[] = {args->m, args->n, args->k, args->lda, args->ldb, args->ldc};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] > INT32_MAX)
            return XG_DECLINED;

    pthread_mutex_lock(&dev->image_lock);
    enum xg_status status = open_locked(dev);
    if (status == XG_OK) {
        struct xg_cublas *cublas = dev->cublas;
        int result =
            set_handle(cublas, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH, stream);
        if (result == CUBLAS_SUCCESS)
            result =
                cublas->sgemm(cublas->handle, args->transb ? CUBLAS_OP_T : CUBLAS_OP_N,
                              args->transa ? CUBLAS_OP_T : CUBLAS_OP_N, (int)args->n, (int)args->m,
                              (int)args->k, &args->alpha, (const float *)(uintptr_t)args->b,
                              (int)args->ldb, (const float *)(uintptr_t)args->a, (int)args->lda,
                              &args->beta, (float *)(uintptr_t)args->c, (int)args->ldc);
        if (result != CUBLAS_SUCCESS) {
            xg_log(XG_LOG_INFO, "cublasSgemm: %d", result);
            status = XG_ERR_DRIVER;
        }
    }
    pthread_mutex_unlock(&dev->image_lock);
    return status;
}

void xg_cublas_fini(struct xg_dev *dev)
{
    if (!dev->cublas)
        return;
    dev->cublas->destroy(dev->cublas->handle);
    free(dev->cublas);
    dev->cublas = NULL;
}
