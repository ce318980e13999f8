/* SPDX-License-Identifier: MIT */
/* The ways of computing one product that bench/host compares, behind one function type. */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

#include "device.h"
#include "src/base/xg.h"

/* Computes *call, host memory to host memory, and returns when C is there. False: it could not. */
typedef bool side_compute(const struct xg_problem *call);

struct side {
    const char *name;
    side_compute *compute;
};

enum { SIDE_CPU, SIDE_CUBLASXT, SIDE_PLAIN, SIDE_GPU, SIDE_AUTO, SIDE_COUNT };

/*
 * cpu: cblas_sgemm of the library that the benchmark is linked with. cublasxt: cublasXtSgemm, which
 * NVBLAS runs on. plain: cuMemAlloc, cuMemcpyHtoD, cublasSgemm, cuMemcpyDtoH, cuMemFree. gpu: this
 * library's engine, whatever the policy says. auto: xg_dispatch_problem, as the shim calls it.
 */
extern const struct side side_table[SIDE_COUNT];

/* Opens device, cuBLAS and engine; false (and a message) where there is none. */
bool sides_open(void);

/* The benchmark's own handle on the device, context current on this thread. */
struct xg_dev *sides_device(void);

/* For the floor. */
void sides_link(struct link_rates *rates);

/* Seconds of the selected kernel on operands in device memory; 0 where they do not fit. */
double sides_kernel_seconds(const struct xg_problem *call, const char **kernel);

#endif
