/* SPDX-License-Identifier: MIT */
/* Launches one row of the kernel table on operands in device memory. */
#ifndef XG_LAUNCH_H
#define XG_LAUNCH_H

#include "device/dev.h"
#include "device/mem.h"
#include "kernels/kabi.h"
#include "kernels/table.h"

/*
 * Enqueues row's kernel for *args (kernels/kabi.h: row-major, device addresses) on the stream, and
 * returns without waiting. Loads the row's image, or cuBLAS, on first use.
 *
 * Returns XG_OK; XG_DECLINED when the row does not serve these arguments (alignment of a
 * XG_KERNEL_VEC4 row, a shape beyond a one-block row, the device's compute capability, more than
 * 2^31 - 1 blocks, no scratch where the row needs some); XG_ERR_NOTFOUND when the image lacks the
 * entry or cuBLAS is not there; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The device's context must
 * be current; from any thread, but a stream belongs to one thread at a time.
 */
enum xg_status xg_launch_sgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_sgemm_args *args, CUstream stream);

/*
 * The same for a row of double, which needs no scratch, or cuBLAS's. k may be 0.
 */
enum xg_status xg_launch_dgemm(struct xg_dev *dev, const struct xg_kernel *row,
                               const struct xg_dgemm_args *args, CUstream stream);

/*
 * Sees to the scratch that the row needs for these arguments: grows *memory where it is short, and
 * sets args->scratch. What is enqueued meanwhile must not use the memory. As xg_mem_dev_reserve.
 * Benchmarks and tests do so, whose operands are on the device: the engine's runs have none, and
 * selection takes no row for them that needs some.
 */
enum xg_status xg_launch_reserve(struct xg_dev *dev, const struct xg_kernel *row,
                                 struct xg_mem_dev *memory, struct xg_sgemm_args *args);

#endif
