/* SPDX-License-Identifier: MIT */
#include "compute/lu.h"

#include <stdio.h>

#include "compute/cublas.h"
#include "compute/image.h"
#include "compute/launch.h"

/* --- Kernels --------------------------------------------------------------------------------- */

static CUlaunchConfig config_of(unsigned blocks, unsigned threads, CUlaunchAttribute *cluster,
                                CUstream stream)
{
    return (CUlaunchConfig){.gridDimX = blocks,
                            .gridDimY = 1,
                            .gridDimZ = 1,
                            .blockDimX = threads,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .hStream = stream,
                            .attrs = cluster,
                            .numAttrs = cluster ? 1 : 0};
}

/* The most rows of a panel whose cluster the device can run: a part of a device has fewer adjacent
 * multiprocessors. */
static int64_t rows_most(const struct xg_dev *dev, CUfunction function, unsigned threads)
{
    if (XG_DRV(&dev->drv, cuFuncSetAttribute, function,
               CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) != XG_OK)
        return 0;
    for (unsigned blocks = XG_LU_CLUSTER_MOST; blocks > 1; blocks /= 2) {
        CUlaunchAttribute cluster = xg_launch_cluster((int)blocks);
        const CUlaunchConfig config = config_of(blocks, threads, &cluster, NULL);
        int clusters = 0;
        if (XG_DRV_CALL(&dev->drv, cuOccupancyMaxActiveClusters, &clusters, function, &config) ==
                CUDA_SUCCESS &&
            clusters > 0)
            return (int64_t)blocks * threads;
    }
    return 0;
}

void xg_lu_open(struct xg_dev *dev, enum xg_type type, struct xg_lu *lu)
{
    static const char letters[XG_TYPE_COUNT] = {[XG_TYPE_S] = 's', [XG_TYPE_D] = 'd'};
    const struct {
        const char *image, *entry;
        int smem_bytes;
        CUfunction *out;
    } kernels[] = {
        {"lu_panel_sm90", "xg_lu_panel_%c1_sm90", 0, &lu->one},
        {"lu_panel_sm90", "xg_lu_panel_%c_sm90", 0, &lu->panel},
        {"lu_panel_sm90", "xg_lu_panel_%c_tall_sm90", 0, &lu->tall},
        {"lu_apply_sm90", "xg_lu_apply_%c_panel_sm90", 0, &lu->apply_panel},
        {"lu_apply_sm90", "xg_lu_apply_%c_block_sm90", XG_LU_APPLY_BYTES(XG_LU_BLOCK),
         &lu->apply_block},
    };
    int code_sm = 0;
    if (lu->looked)
        return;
    *lu = (struct xg_lu){.looked = true};
    if (!letters[type] || dev->facts.sm / 10 != 9 || !dev->drv.cuOccupancyMaxActiveClusters)
        return;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        char entry[64];
        snprintf(entry, sizeof entry, kernels[i].entry, letters[type]);
        if (xg_image_entry(dev, kernels[i].image, entry, kernels[i].smem_bytes, kernels[i].out) !=
            XG_OK)
            return;
    }
    /* Kernels compiled from older PTX would only trap. */
    if (XG_DRV(&dev->drv, cuFuncGetAttribute, &code_sm, CU_FUNC_ATTRIBUTE_PTX_VERSION, lu->panel) !=
            XG_OK ||
        code_sm < 90)
        return;
    lu->panel_rows_most = rows_most(dev, lu->panel, XG_LU_THREADS);
    lu->rows_most = rows_most(dev, lu->tall, XG_LU_TALL_THREADS);
}

bool xg_lu_serves(struct xg_dev *dev, const struct xg_lu *lu, const struct xg_lu_matrix *matrix)
{
    /* plan_bytes is 0 without XGEMM_REPRODUCIBLE. */
    return matrix->m <= lu->rows_most && matrix->n <= INT32_MAX - XG_LU_STRIP &&
           dev->plan_bytes == 0 && xg_cublas_is_loaded() && xg_cublas_present(dev);
}

/* --- Steps ----------------------------------------------------------------------------------- */

struct run {
    struct xg_dev *dev;
    const struct xg_lu *lu;
    const struct xg_lu_matrix *matrix;
    CUstream stream;
};

static CUdeviceptr element(const struct xg_lu_matrix *matrix, int64_t row, int64_t column)
{
    return matrix->a + (size_t)(row + column * matrix->ld) * xg_type_bytes(matrix->type);
}

/* Lists of moves, of the panel or of the block. */
static CUdeviceptr moves(const struct xg_lu_matrix *matrix, bool block)
{
    return matrix->work + (block ? 2 * XG_LU_PANEL * sizeof(struct xg_lu_move) : 0);
}

/* Factorizes columns [first,end), a panel of the block that begins at column `block`; last: it is
 * the block's last panel. */
