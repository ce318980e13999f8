/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <dlfcn.h>

device_elapsed *device_elapsed_function(const struct xg_dev *dev)
{
    device_elapsed *function;
    *(void **)&function = dlsym(dev->drv.library, "cuEventElapsedTime");
    if (!function) /* its name in newer drivers */
        *(void **)&function = dlsym(dev->drv.library, "cuEventElapsedTime_v2");
    return function;
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
