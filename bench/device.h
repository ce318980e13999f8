/* SPDX-License-Identifier: MIT */
/* What both benchmarks with a device of their own need of it. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "src/compute/gemm_args.h"
#include "src/device/dev.h"

/* cuEventElapsedTime, which the library itself does not use; NULL if the driver lacks it. */
typedef CUresult device_elapsed(float *milliseconds, CUevent begin, CUevent end);
device_elapsed *device_elapsed_function(const struct xg_dev *dev);

/* The product *p with its matrices in device memory. */
struct xg_gemm_args device_gemm(const struct xg_problem *p, CUdeviceptr a, CUdeviceptr b,
                                CUdeviceptr c);

#endif