static enum xg_status factorize(const struct run *run, int64_t block, int64_t first, int64_t end,
                                bool last)
{
    const struct xg_lu_matrix *matrix = run->matrix;
    const struct xg_lu *lu = run->lu;
    const int64_t rows = matrix->m - first;
    struct xg_lu_panel_args args = {
        .a = element(matrix, first, first),
        .ld = matrix->ld,
        .rows = (int32_t)rows,
        .columns = (int32_t)(end - first),
        .first = (int32_t)first,
        .before = (int32_t)(first - block),
        .pivots = matrix->pivots + (size_t)first * sizeof(int64_t),
        .info = matrix->info,
        .moves = moves(matrix, false),
        .block_moves = last ? moves(matrix, true) : 0,
        .sources = matrix->work + 2 * (XG_LU_PANEL + XG_LU_BLOCK) * sizeof(struct xg_lu_move),
    };
    const bool tall = rows > lu->panel_rows_most;
    const unsigned threads = tall ? XG_LU_TALL_THREADS : XG_LU_THREADS;
    const unsigned blocks = (unsigned)xg_ceil_div(rows, threads);
    CUlaunchAttribute cluster = xg_launch_cluster((int)blocks);
    const CUlaunchConfig config =
        config_of(blocks, threads, blocks > 1 ? &cluster : NULL, run->stream);
    void *parameters[] = {&args};
    return XG_DRV(&run->dev->drv, cuLaunchKernelEx, &config,
                  tall         ? lu->tall
                  : blocks > 1 ? lu->panel
                               : lu->one,
                  parameters, NULL);
}

/* The columns to which a panel or a block is applied: in [left,at) rows only move, [from,end) are
 * also solved for and updated. */
struct span {
    int64_t left, from, end;
};

/* Applies columns [at, at + k) to others: a panel, or a block of several panels. */
static enum xg_status apply(const struct run *run, int64_t at, int64_t k, struct span span)
{
    const struct xg_lu_matrix *matrix = run->matrix;
    const bool block = k > XG_LU_PANEL;
    struct xg_lu_apply_args args = {
        .a = element(matrix, at, span.left),
        .l = element(matrix, at, at),
        .moves = moves(matrix, block),
        .ld = matrix->ld,
        .rows = (int32_t)(matrix->m - at),
        .k = (int32_t)k,
        .moved = (int32_t)(at - span.left),
        .first = (int32_t)(span.from - span.left),
        .end = (int32_t)(span.end - span.left),
    };
    const int64_t strips =
        xg_ceil_div(at - span.left, XG_LU_STRIP) + xg_ceil_div(span.end - span.from, XG_LU_STRIP);
    void *parameters[] = {&args};
    if (strips == 0)
        return XG_OK;
    return XG_DRV(&run->dev->drv, cuLaunchKernel,
                  block ? run->lu->apply_block : run->lu->apply_panel, (unsigned)strips, 1, 1,
                  XG_LU_APPLY_THREADS, 1, 1, XG_LU_APPLY_BYTES(block ? XG_LU_BLOCK : XG_LU_PANEL),
                  run->stream, parameters, NULL);
}

/* Subtracts L U of these columns from the rows below. */
static enum xg_status update(const struct run *run, int64_t at, int64_t k, struct span span)
{
    const struct xg_lu_matrix *matrix = run->matrix;
    const int64_t below = at + k;
    const struct xg_gemm_args gemm = {
        .type = matrix->type,
        .m = span.end - span.from,
        .n = matrix->m - below,
        .k = k,
        .alpha = -1,
        .beta = 1,
        .a = element(matrix, at, span.from),
        .lda = matrix->ld,
        .b = element(matrix, below, at),
        .ldb = matrix->ld,
        .c = element(matrix, below, span.from),
        .ldc = matrix->ld,
    };
    return gemm.m && gemm.n ? xg_cublas_gemm(run->dev, &gemm, false, run->stream) : XG_OK;
}

static enum xg_status apply_and_update(const struct run *run, int64_t at, int64_t k,
                                       struct span span)
{
    enum xg_status status = apply(run, at, k, span);
    return status == XG_OK ? update(run, at, k, span) : status;
}

enum xg_status xg_lu_run(struct xg_dev *dev, const struct xg_lu *lu,
                         const struct xg_lu_matrix *matrix, CUstream stream)
{
    const struct run run = {dev, lu, matrix, stream};
    const int64_t columns = xg_min_i64(matrix->m, matrix->n);
    enum xg_status status = XG_OK;
    for (int64_t block = 0; block < columns && status == XG_OK; block += XG_LU_BLOCK) {
        const int64_t block_end = xg_min_i64(block + XG_LU_BLOCK, columns);
        for (int64_t at = block; at < block_end && status == XG_OK; at += XG_LU_PANEL) {
            const int64_t end = xg_min_i64(at + XG_LU_PANEL, block_end);
            status = factorize(&run, block, at, end, end == block_end);
            if (status == XG_OK && block_end - block > XG_LU_PANEL)
                status = apply_and_update(&run, at, end - at, (struct span){block, end, block_end});
        }
        if (status == XG_OK)
            status = apply_and_update(&run, block, block_end - block,
                                      (struct span){0, block_end, matrix->n});
    }
    return status;
}
