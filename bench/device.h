/* SPDX-License-Identifier: MIT */
/* Measurements on the device itself. Its context must be current. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stdio.h>

#include "src/compute/gemm_args.h"
#include "src/device/dev.h"

/* cuEventElapsedTime, which the library itself does not use; NULL if the driver lacks it. */
typedef CUresult device_elapsed(float *milliseconds, CUevent begin, CUevent end);
device_elapsed *device_elapsed_function(const struct xg_dev *dev);

/* Creates a stream for timed work; ends the program on failure. The stream is never destroyed. */
CUstream device_stream(const struct xg_dev *dev);

/*
 * Seconds on the device between two events around work(), which enqueues on the stream: the best of
 * three after a warm-up. Ends the program if work() fails.
 */
double device_seconds(struct xg_dev *dev, CUstream stream,
                      enum xg_status (*work)(void *arg, CUstream stream), void *arg);

/* The link's best rates: page-locked memory, 256 MiB, one direction. */
struct link_rates {
    double up_bytes_per_s, down_bytes_per_s;
};
void device_link(struct xg_dev *dev, CUstream stream, struct link_rates *rates);

/* Begins the line "# device, commit; link; " of a table. */
void device_print(FILE *out, const struct xg_dev *dev, const char *commit,
                  const struct link_rates *rates);

/* The product *p with its matrices in device memory. */
struct xg_gemm_args device_gemm(const struct xg_problem *p, CUdeviceptr a, CUdeviceptr b,
                                CUdeviceptr c);

#endif
