/* SPDX-License-Identifier: MIT */
/* Launches what selection chose on operands in device memory. */
#ifndef XG_LAUNCH_H
#define XG_LAUNCH_H

#include "compute/gemm_args.h"
#include "decide/select.h"
#include "device/dev.h"
#include "device/mem.h"

/*
 * Enqueues the product on the stream as *choice says, which selection made for gemm's shape on this
 * device, and returns without waiting. Loads the row's image, or cuBLAS, on first use. k of
 * XG_TYPE_D may be 0.
 *
 * Returns XG_OK; XG_DECLINED when the choice does not fit these arguments (no row, alignment of a
 * XG_KERNEL_VEC4 row, more than 2^31 - 1 blocks, no scratch where the row needs some);
 * XG_ERR_NOTFOUND when the image lacks the entry or cuBLAS is not there; XG_ERR_NOMEM,
 * XG_ERR_DRIVER, XG_ERR_LOST. The device's context must be current; from any thread, but a stream
 * belongs to one thread at a time.
 */
enum xg_status xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                              const struct xg_gemm_args *gemm, CUstream stream);

/*
 * Reserves the scratch that the choice needs for these arguments: grows *memory where it is too
 * small, and sets gemm->scratch. What is enqueued meanwhile must not use the memory. Returns what
 * xg_mem_dev_reserve does. For benchmarks and tests, whose operands are on the device: the engine
 * reserves no scratch, and selection takes no row for it that needs some.
 */
enum xg_status xg_launch_reserve(struct xg_dev *dev, const struct xg_choice *choice,
                                 struct xg_mem_dev *memory, struct xg_gemm_args *gemm);

#endif
