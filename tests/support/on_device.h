/* SPDX-License-Identifier: MIT */
/* Products of operands that lie on a device, by any row of the kernel table; for tests on a device
 * and for benchmarks. */
#ifndef ON_DEVICE_H
#define ON_DEVICE_H

#include "src/compute/launch.h"
#include "src/device/mem.h"

/*
 * Enqueues the product, by xg_launch_gemm or, for a row of pieces or residues, by the split of all
 * of both operands and their product. Programs split operands panel by panel as they arrive
 * (src/compute/runner.c). *memory grows to what the split needs, and nothing else may use it until
 * the product has ended. dev->split or dev->residue must be the row's.
 *
 * Returns the statuses of xg_launch_gemm and of xg_mem_dev_reserve.
 */
enum xg_status on_device_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                              const struct xg_gemm_args *gemm, struct xg_mem_dev *memory,
                              CUstream stream);

#endif
