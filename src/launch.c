/* SPDX-License-Identifier: MIT */
/* From a row of the kernel table and arguments to a launch. */
#include "launch.h"

#include "cublas.h"
#include "image.h"

static bool vec4_aligned(const struct xg_sgemm_args *args)
{
    return ((args->a | args->b | args->c) & 15) == 0 &&
           ((args->lda | args->ldb | args->ldc) & 3) == 0;
}

enum xg_status xg_launch_sgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_sgemm_args *args, CUstream stream)
{
    if (!xg_select_serves(row, &dev->facts, args->m, args->n, args->k))
        return XG_DECLINED;
    if (row->flags & XG_KERNEL_CUBLAS)
        return xg_cublas_sgemm(dev, args, stream);
    if ((row->flags & XG_KERNEL_VEC4) && !vec4_aligned(args))
        return XG_DECLINED;
    int64_t blocks = xg_ceil_div(args->m, row->bm) * xg_ceil_div(args->n, row->bn);
    if (blocks > INT32_MAX)
        return XG_DECLINED;

    CUfunction function;
    enum xg_status status = xg_image_function(dev, row, args->transa, args->transb, &function);
    if (status != XG_OK)
        return status;
    struct xg_sgemm_args copy = *args;
    void *parameters[] = {&copy};
    return XG_DRV(&dev->drv, cuLaunchKernel, function, (unsigned)blocks, 1, 1,
                  (unsigned)row->threads_x, (unsigned)row->threads_y, 1, (unsigned)row->smem_bytes,
                  stream, parameters, NULL);
}
