/* SPDX-License-Identifier: MIT */
/* From a row of the kernel table and arguments to a launch. */
#include "launch.h"

#include "cublas.h"
#include "image.h"
#include "split.h"

static bool vec4_aligned(const struct xg_sgemm_args *args)
{
    return ((args->a | args->b | args->c) & 15) == 0 &&
           ((args->lda | args->ldb | args->ldc) & 3) == 0;
}

static size_t scratch_bytes(const struct xg_kernel *row, const struct xg_sgemm_args *args)
{
    return row->flags & XG_KERNEL_PIECES ? xg_split_sgemm_bytes(args->m, args->n, args->k) : 0;
}

enum xg_status xg_launch_reserve(struct xg_dev *dev, const struct xg_kernel *row,
                                 struct xg_mem_dev *memory, struct xg_sgemm_args *args)
{
    size_t bytes = scratch_bytes(row, args);
    enum xg_status status = bytes ? xg_mem_dev_reserve(dev, memory, bytes) : XG_OK;
    args->scratch = bytes && status == XG_OK ? memory->ptr : 0;
    return status;
}

static enum xg_status launch_pieces(struct xg_dev *dev, const struct xg_sgemm_args *args,
                                    CUstream stream)
{
    const struct xg_split *split;
    if (!args->scratch)
        return XG_DECLINED;
    enum xg_status status = xg_dev_split(dev, &split);
    return status == XG_OK ? xg_split_sgemm(split, args, args->scratch, stream) : status;
}

enum xg_status xg_launch_sgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_sgemm_args *args, CUstream stream)
{
    if (!xg_select_serves(row, &dev->facts, args->m, args->n, args->k))
        return XG_DECLINED;
    if (row->flags & XG_KERNEL_CUBLAS)
        return xg_cublas_sgemm(dev, row->flags & XG_KERNEL_TF32, args, stream);
    if (row->flags & XG_KERNEL_PIECES)
        return launch_pieces(dev, args, stream);
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
