/* SPDX-License-Identifier: MIT */
/* From a row of the kernel table and arguments to a launch. */
#include "launch.h"

#include "cublas.h"
#include "image.h"
#include "split.h"

/* Quads of C that a block of sgemm_slices_sm75 finishes. */
enum { SLICES_QUADS = 32 };

static bool vec4_aligned(const struct xg_sgemm_args *args)
{
    return ((args->a | args->b | args->c) & 15) == 0 &&
           ((args->lda | args->ldb | args->ldc) & 3) == 0;
}

static size_t scratch_bytes(const struct xg_dev *dev, const struct xg_kernel *row,
                            const struct xg_sgemm_args *args)
{
    if (row->flags & XG_KERNEL_PIECES)
        return xg_split_sgemm_bytes(args->m, args->n, args->k);
    struct xg_slices slices = xg_select_slices(row, &dev->facts, args->m, args->n, args->k);
    return xg_select_slices_bytes(slices, args->m, args->n);
}

enum xg_status xg_launch_reserve(struct xg_dev *dev, const struct xg_kernel *row,
                                 struct xg_mem_dev *memory, struct xg_sgemm_args *args)
{
    size_t bytes = scratch_bytes(dev, row, args);
    enum xg_status status = bytes ? xg_mem_dev_reserve(dev, memory, bytes) : XG_OK;
    args->scratch = bytes && status == XG_OK ? memory->ptr : 0;
    return status;
}

static enum xg_status launch_pieces(struct xg_dev *dev, const struct xg_sgemm_args *args,
                                    CUstream stream)
{
    return args->scratch ? xg_split_sgemm(dev->split, args, args->scratch, stream) : XG_DECLINED;
}

/* cluster: blocks of one, next to each other in the grid; 1 for none. */
static enum xg_status launch_blocks(struct xg_dev *dev, const struct xg_kernel *row,
                                    struct xg_sgemm_args *args, int64_t blocks, int cluster,
                                    CUstream stream)
{
    CUfunction function;
    if (blocks > INT32_MAX)
        return XG_DECLINED;
    enum xg_status status = xg_image_function(dev, row, args->transa, args->transb, &function);
    if (status != XG_OK)
        return status;
    void *parameters[] = {args};
    if (cluster == 1)
        return XG_DRV(&dev->drv, cuLaunchKernel, function, (unsigned)blocks, 1, 1,
                      (unsigned)row->threads_x, (unsigned)row->threads_y, 1,
                      (unsigned)row->smem_bytes, stream, parameters, NULL);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {(unsigned)cluster, 1, 1}};
    CUlaunchConfig config = {.gridDimX = (unsigned)blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = (unsigned)row->threads_x,
                             .blockDimY = (unsigned)row->threads_y,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)row->smem_bytes,
                             .hStream = stream,
                             .attrs = &attribute,
                             .numAttrs = 1};
    return XG_DRV(&dev->drv, cuLaunchKernelEx, &config, function, parameters, NULL);
}

/* The second step of a product whose slices left their sums in the scratch. */
static enum xg_status launch_sum(struct xg_dev *dev, struct xg_sgemm_args *args, CUstream stream)
{
    const struct xg_kernel *row = xg_select_sum();
    int64_t quads = args->m * xg_ceil_div(args->n, 4);
    return launch_blocks(dev, row, args, xg_ceil_div(quads, SLICES_QUADS), 1, stream);
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
    struct xg_slices slices = xg_select_slices(row, &dev->facts, args->m, args->n, args->k);
    if (slices.scratch && !args->scratch)
        return XG_DECLINED;

    struct xg_sgemm_args copy = *args;
    copy.split = slices.count;
    copy.scratch = slices.scratch ? args->scratch : 0;
    int64_t tiles = xg_ceil_div(args->m, row->bm) * xg_ceil_div(args->n, row->bn);
    enum xg_status status = launch_blocks(dev, row, &copy, tiles * slices.count,
                                          slices.scratch ? 1 : slices.count, stream);
    if (status == XG_OK && slices.scratch)
        status = launch_sum(dev, &copy, stream);
    return status;
}
