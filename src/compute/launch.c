/* SPDX-License-Identifier: MIT */
/* From a row of the kernel table and arguments to a launch. */
#include "compute/launch.h"

#include "compute/cublas.h"
#include "compute/image.h"
#include "compute/split.h"

/* Of the three addresses and leading dimensions, or'd together: as XG_KERNEL_VEC4 asks. */
static bool vec4_aligned(uint64_t addresses, int64_t lds)
{
    return (addresses & 15) == 0 && (lds & 3) == 0;
}

/*
 * The operands that a repacked row must copy. One whose rows are no whole quads is: their ends need
 * not exist.
 */
static int32_t copies(const struct xg_sgemm_args *args)
{
    bool a = args->transa && ((args->a & 15) | ((args->lda | args->m) & 3)) == 0;
    bool b = !args->transb && ((args->b & 15) | ((args->ldb | args->n) & 3)) == 0;
    return (a ? 0 : XG_COPY_A) | (b ? 0 : XG_COPY_B);
}

static size_t scratch_bytes(const struct xg_dev *dev, const struct xg_kernel *row,
                            const struct xg_sgemm_args *args)
{
    if (row->flags & XG_KERNEL_PIECES)
        return xg_split_sgemm_bytes(args->m, args->n, args->k);
    if (row->flags & XG_KERNEL_REPACKED)
        return xg_select_copies_bytes(copies(args), args->m, args->n, args->k);
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

/*
 * args: the kernel's parameter. attribute: NULL, or one of the launch: a cluster of so many blocks,
 * next to each other in the grid, or that it need not wait for the end of the launch before it.
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

/* So many blocks, next to each other in the grid. */
static CUlaunchAttribute cluster_of(int blocks)
{
    return (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                               .value.clusterDim = {(unsigned)blocks, 1, 1}};
}

static enum xg_status launch_blocks(struct xg_dev *dev, const struct xg_kernel *row,
                                    struct xg_sgemm_args *args, int64_t blocks,
                                    CUlaunchAttribute *attribute, CUstream stream)
{
    CUfunction function;
    enum xg_status status = xg_image_function(dev, row, args->transa, args->transb, &function);
    return status == XG_OK ? launch_function(dev, row, function, args, blocks, attribute, stream)
                           : status;
}

/*
 * The second step of a product whose slices left their sums in the scratch. Code of sm_90 waits for
 * them itself, so that its launch need not; older code, on a device however new, cannot.
 */
static enum xg_status launch_sum(struct xg_dev *dev, struct xg_slices slices,
                                 struct xg_sgemm_args *args, CUstream stream)
{
    const struct xg_kernel *row = xg_select_sum(slices);
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    /* A block has row->bn / 4 quads of C, of whole tiles (row->bm > 1) a quad a thread. */
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

/* Copies what is not as the kernel wants it, and makes *args the product of the copies. */
static enum xg_status launch_copies(struct xg_dev *dev, struct xg_sgemm_args *args, CUstream stream)
{
    const struct xg_kernel *row = xg_select_repack();
    int64_t lda = XG_COPY_LD(args->m), ldb = XG_COPY_LD(args->n);
    args->copies = copies(args);
    if (args->copies && !args->scratch)
        return XG_DECLINED;
    int64_t columns = (args->copies & XG_COPY_A ? xg_ceil_div(lda, row->bn) : 0) +
                      (args->copies & XG_COPY_B ? xg_ceil_div(ldb, row->bn) : 0);
    int64_t blocks = columns * xg_ceil_div(args->k, row->bm);
    enum xg_status status = blocks ? launch_blocks(dev, row, args, blocks, NULL, stream) : XG_OK;
    uint64_t at = args->scratch;
    if (args->copies & XG_COPY_A) {
        args->a = at;
        args->lda = lda;
        at += sizeof(float) * (uint64_t)(args->k * lda);
    }
    if (args->copies & XG_COPY_B) {
        args->b = at;
        args->ldb = ldb;
    }
    args->transa = true;
    args->transb = false;
    return status;
}

static enum xg_status launch_library(struct xg_dev *dev, bool tf32,
                                     const struct xg_sgemm_args *args, CUstream stream)
{
    const struct xg_cublas_gemm gemm = {.tf32 = tf32,
                                        .transa = args->transa,
                                        .transb = args->transb,
                                        .m = args->m,
                                        .n = args->n,
                                        .k = args->k,
                                        .alpha = args->alpha,
                                        .a = args->a,
                                        .lda = args->lda,
                                        .b = args->b,
                                        .ldb = args->ldb,
                                        .beta = args->beta,
                                        .c = args->c,
                                        .ldc = args->ldc};
    return xg_cublas_gemm(dev, &gemm, stream);
}

enum xg_status xg_launch_sgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_sgemm_args *args, CUstream stream)
{
    if (!xg_select_serves(row, &dev->facts, args->m, args->n, args->k))
        return XG_DECLINED;
    if (row->flags & XG_KERNEL_CUBLAS)
        return launch_library(dev, row->flags & XG_KERNEL_TF32, args, stream);
    if (row->flags & XG_KERNEL_PIECES)
        return launch_pieces(dev, args, stream);
    if ((row->flags & XG_KERNEL_VEC4) &&
        !vec4_aligned(args->a | args->b | args->c, args->lda | args->ldb | args->ldc))
        return XG_DECLINED;
    struct xg_slices slices = xg_select_slices(row, &dev->facts, args->m, args->n, args->k);
    if (slices.scratch && !args->scratch)
        return XG_DECLINED;

    struct xg_sgemm_args copy = *args;
    if (row->flags & XG_KERNEL_REPACKED) {
        enum xg_status copied = launch_copies(dev, &copy, stream);
        if (copied != XG_OK)
            return copied;
    }
    copy.scratch = slices.scratch ? args->scratch : 0;
    if (slices.scratch) /* the sum would take for results what a block has not written there */
        copy.wanted.kind = XG_TRIANGLE_ALL;
    int64_t tiles = xg_ceil_div(args->m, row->bm) * xg_ceil_div(args->n, row->bn);
    int64_t blocks = slices.results ? slices.count : tiles * slices.count;
    if (blocks > INT32_MAX)
        return XG_DECLINED;
    copy.split = row->flags & XG_KERNEL_SHARE ? (int32_t)blocks : slices.count;
    bool cluster = slices.count > 1 && !slices.scratch;
    CUlaunchAttribute together = cluster_of(slices.count);
    enum xg_status status =
        launch_blocks(dev, row, &copy, blocks, cluster ? &together : NULL, stream);
    if (status == XG_OK && slices.scratch)
        status = launch_sum(dev, slices, &copy, stream);
    return status;
}

enum xg_status xg_launch_dgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_dgemm_args *args, CUstream stream)
{
    struct xg_device_facts facts = dev->facts;
    facts.type = XG_TYPE_D;
    if (!xg_select_serves(row, &facts, args->m, args->n, args->k))
        return XG_DECLINED;
    if (row->flags & XG_KERNEL_CUBLAS)
        return xg_cublas_gemm(dev,
                              &(struct xg_cublas_gemm){.type = XG_TYPE_D,
                                                       .transa = args->transa,
                                                       .transb = args->transb,
                                                       .m = args->m,
                                                       .n = args->n,
                                                       .k = args->k,
                                                       .alpha = args->alpha,
                                                       .a = args->a,
                                                       .lda = args->lda,
                                                       .b = args->b,
                                                       .ldb = args->ldb,
                                                       .beta = args->beta,
                                                       .c = args->c,
                                                       .ldc = args->ldc},
                              stream);
    if (!vec4_aligned(args->a | args->b | args->c, args->lda | args->ldb | args->ldc))
        return XG_DECLINED;
    struct xg_slices slices = xg_select_slices(row, &facts, args->m, args->n, args->k);
    struct xg_dgemm_args copy = *args;
    copy.split = slices.count;
    CUlaunchAttribute together = cluster_of(slices.count);
    int64_t tiles = xg_ceil_div(args->m, row->bm) * xg_ceil_div(args->n, row->bn);
    CUfunction function;
    enum xg_status status = xg_image_function(dev, row, args->transa, args->transb, &function);
    return status == XG_OK ? launch_function(dev, row, function, &copy, tiles * slices.count,
                                             slices.count > 1 ? &together : NULL, stream)
                           : status;
}
