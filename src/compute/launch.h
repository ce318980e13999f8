/* SPDX-License-Identifier: MIT */
/* Launches the kernel that selection chose on operands in device memory. */
#ifndef XG_LAUNCH_H
#define XG_LAUNCH_H

#include "compute/gemm_args.h"
#include "decide/select.h"
#include "device/dev.h"

/*
 * Enqueues the product on the stream with *choice, which selection made for gemm's shape on this
 * device, and returns without waiting. Loads the row's image, or cuBLAS, on first use. k of
 * XG_TYPE_D may be 0.
 *
 * Returns XG_OK; XG_DECLINED if the choice does not fit these arguments (no row, a row of pieces or
 * residues, alignment of a XG_KERNEL_VEC4 row, more than 2^31 - 1 blocks); XG_ERR_NOTFOUND if the
 * image lacks the entry or there is no cuBLAS; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The
 * device's context must be current. Callable from any thread, but only one thread at a time may use
 * a stream.
 */
enum xg_status xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                              const struct xg_gemm_args *gemm, CUstream stream);

/* The attribute of a launch in clusters of this many adjacent blocks of the grid. Pure. */
CUlaunchAttribute xg_launch_cluster(int blocks);

#endif
