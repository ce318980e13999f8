/* SPDX-License-Identifier: MIT */
/* QR factorization by Householder reflectors on Hopper. One cluster factorizes each panel. */
#ifndef XG_QR_H
#define XG_QR_H

#include "compute/panel.h"
#include "kernels/lapack/qr_kabi.h"

/*
 * The algorithm is right-looking and blocked twice: panels of 32 columns (qr_panel_sm90.cu in
 * kernels/lapack/) in blocks of 128. qr_apply_sm90.cu applies a panel to the rest of its block.
 * cuBLAS applies a block to the columns to its right, in two products; between them a kernel solves
 * with the block's triangle.
 */

/* The kernels of one type on one device. The caller zeroes the struct before xg_qr_open. */
struct xg_qr {
    bool looked;
    struct xg_panel_kernels panel;
    CUfunction apply, solve;
};

/* A column-major (m,n) in device memory, and where the results go: R, the reflectors below it, and
 * tau, as LAPACK's geqrf. */
struct xg_qr_matrix {
    enum xg_type type;
    int64_t m, n, ld;
    CUdeviceptr a;
    CUdeviceptr tau;  /* min(m,n) of the type */
    CUdeviceptr work; /* xg_qr_work_bytes */
};

/* 0 if no device's kernels serve the matrix. Pure. */
size_t xg_qr_work_bytes(enum xg_type type, int64_t m, int64_t n);

/* Finds the kernels at the first call; later calls return at once. The device's context must be
 * current, here and below. */
void xg_qr_open(struct xg_dev *dev, enum xg_type type, struct xg_qr *qr);

/* Enqueues the factorization. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_NOMEM, XG_ERR_LOST; after a
 * failure the matrix is undefined. */
enum xg_status xg_qr_run(struct xg_dev *dev, const struct xg_qr *qr,
                         const struct xg_qr_matrix *matrix, CUstream stream);

#endif
