/* SPDX-License-Identifier: MIT */
/* Launches one row of the kernel table on operands in device memory. */
#ifndef XG_LAUNCH_H
#define XG_LAUNCH_H

#include "../kernels/kabi.h"
#include "../kernels/table.h"
#include "dev.h"

/*
 * Enqueues row's kernel for *args (kernels/kabi.h: row-major, device addresses) on the stream, and
 * returns without waiting. Loads the row's image, or cuBLAS, on first use.
 *
 * Returns XG_OK; XG_DECLINED when the row does not serve these arguments (alignment of a
 * XG_KERNEL_VEC4 row, a shape beyond a one-block row, the device's compute capability, more than
 * 2^31 - 1 blocks); XG_ERR_NOTFOUND when the image lacks the entry or cuBLAS is not there;
 * XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The device's context must be current; from any thread,
 * but a stream belongs to one thread at a time.
 */
enum xg_status xg_launch_sgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_sgemm_args *args, CUstream stream);

#endif
