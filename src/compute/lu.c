/* SPDX-License-Identifier: MIT */
#include "compute/lu.h"

#include "base/integers.h"
#include "compute/cublas.h"

/* --- Kernels --------------------------------------------------------------------------------- */

void xg_lu_open(struct xg_dev *dev, enum xg_type type, struct xg_lu *lu)
{
    const struct xg_panel_entry entries[] = {
        {"lu_panel_sm90", "xg_lu_panel_%c1_sm90", 0, &lu->panel.one},
        {"lu_panel_sm90", "xg_lu_panel_%c_sm90", 0, &lu->panel.cluster},
        {"lu_panel_sm90", "xg_lu_panel_%c_tall_sm90", 0, &lu->panel.tall},
        {"lu_apply_sm90", "xg_lu_apply_%c_panel_sm90", 0, &lu->apply_panel},
        {"lu_apply_sm90", "xg_lu_apply_%c_block_sm90", XG_LU_APPLY_BYTES(XG_PANEL_BLOCK),
         &lu->apply_block},
    };
    if (lu->looked)
        return;
    *lu = (struct xg_lu){.looked = true,
                         .panel = {.threads = XG_PANEL_ROWS, .tall_threads = XG_PANEL_TALL_ROWS}};
    (void)xg_panel_open(dev, type, entries, sizeof entries / sizeof entries[0], &lu->panel);
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
    return matrix->work + (block ? 2 * XG_PANEL * sizeof(struct xg_lu_move) : 0);
}

/* Factorizes columns [first,end), a panel of the block that begins at column `block`; last: it is
 * the block's last panel. */
static enum xg_status factorize(const struct run *run, int64_t block, int64_t first, int64_t end,
                                bool last)
{
    const struct xg_lu_matrix *matrix = run->matrix;
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
        .sources = matrix->work + 2 * (XG_PANEL + XG_PANEL_BLOCK) * sizeof(struct xg_lu_move),
    };
    return xg_panel_launch(run->dev, &run->lu->panel, rows, &args, run->stream);
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
    const bool block = k > XG_PANEL;
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
    const struct xg_panel_grid grid = {.groups = strips,
                                       .blocks = 1,
                                       .threads = XG_LU_APPLY_THREADS,
                                       .smem_bytes =
                                           XG_LU_APPLY_BYTES(block ? XG_PANEL_BLOCK : XG_PANEL)};
    if (strips == 0)
        return XG_OK;
    return xg_panel_launch_grid(run->dev, block ? run->lu->apply_block : run->lu->apply_panel, grid,
                                &args, run->stream);
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
    for (int64_t block = 0; block < columns && status == XG_OK; block += XG_PANEL_BLOCK) {
        const int64_t block_end = xg_min_i64(block + XG_PANEL_BLOCK, columns);
        for (int64_t at = block; at < block_end && status == XG_OK; at += XG_PANEL) {
            const int64_t end = xg_min_i64(at + XG_PANEL, block_end);
            status = factorize(&run, block, at, end, end == block_end);
            if (status == XG_OK && block_end - block > XG_PANEL)
                status = apply_and_update(&run, at, end - at, (struct span){block, end, block_end});
        }
        if (status == XG_OK)
            status = apply_and_update(&run, block, block_end - block,
                                      (struct span){0, block_end, matrix->n});
    }
    return status;
}
