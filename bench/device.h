/* SPDX-License-Identifier: MIT */
/* What both benchmarks with a device of their own need of it. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "src/compute/gemm_args.h"
#include "src/device/dev.h"

/* Ends the program after the message "WHAT: WHY"; device_must does, unless the status is XG_OK. */
_Noreturn void device_die(const char *what, const char *why);
void device_must(enum xg_status status, const char *what);

/* A function of the driver that the library itself does not use, under one of its names (`newer`
 * may be NULL). Ends the program if the driver lacks it. */
void *device_function(const struct xg_dev *dev, const char *name, const char *newer);

typedef CUresult device_elapsed(float *milliseconds, CUevent begin, CUevent end);
device_elapsed *device_elapsed_function(const struct xg_dev *dev);

/* The product *p with its matrices in device memory. */
struct xg_gemm_args device_gemm(const struct xg_problem *p, CUdeviceptr a, CUdeviceptr b,
                                CUdeviceptr c);

#endif
