/* SPDX-License-Identifier: MIT */
/* A matrix in device memory that a routine needs beside its operands. */
#ifndef XG_SOLVER_SPARE_H
#define XG_SOLVER_SPARE_H

#include "base/problem.h"
#include "device/dev.h"

struct xg_solver_spare {
    CUdeviceptr at, from; /* the spare matrix, and A */
    int64_t ld, n;        /* of A */
    enum xg_type type;
    CUstream stream;
};

/* Each function enqueues work on the stream. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */

/* Makes a copy of A, with A's leading dimension. */
enum xg_status xg_solver_spare_copy(const struct xg_dev *dev, const struct xg_solver_spare *spare);

/* Makes the unit matrix, with A's leading dimension. ones: page-locked memory for n elements, in
 * use until the stream has done this work. */
enum xg_status xg_solver_spare_unit(const struct xg_dev *dev, const struct xg_solver_spare *spare,
                                    double *ones);

/* Makes the R of A's QR factorization with zeros below it: n columns of 2 n elements. It uses the n
 * n elements behind them, too. */
enum xg_status xg_solver_spare_triangle(const struct xg_dev *dev,
                                        const struct xg_solver_spare *spare);

#endif
