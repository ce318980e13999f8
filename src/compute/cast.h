/* SPDX-License-Identifier: MIT */
/* Copies between precisions in device memory, by kernels/lapack/cast_sm75.cu. */
#ifndef XG_CAST_H
#define XG_CAST_H

#include "base/problem.h"
#include "device/dev.h"
#include "kernels/lapack/cast_kabi.h"

struct xg_cast {
    CUfunction widen, narrow; /* to the type and from it */
    bool complex;
};

/* Finds the kernels of XG_TYPE_D or XG_TYPE_Z. Returns the statuses of xg_image_entry; *out is
 * complete only on XG_OK. */
enum xg_status xg_cast_open(struct xg_dev *dev, enum xg_type type, struct xg_cast *out);

/* Each enqueues a copy of `columns` columns. Rows and leading dimensions count elements of the
 * type. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_cast_widen(const struct xg_dev *dev, const struct xg_cast *cast,
                             struct xg_cast_args args, int64_t columns, CUstream stream);
enum xg_status xg_cast_narrow(const struct xg_dev *dev, const struct xg_cast *cast,
                              struct xg_cast_args args, int64_t columns, CUstream stream);

#endif
