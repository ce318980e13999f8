/* SPDX-License-Identifier: MIT */
/* Makes a launch from the choice of selection and the arguments. */
#include "compute/launch.h"

#include "compute/cublas.h"
#include "compute/image.h"

static size_t scratch_bytes(const struct xg_choice *choice, const struct xg_sgemm_args *args)
{
    return xg_select_slices_bytes(choice->slices, args->m, args->n);
}

/* The members that the kernels' arguments of both types have; number: their type of scalars. */
#define ARGS_OF(gemm, number)                                                                      \
    .a = (gemm)->a, .b = (gemm)->b, .c = (gemm)->c, .lda = (gemm)->lda, .ldb = (gemm)->ldb,        \
    .ldc = (gemm)->ldc, .m = (gemm)->m, .n = (gemm)->n, .k = (gemm)->k,                            \
    .alpha = (number)(gemm)->alpha, .beta = (number)(gemm)->beta,                                  \
    .transa = (gemm)->transa != XG_NO_TRANS, .transb = (gemm)->transb != XG_NO_TRANS,              \
    .wanted = (gemm)->wanted

static struct xg_sgemm_args single_of(const struct xg_gemm_args *gemm)
{
    return (struct xg_sgemm_args){ARGS_OF(gemm, float), .scratch = gemm->scratch};
}

static struct xg_dgemm_args double_of(const struct xg_gemm_args *gemm)
{
    return (struct xg_dgemm_args){ARGS_OF(gemm, double)};
}

enum xg_status xg_launch_reserve(struct xg_dev *dev, const struct xg_choice *choice,
                                 struct xg_mem_dev *memory, struct xg_gemm_args *gemm)
{
    const struct xg_sgemm_args args = single_of(gemm);
    size_t bytes = 0;
    if (choice->row && gemm->type == XG_TYPE_S)
        bytes = scratch_bytes(choice, &args);
    enum xg_status status = bytes ? xg_mem_dev_reserve(dev, memory, bytes) : XG_OK;
    gemm->scratch = bytes && status == XG_OK ? memory->ptr : 0;
    return status;
}

/*
 * args: the kernel's parameter. attribute: NULL, or an attribute of the launch: a cluster of
 * adjacent blocks, or a start before the end of the previous launch.
 */
static enum xg_status launch_function(struct xg_dev *dev, const struct xg_kernel *row,
                                      CUfunction function, void *args, int64_t blocks,
                                      CUlaunchAttribute *attribute, CUstream stream)
{
    if (blocks > INT32_MAX)
        return XG_DECLINED;
    void *parameters[] = {args};
    if (!attribute)
        return XG_DRV(&dev->drv, cuLaunchKernel, function, (unsigned)blocks, 1, 1,
                      (unsigned)row->threads_x, (unsigned)row->threads_y, 1,
                      (unsigned)row->smem_bytes, stream, parameters, NULL);
    CUlaunchConfig config = {.gridDimX = (unsigned)blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = (unsigned)row->threads_x,
                             .blockDimY = (unsigned)row->threads_y,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)row->smem_bytes,
                             .hStream = stream,
                             .attrs = attribute,
                             .numAttrs = 1};
    return XG_DRV(&dev->drv, cuLaunchKernelEx, &config, function, parameters, NULL);
}

CUlaunchAttribute xg_launch_cluster(int blocks)
{
    return (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                               .value.clusterDim = {(unsigned)blocks, 1, 1}};
}

/* args: the row's parameter, of a product with these transposes. */
static enum xg_status launch_blocks(struct xg_dev *dev, const struct xg_kernel *row, bool transa,
                                    bool transb, void *args, int64_t blocks,
                                    CUlaunchAttribute *attribute, CUstream stream)
{
    CUfunction function;
    enum xg_status status = xg_image_function(dev, row, transa, transb, &function);
    return status == XG_OK ? launch_function(dev, row, function, args, blocks, attribute, stream)
                           : status;
}

/*
 * Launches the second step of a product whose slices left their sums in the scratch. Code for sm_90
 * waits for them in the kernel, so its launch need not wait; older code cannot, on any device.
 */
