/* SPDX-License-Identifier: MIT */
/* The first guess: what a product takes on the CPU and on the GPU of this machine. Pure. */
#ifndef XG_MACHINE_H
#define XG_MACHINE_H

#include "conf.h"
#include "select.h"
#include "xg.h"

/* This machine. Times in seconds, rates in bytes or FLOPs a second. */
struct xg_machine {
    double cpu_flops;       /* the caller's BLAS on large products, all cores */
    double cpu_bytes_per_s; /* its packing of operands and writing of C */
    double cpu_call_s;      /* waking its threads */
    double cpu_step_s;      /* its threads meeting, a step of k */
    /* Link between host and device, staged from ordinary memory, one direction. */
    double up_bytes_per_s, down_bytes_per_s;
    double gpu_clock_hz; /* turns selection's cycles into time */
    double gpu_call_s;   /* driver calls, waking the staging team, waiting for the end */
    double gpu_fill_s;   /* below this much of the longest stage, no stage hides another */
    double gpu_start_s;  /* driver, context, memory: paid once */
    struct xg_device_facts device;
};

/*
 * Figures of the reference machine (one H200, a Xeon with AVX-512), scaled to the number of cores
 * that the process may use.
 */
void xg_machine_init(struct xg_machine *machine, int cores);

/*
 * The m*n*k at which a small product, alone on one core and taking scale times as long as
 * predicted, takes as long as a call of the GPU that moves nothing.
 */
double xg_machine_even_mnk(const struct xg_machine *machine, double scale);

/* Predicted seconds; finite and positive for every shape with m, n, k >= 1. */
double xg_machine_cpu_seconds(const struct xg_machine *machine, const struct xg_sgemm *call);
double xg_machine_gpu_seconds(const struct xg_machine *machine, enum xg_math math,
                              const struct xg_sgemm *call);

#endif
