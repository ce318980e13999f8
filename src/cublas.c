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

/*
 * Over several streams cuBLAS takes another path when the workspace that it wants for one is in use
 * by another ("Results reproducibility" in its manual), unless each stream has its own. This many
 * bytes, whatever the device, so that the path depends on nothing else either.
 */
enum { WORKSPACE_BYTES = 4 << 20 };

struct workspace {
    CUstream stream;
    CUdeviceptr memory;
};

struct xg_cublas {
    cublas_handle handle;
    bool stream_set; /* false at first: cuBLAS has NULL, and its own workspace */
    CUstream stream;
    int math_mode; /* 0 at first, as cuBLAS has it */
    /* Where the same call must give the same bits; outside the budget, as cuBLAS's own are. */
    struct workspace *workspaces;
    size_t workspace_count;
    int (*create)(cublas_handle *);
    int (*destroy)(cublas_handle);
    int (*set_math_mode)(cublas_handle, int);
    int (*set_stream)(cublas_handle, CUstream);
    int (*set_workspace)(cublas_handle, void *, size_t);
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

static enum xg_status status_of(int result, const char *call)
{
    if (result == CUBLAS_SUCCESS)
        return XG_OK;
    xg_log(XG_LOG_INFO, "%s: %d", call, result);
    return result == CUBLAS_ALLOC_FAILED ? XG_ERR_NOMEM : XG_ERR_DRIVER;
}

/* Called with dev->image_lock held, as is all that follows. */
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
                   {"cublasSetWorkspace_v2", &cublas->set_workspace},
                   {"cublasSgemm_v2", &cublas->sgemm}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!(*(void **)symbols[i].slot = dlsym(library, symbols[i].name))) {
            xg_log(XG_LOG_INFO, "cuBLAS lacks %s", symbols[i].name);
            free(cublas);
            return XG_ERR_NOTFOUND;
        }
    enum xg_status status = status_of(cublas->create(&cublas->handle), "cublasCreate");
    if (status != XG_OK) {
        free(cublas);
        return status;
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

/* The stream's own workspace, allocated when it is first asked for. */
static enum xg_status find_workspace(const struct xg_dev *dev, CUstream stream, CUdeviceptr *out)
{
    struct xg_cublas *cublas = dev->cublas;
    size_t count = cublas->workspace_count;
    for (size_t i = 0; i < count; i++)
        if (cublas->workspaces[i].stream == stream) {
            *out = cublas->workspaces[i].memory;
            return XG_OK;
        }
    struct workspace *grown = realloc(cublas->workspaces, (count + 1) * sizeof *grown);
    if (!grown)
        return XG_ERR_NOMEM;
    cublas->workspaces = grown;
    CUdeviceptr memory = 0;
    enum xg_status status = XG_DRV(&dev->drv, cuMemAlloc, &memory, WORKSPACE_BYTES);
    if (status != XG_OK)
        return status;
    grown[count] = (struct workspace){.stream = stream, .memory = memory};
    cublas->workspace_count++;
    *out = memory;
    return XG_OK;
}

/* cublasSetStream goes back to cuBLAS's own workspace, so the other one is set after it. */
static enum xg_status set_stream(const struct xg_dev *dev, CUstream stream)
{
    struct xg_cublas *cublas = dev->cublas;
    enum xg_status status =
        status_of(cublas->set_stream(cublas->handle, stream), "cublasSetStream");
    CUdeviceptr memory = 0;
    if (status == XG_OK && dev->plan_bytes)
        status = find_workspace(dev, stream, &memory);
    if (memory)
        status = status_of(
            cublas->set_workspace(cublas->handle, (void *)(uintptr_t)memory, WORKSPACE_BYTES),
            "cublasSetWorkspace");
    return status;
}

/* What the handle is set to already is not set again: cuBLAS takes its workspace anew each time. */
static enum xg_status set_handle(const struct xg_dev *dev, int math_mode, CUstream stream)
{
    struct xg_cublas *cublas = dev->cublas;
    enum xg_status status = XG_OK;
    if (!cublas->stream_set || stream != cublas->stream)
        status = set_stream(dev, stream);
    cublas->stream_set = status == XG_OK;
    cublas->stream = stream;
    if (status == XG_OK && math_mode != cublas->math_mode)
        status = status_of(cublas->set_math_mode(cublas->handle, math_mode), "cublasSetMathMode");
    cublas->math_mode = status == XG_OK ? math_mode : 0;
    return status;
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
    if (status == XG_OK)
        status = set_handle(dev, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH, stream);
    if (status == XG_OK)
        status = status_of(
            dev->cublas->sgemm(dev->cublas->handle, args->transb ? CUBLAS_OP_T : CUBLAS_OP_N,
                               args->transa ? CUBLAS_OP_T : CUBLAS_OP_N, (int)args->n, (int)args->m,
                               (int)args->k, &args->alpha, (const float *)(uintptr_t)args->b,
                               (int)args->ldb, (const float *)(uintptr_t)args->a, (int)args->lda,
                               &args->beta, (float *)(uintptr_t)args->c, (int)args->ldc),
            "cublasSgemm");
    pthread_mutex_unlock(&dev->image_lock);
    return status;
}

void xg_cublas_fini(struct xg_dev *dev)
{
    if (!dev->cublas)
        return;
    dev->cublas->destroy(dev->cublas->handle);
    for (size_t i = 0; i < dev->cublas->workspace_count; i++)
        XG_DRV(&dev->drv, cuMemFree, dev->cublas->workspaces[i].memory);
    free(dev->cublas->workspaces);
    free(dev->cublas);
    dev->cublas = NULL;
}
