/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void device_die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

void device_must(enum xg_status status, const char *what)
{
    if (status != XG_OK)
        device_die(what, xg_status_name(status));
}

void *device_function(const struct xg_dev *dev, const char *name, const char *newer)
{
    void *function = dlsym(dev->drv.library, name);
    if (!function && newer)
        function = dlsym(dev->drv.library, newer);
    if (!function)
        device_die(name, "the driver lacks it");
    return function;
}

device_elapsed *device_elapsed_function(const struct xg_dev *dev)
{
    return (device_elapsed *)device_function(dev, "cuEventElapsedTime", "cuEventElapsedTime_v2");
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
