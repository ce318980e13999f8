/* SPDX-License-Identifier: MIT */
#include "compute/qr.h"

#include "base/integers.h"
#include "compute/cublas.h"

/* --- Kernels --------------------------------------------------------------------------------- */

enum { SOLVE_BYTES = XG_TRIANGLE_BYTES(XG_PANEL_BLOCK, XG_QR_SOLVE_THREADS / 32) };

void xg_qr_open(struct xg_dev *dev, enum xg_type type, struct xg_qr *qr)
{
    const struct xg_panel_entry entries[] = {
        {"qr_panel_sm90", "xg_qr_panel_%c1_sm90", 0, &qr->panel.one},
        {"qr_panel_sm90", "xg_qr_panel_%c_sm90", 0, &qr->panel.cluster},
        {"qr_panel_sm90", "xg_qr_panel_%c_tall_sm90", 0, &qr->panel.tall},
        {"qr_apply_sm90", "xg_qr_apply_%c_sm90", 0, &qr->apply},
        {"qr_apply_sm90", "xg_qr_solve_%c_sm90", SOLVE_BYTES, &qr->solve},
    };
    if (qr->looked)
        return;
    *qr = (struct xg_qr){.looked = true,
                         .panel = {.threads = XG_QR_THREADS, .tall_threads = XG_QR_THREADS}};
    if (xg_panel_open(dev, type, entries, sizeof entries / sizeof entries[0], &qr->panel))
        qr->panel.rows_most =
            xg_min_i64(qr->panel.rows_most,
                       xg_panel_rows_most(dev, qr->apply, XG_QR_APPLY_THREADS, XG_QR_APPLY_ROWS));
}

/* --- Memory ---------------------------------------------------------------------------------- */

enum { GRAM_BYTES = XG_PANEL_BLOCK * XG_PANEL_BLOCK * (int)sizeof(double) };

/* V's rows are aligned for vector loads of cuBLAS. */
static int64_t ldv_of(int64_t m)
{
    return xg_round_up(m, XG_PANEL);
}

/* The columns of the first block, which is the widest. */
static int64_t first_block(int64_t m, int64_t n)
{
    return xg_min_i64(xg_min_i64(m, n), XG_PANEL_BLOCK);
}

/* W has a row for each column of V. */
static int64_t ldw_of(const struct xg_qr_matrix *matrix)
{
    return xg_round_up(first_block(matrix->m, matrix->n), XG_PANEL);
}

size_t xg_qr_work_bytes(enum xg_type type, int64_t m, int64_t n)
{
    const int64_t width = xg_round_up(first_block(m, n), XG_PANEL);
    if (xg_type_is_complex(type) || m > XG_PANEL_ROWS_MOST)
        return 0;
    return GRAM_BYTES + (size_t)(width * (ldv_of(m) + n - first_block(m, n))) * xg_type_bytes(type);
}

static CUdeviceptr element(const struct xg_qr_matrix *matrix, int64_t row, int64_t column)
{
    return matrix->a + (size_t)(row + column * matrix->ld) * xg_type_bytes(matrix->type);
}

static CUdeviceptr tau(const struct xg_qr_matrix *matrix, int64_t column)
{
    return matrix->tau + (size_t)column * xg_type_bytes(matrix->type);
}

/* G, V and W of a block; rows and columns count from the block's first ones. */
static CUdeviceptr gram(const struct xg_qr_matrix *matrix, int64_t row, int64_t column)
{
    return matrix->work + (size_t)(row + column * XG_PANEL_BLOCK) * sizeof(double);
}

static CUdeviceptr reflector(const struct xg_qr_matrix *matrix, int64_t row, int64_t column)
{
    return matrix->work + GRAM_BYTES +
           (size_t)(row + column * ldv_of(matrix->m)) * xg_type_bytes(matrix->type);
}

static CUdeviceptr product(const struct xg_qr_matrix *matrix)
{
    return reflector(matrix, 0, ldw_of(matrix));
}

/* --- Steps ----------------------------------------------------------------------------------- */

struct run {
    struct xg_dev *dev;
    const struct xg_qr *qr;
    const struct xg_qr_matrix *matrix;
    CUstream stream;
};

/* Factorizes k columns from column `at`, a panel of the block that begins at column `block`. */
static enum xg_status factorize(const struct run *run, int64_t block, int64_t at, int64_t k)
{
    const struct xg_qr_matrix *matrix = run->matrix;
    const int64_t before = at - block;
    struct xg_qr_panel_args args = {
        .a = element(matrix, at, at),
        .ld = matrix->ld,
        .rows = (int32_t)(matrix->m - at),
        .columns = (int32_t)k,
        .before = (int32_t)before,
        .tau = tau(matrix, at),
        .v = reflector(matrix, 0, before),
        .gram = gram(matrix, before, before),
        .ldv = ldv_of(matrix->m),
    };
    return xg_panel_launch(run->dev, &run->qr->panel, args.rows, &args, run->stream);
}

