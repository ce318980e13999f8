/* SPDX-License-Identifier: MIT */
/* A matrix in device memory that a routine needs beside its operands. */
#ifndef XG_SOLVER_SPARE_H
#define XG_SOLVER_SPARE_H

#include "base/problem.h"
#include "device/dev.h"

struct xg_solver_spare {
    CUdeviceptr at, from; /* it, and A */
    int64_t ld, n;        /* of A */
    enum xg_type type;
    CUstream stream;
};

/* Each queues work on the stream. XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */

/* A, with its leading dimension. */
enum xg_status xg_solver_spare_copy(const struct xg_dev *dev, const struct xg_solver_spare *spare);

/* The unit matrix, with A's leading dimension. ones: page-locked memory for n elements, in use as
 * long as the stream works. */
enum xg_status xg_solver_spare_unit(const struct xg_dev *dev, const struct xg_solver_spare *spare,
                                    double *ones);

/* The R of A's QR factorization with zeros below it: n columns of 2 n elements. Behind them lie n n
 * elements more, which it uses. */
enum xg_status xg_solver_spare_triangle(const struct xg_dev *dev,
                                        const struct xg_solver_spare *spare);

#endif
