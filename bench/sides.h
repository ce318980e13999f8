/* SPDX-License-Identifier: MIT */
/* The ways of computing one product that bench/host compares, behind one function type. */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

#include <stdio.h>

#include "src/base/xg.h"

/* Computes *call from host memory to host memory, and returns when C is complete. False: it
 * failed. */
typedef bool side_compute(const struct xg_problem *call);

struct side {
    const char *name;
    side_compute *compute;
};

enum { SIDE_CPU, SIDE_CUBLASXT, SIDE_PLAIN, SIDE_GPU, SIDE_AUTO, SIDE_COUNT };

/*
 * cpu: cblas_sgemm of the library that the benchmark is linked with. cublasxt: cublasXtSgemm, the
 * basis of NVBLAS. plain: cuMemAlloc, cuMemcpyHtoD, cublasSgemm, cuMemcpyDtoH, cuMemFree. gpu: this
 * library's engine without the policy. auto: xg_dispatch, like the shim.
 */
extern const struct side side_table[SIDE_COUNT];

/* Opens device, cuBLAS and engine; false, with a message, if there is none. */
bool sides_open(void);

/* The benchmark's own handle on the device, context current on this thread. */
struct xg_dev *sides_device(void);

/* The link's best rates, for the floor: page-locked memory, 256 MiB, one direction. */
struct link_rates {
    double up_bytes_per_s, down_bytes_per_s;
};
void sides_link(struct link_rates *rates);

/* Begins the line "# device, commit; link; " of a table. */
void sides_print(FILE *out, const char *commit, const struct link_rates *rates);

/* Seconds of the selected kernel on operands in device memory; 0 if they do not fit. */
double sides_kernel_seconds(const struct xg_problem *call, const char **kernel);

#endif