/* Applies the panel to the rest of its block, until column `end`. */
static enum xg_status apply(const struct run *run, int64_t block, int64_t at, int64_t k,
                            int64_t end)
{
    const struct xg_qr_matrix *matrix = run->matrix;
    const int64_t before = at - block, after = end - at - k;
    const int64_t left = end < matrix->n ? before : 0; /* G serves the columns after the block */
    struct xg_qr_apply_args args = {
        .a = element(matrix, at, at + k),
        .v = reflector(matrix, before, 0),
        .tau = tau(matrix, at),
        .gram = gram(matrix, before, 0),
        .ld = matrix->ld,
        .ldv = ldv_of(matrix->m),
        .rows = (int32_t)(matrix->m - at),
        .k = (int32_t)k,
        .before = (int32_t)before,
        .left = (int32_t)left,
        .columns = (int32_t)after,
    };
    const struct xg_panel_grid grid = {.groups = xg_ceil_div(left, XG_QR_STRIP) +
                                                 xg_ceil_div(after, XG_QR_STRIP),
                                       .blocks = xg_ceil_div(args.rows, XG_QR_APPLY_ROWS),
                                       .threads = XG_QR_APPLY_THREADS};
    return grid.groups ? xg_panel_launch_grid(run->dev, run->qr->apply, grid, &args, run->stream)
                       : XG_OK;
}

/* C of `columns` columns becomes C - V TT (VT C). */
static enum xg_status update(const struct run *run, int64_t block, int64_t k, int64_t columns)
{
    const struct xg_qr_matrix *matrix = run->matrix;
    const int64_t rows = matrix->m - block;
    const CUdeviceptr c = element(matrix, block, block + k), w = product(matrix);
    /* Row-major, so transposed: WT = CT V, and then CT -= WT VT. */
    const struct xg_gemm_args multiply = {.type = matrix->type,
                                          .transb = XG_TRANS,
                                          .m = columns,
                                          .n = k,
                                          .k = rows,
                                          .alpha = 1,
                                          .a = c,
                                          .lda = matrix->ld,
                                          .b = reflector(matrix, 0, 0),
                                          .ldb = ldv_of(matrix->m),
                                          .c = w,
                                          .ldc = ldw_of(matrix)};
    const struct xg_gemm_args subtract = {.type = matrix->type,
                                          .m = columns,
                                          .n = rows,
                                          .k = k,
                                          .alpha = -1,
                                          .beta = 1,
                                          .a = w,
                                          .lda = ldw_of(matrix),
                                          .b = reflector(matrix, 0, 0),
                                          .ldb = ldv_of(matrix->m),
                                          .c = c,
                                          .ldc = matrix->ld};
    struct xg_qr_solve_args solve = {.w = w,
                                     .tau = tau(matrix, block),
                                     .gram = gram(matrix, 0, 0),
                                     .ld = ldw_of(matrix),
                                     .k = (int32_t)k,
                                     .columns = (int32_t)columns};
    const struct xg_panel_grid grid = {.groups = xg_ceil_div(columns, XG_QR_SOLVE_STRIP),
                                       .blocks = 1,
                                       .threads = XG_QR_SOLVE_THREADS,
                                       .smem_bytes = SOLVE_BYTES};
    enum xg_status status = xg_cublas_gemm(run->dev, &multiply, false, run->stream);
    if (status == XG_OK)
        status = xg_panel_launch_grid(run->dev, run->qr->solve, grid, &solve, run->stream);
    return status == XG_OK ? xg_cublas_gemm(run->dev, &subtract, false, run->stream) : status;
}

enum xg_status xg_qr_run(struct xg_dev *dev, const struct xg_qr *qr,
                         const struct xg_qr_matrix *matrix, CUstream stream)
{
    const struct run run = {dev, qr, matrix, stream};
    const int64_t columns = xg_min_i64(matrix->m, matrix->n);
    enum xg_status status = XG_OK;
    for (int64_t block = 0; block < columns && status == XG_OK; block += XG_PANEL_BLOCK) {
        const int64_t end = xg_min_i64(block + XG_PANEL_BLOCK, columns);
        for (int64_t at = block; at < end && status == XG_OK; at += XG_PANEL) {
            const int64_t k = xg_min_i64(XG_PANEL, end - at);
            status = factorize(&run, block, at, k);
            if (status == XG_OK)
                status = apply(&run, block, at, k, end);
        }
        if (status == XG_OK && end < matrix->n)
            status = update(&run, block, end - block, matrix->n - end);
    }
    return status;
}