static enum xg_status launch_sum(struct xg_dev *dev, struct xg_slices slices,
                                 struct xg_sgemm_args *args, CUstream stream)
{
    const struct xg_kernel *row = xg_select_sum(slices);
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    /* A block has row->bn / 4 quads of C; with whole tiles (row->bm > 1) each thread has one
     * quad. */
    int64_t tiles = xg_ceil_div(args->m, row->bm) * xg_ceil_div(args->n, row->bn);
    int64_t blocks = row->bm > 1 ? tiles * (row->bm * row->bn / 4 / row->threads_x)
                                 : xg_ceil_div(args->m * xg_ceil_div(args->n, 4), row->bn / 4);
    CUfunction function;
    int code_sm = 0;
    enum xg_status status = xg_image_function(dev, row, args->transa, args->transb, &function);
    if (status == XG_OK)
        status = XG_DRV(&dev->drv, cuFuncGetAttribute, &code_sm, CU_FUNC_ATTRIBUTE_PTX_VERSION,
                        function);
    if (status != XG_OK)
        return status;
    bool waits = code_sm >= 90 && dev->drv.cuLaunchKernelEx;
    return launch_function(dev, row, function, args, blocks, waits ? &early : NULL, stream);
}

/* The number of blocks: the row's tiles of C times their slices of k. */
static int64_t blocks_of(const struct xg_kernel *row, const struct xg_gemm_args *gemm,
                         struct xg_slices slices)
{
    int64_t tiles = xg_ceil_div(gemm->m, row->bm) * xg_ceil_div(gemm->n, row->bn);
    return slices.results ? slices.count : tiles * slices.count;
}

static enum xg_status launch_single(struct xg_dev *dev, const struct xg_choice *choice,
                                    const struct xg_gemm_args *gemm, CUlaunchAttribute *cluster,
                                    CUstream stream)
{
    const struct xg_kernel *row = choice->row;
    const struct xg_slices slices = choice->slices;
    struct xg_sgemm_args args = single_of(gemm);
    if (!slices.scratch)
        args.scratch = 0;
    else /* the sum would read scratch that a block had not written */
        args.wanted.kind = XG_TRIANGLE_ALL;
    int64_t blocks = blocks_of(row, gemm, slices);
    args.split = row->flags & XG_KERNEL_SHARE ? (int32_t)blocks : slices.count;
    enum xg_status status =
        launch_blocks(dev, row, args.transa, args.transb, &args, blocks, cluster, stream);
    if (status == XG_OK && slices.scratch)
        status = launch_sum(dev, slices, &args, stream);
    return status;
}

static enum xg_status launch_double(struct xg_dev *dev, const struct xg_choice *choice,
                                    const struct xg_gemm_args *gemm, CUlaunchAttribute *cluster,
                                    CUstream stream)
{
    const struct xg_kernel *row = choice->row;
    struct xg_dgemm_args args = double_of(gemm);
    args.split = choice->slices.count;
    return launch_blocks(dev, row, args.transa, args.transb, &args,
                         blocks_of(row, gemm, choice->slices), cluster, stream);
}

enum xg_status xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                              const struct xg_gemm_args *gemm, CUstream stream)
{
    const struct xg_kernel *row = choice->row;
    const struct xg_slices slices = choice->slices;
    if (!row)
        return XG_DECLINED;
    if (row->flags & XG_KERNEL_CUBLAS)
        return xg_cublas_gemm(dev, gemm, row->flags & XG_KERNEL_TF32, stream);
    if (row->flags & (XG_KERNEL_PIECES | XG_KERNEL_RESIDUES) ||
        (row->flags & XG_KERNEL_VEC4 && xg_gemm_shape(gemm).unaligned))
        return XG_DECLINED;
    if ((slices.scratch && !gemm->scratch) || blocks_of(row, gemm, slices) > INT32_MAX)
        return XG_DECLINED;
    bool together = slices.count > 1 && !slices.scratch;
    CUlaunchAttribute cluster = xg_launch_cluster(slices.count);
    return (gemm->type == XG_TYPE_D ? launch_double : launch_single)(
        dev, choice, gemm, together ? &cluster : NULL, stream);
}
