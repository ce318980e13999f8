/* SPDX-License-Identifier: MIT */
/* Makes a matrix in device memory Hermitian, by kernels/lapack/mirror_sm75.cu. */
#ifndef XG_MIRROR_H
#define XG_MIRROR_H

#include "base/problem.h"
#include "device/dev.h"
#include "kernels/lapack/mirror_kabi.h"

/* Finds the type's kernel. Returns the statuses of xg_image_entry; *out is set only on XG_OK. */
enum xg_status xg_mirror_open(struct xg_dev *dev, enum xg_type type, CUfunction *out);

/* Enqueues the copy of one triangle over the other. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_mirror_run(const struct xg_dev *dev, CUfunction mirror,
                             struct xg_mirror_args args, CUstream stream);

#endif
