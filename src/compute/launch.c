/* SPDX-License-Identifier: MIT */
/* Makes a launch from the choice of selection and the arguments. */
#include "compute/launch.h"

#include "compute/cublas.h"
#include "compute/image.h"

/* The members that the kernels' arguments of both types have; number: their type of scalars. */
#define ARGS_OF(gemm, number, slices)                                                              \
    .a = (gemm)->a, .b = (gemm)->b, .c = (gemm)->c, .lda = (gemm)->lda, .ldb = (gemm)->ldb,        \
    .ldc = (gemm)->ldc, .m = (gemm)->m, .n = (gemm)->n, .k = (gemm)->k,                            \
    .alpha = (number)(gemm)->alpha, .beta = (number)(gemm)->beta,                                  \
    .transa = (gemm)->transa != XG_NO_TRANS, .transb = (gemm)->transb != XG_NO_TRANS,              \
    .wanted = (gemm)->wanted, .split = (slices)

CUlaunchAttribute xg_launch_cluster(int blocks)
{
    return (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                               .value.clusterDim = {(unsigned)blocks, 1, 1}};
}

/* args: the row's parameter. Slices of k are one cluster. */
static enum xg_status launch(struct xg_dev *dev, const struct xg_choice *choice,
                             CUfunction function, void *args, int64_t blocks, CUstream stream)
{
    const struct xg_kernel *row = choice->row;
    void *parameters[] = {args};
    if (choice->slices == 1)
        return XG_DRV(&dev->drv, cuLaunchKernel, function, (unsigned)blocks, 1, 1,
                      (unsigned)row->threads_x, (unsigned)row->threads_y, 1,
                      (unsigned)row->smem_bytes, stream, parameters, NULL);
    CUlaunchAttribute cluster = xg_launch_cluster(choice->slices);
    CUlaunchConfig config = {.gridDimX = (unsigned)blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = (unsigned)row->threads_x,
                             .blockDimY = (unsigned)row->threads_y,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)row->smem_bytes,
                             .hStream = stream,
                             .attrs = &cluster,
                             .numAttrs = 1};
    return XG_DRV(&dev->drv, cuLaunchKernelEx, &config, function, parameters, NULL);
}

enum xg_status xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                              const struct xg_gemm_args *gemm, CUstream stream)
{
    const struct xg_kernel *row = choice->row;
    if (!row)
        return XG_DECLINED;
    if (row->flags & XG_KERNEL_CUBLAS)
        return xg_cublas_gemm(dev, gemm, row->flags & XG_KERNEL_TF32, stream);
    if (row->flags & (XG_KERNEL_PIECES | XG_KERNEL_RESIDUES) ||
        (row->flags & XG_KERNEL_VEC4 && xg_gemm_shape(gemm).unaligned))
        return XG_DECLINED;
    const int64_t tiles = xg_ceil_div(gemm->m, row->bm) * xg_ceil_div(gemm->n, row->bn);
    const int64_t blocks = tiles * choice->slices;
    if (blocks > INT32_MAX)
        return XG_DECLINED;
    struct xg_sgemm_args singles = {ARGS_OF(gemm, float, choice->slices)};
    struct xg_dgemm_args doubles = {ARGS_OF(gemm, double, choice->slices)};
    CUfunction function;
    enum xg_status status = xg_image_function(dev, row, singles.transa, singles.transb, &function);
    if (status != XG_OK)
        return status;
    return launch(dev, choice, function, gemm->type == XG_TYPE_D ? (void *)&doubles : &singles,
                  blocks, stream);
}
