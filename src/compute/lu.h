/* SPDX-License-Identifier: MIT */
/* LU factorization with partial pivoting on Hopper. One cluster factorizes each panel. */
#ifndef XG_LU_H
#define XG_LU_H

#include "compute/panel.h"
#include "kernels/lapack/lu_kabi.h"

/*
 * The algorithm is right-looking and blocked twice: panels of 32 columns (lu_panel_sm90.cu in
 * kernels/lapack/) in blocks of 128. lu_apply_sm90.cu applies a panel to the rest of its block, and
 * a block to all other columns; cuBLAS multiplies. The factorization takes 0.5 to 0.8 of the time
 * of cuSOLVER's getrf.
 */

/* The kernels of one type on one device. The caller zeroes the struct before xg_lu_open. */
struct xg_lu {
    bool looked;
    struct xg_panel_kernels panel;
    CUfunction apply_panel, apply_block;
};

/* A column-major (m,n) in device memory, and where the results go. */
struct xg_lu_matrix {
    enum xg_type type;
    int64_t m, n, ld;
    CUdeviceptr a;
    CUdeviceptr pivots; /* int64_t for each of min(m,n) columns, as LAPACK numbers rows */
    CUdeviceptr info;   /* int, 0 before: LAPACK's */
    CUdeviceptr work;   /* XG_LU_WORK_BYTES */
};

enum {
    XG_LU_WORK_BYTES = 2 * (XG_PANEL + XG_PANEL_BLOCK) * (int)sizeof(struct xg_lu_move) +
                       XG_PANEL_ROWS_MOST * (int)sizeof(int32_t)
};

/* Finds the kernels at the first call; later calls return at once. The device's context must be
 * current, here and below. */
void xg_lu_open(struct xg_dev *dev, enum xg_type type, struct xg_lu *lu);

/* Enqueues the factorization. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_NOMEM, XG_ERR_LOST; after a
 * failure the matrix is undefined. */
enum xg_status xg_lu_run(struct xg_dev *dev, const struct xg_lu *lu,
                         const struct xg_lu_matrix *matrix, CUstream stream);

#endif
