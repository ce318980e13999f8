/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "src/device/mem.h"

device_elapsed *device_elapsed_function(const struct xg_dev *dev)
{
    device_elapsed *function;
    *(void **)&function = dlsym(dev->drv.library, "cuEventElapsedTime");
    if (!function) /* its name in newer drivers */
        *(void **)&function = dlsym(dev->drv.library, "cuEventElapsedTime_v2");
    return function;
}

CUstream device_stream(const struct xg_dev *dev)
{
    CUstream stream;
    if (dev->drv.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        exit(EXIT_FAILURE);
    return stream;
}

double device_seconds(struct xg_dev *dev, CUstream stream,
                      enum xg_status (*work)(void *arg, CUstream stream), void *arg)
{
    const struct xg_drv *drv = &dev->drv;
    device_elapsed *elapsed = device_elapsed_function(dev);
    CUevent begin, end;
    double best = INFINITY;
    if (!elapsed || drv->cuEventCreate(&begin, 0) != CUDA_SUCCESS ||
        drv->cuEventCreate(&end, 0) != CUDA_SUCCESS)
        exit(EXIT_FAILURE);
    for (int i = 0; i < 4; i++) {
        float milliseconds = 0;
        drv->cuEventRecord(begin, stream);
        enum xg_status status = work(arg, stream);
        drv->cuEventRecord(end, stream);
        if (status != XG_OK || drv->cuEventSynchronize(end) != CUDA_SUCCESS ||
            elapsed(&milliseconds, begin, end) != CUDA_SUCCESS) {
            fprintf(stderr, "the device fails: %s\n", xg_status_name(status));
            exit(EXIT_FAILURE);
        }
        if (i > 0)
            best = fmin(best, 1e-3 * (double)milliseconds);
    }
    drv->cuEventDestroy(begin);
    drv->cuEventDestroy(end);
    return best;
}

struct link_copy {
    struct xg_dev *dev;
    void *host;
    CUdeviceptr device;
    size_t bytes;
};

static enum xg_status copy_up_once(void *arg, CUstream stream)
{
    struct link_copy *copy = arg;
    return XG_DRV(&copy->dev->drv, cuMemcpyHtoDAsync, copy->device, copy->host, copy->bytes,
                  stream);
}

static enum xg_status copy_down_once(void *arg, CUstream stream)
{
    struct link_copy *copy = arg;
    return XG_DRV(&copy->dev->drv, cuMemcpyDtoHAsync, copy->host, copy->device, copy->bytes,
                  stream);
}

void device_link(struct xg_dev *dev, CUstream stream, struct link_rates *rates)
{
    struct link_copy copy = {.dev = dev, .bytes = (size_t)256 << 20};
    struct xg_mem_dev mem = {0};
    if (xg_mem_dev_reserve(dev, &mem, copy.bytes) != XG_OK ||
        xg_mem_pinned_alloc(dev, copy.bytes, &copy.host) != XG_OK)
        exit(EXIT_FAILURE);
    copy.device = mem.ptr;
    rates->up_bytes_per_s = (double)copy.bytes / device_seconds(dev, stream, copy_up_once, &copy);
    rates->down_bytes_per_s =
        (double)copy.bytes / device_seconds(dev, stream, copy_down_once, &copy);
    xg_mem_pinned_free(dev, copy.host);
    xg_mem_dev_release(dev, &mem);
}

void device_print(FILE *out, const struct xg_dev *dev, const char *commit,
                  const struct link_rates *rates)
{
    fprintf(out, "# %s, commit %s; link %.1f GB/s up, %.1f GB/s down; ", dev->name, commit,
            rates->up_bytes_per_s / 1e9, rates->down_bytes_per_s / 1e9);
}

struct xg_gemm_args device_gemm(const struct xg_problem *p, CUdeviceptr a, CUdeviceptr b,
                                CUdeviceptr c)
{
    return (struct xg_gemm_args){.type = p->type,
                                 .transa = p->transa,
                                 .transb = p->transb,
                                 .m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .alpha = p->alpha,
                                 .a = a,
                                 .lda = p->lda,
                                 .b = b,
                                 .ldb = p->ldb,
                                 .beta = p->beta,
                                 .c = c,
                                 .ldc = p->ldc};
}
