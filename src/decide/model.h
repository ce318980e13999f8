/* SPDX-License-Identifier: MIT */
/* The first guess: what a product takes on the CPU and on the GPU of this machine. Pure. */
#ifndef XG_MODEL_H
#define XG_MODEL_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/select.h"

/* OpenBLAS computes products of m*n*k up to this, 64^3, on the calling thread. */
#define XG_MODEL_ALONE_MNK 262144.0

/* This machine. Times in seconds, rates in bytes or FLOPs a second. */
struct xg_model {
    double cpu_flops;       /* the caller's BLAS on large products, all cores */
    double cpu_bytes_per_s; /* its packing of operands and writing of C */
    double cpu_call_s;      /* waking its threads */
    double cpu_step_s;      /* its threads meeting, a step of k */
    /* Link between host and device, staged from ordinary memory, one direction. */
    double up_bytes_per_s, down_bytes_per_s;
    double gpu_clock_hz; /* turns selection's cycles into time */
    double gpu_call_s;   /* driver calls, waking the staging team, waiting for the end */
    double gpu_fill_s;   /* below this much of the longest stage, no stage hides another */
    double gpu_start_s;  /* driver, context, memory: until the first product can run there */
    double gpu_price_s;  /* what a start costs the program, which goes on meanwhile */
    struct xg_device_facts device;
    int cpu_threads;   /* that the CPU library uses */
    bool gpu_measured; /* the GPU's figures are a calibration's, of that device */
};

/* What an open device says of itself. */
struct xg_model_device {
    struct xg_device_facts facts;
    double clock_hz;         /* at most; 0: it does not say */
    double link_bytes_per_s; /* one direction, as the bus is wired; 0: it does not say */
    char name[96];
};

/*
 * Figures of the reference machine (one H200, a Xeon with AVX-512), scaled to the number of cores
 * that the process may use.
 */
void xg_model_init(struct xg_model *model, int cores);

/* The CPU library uses that many threads: its figures are scaled to them. */
void xg_model_set_threads(struct xg_model *model, int threads);

/* The end of the program does not wait for the GPU (teardown.h): a start costs less. */
void xg_model_leave_exit(struct xg_model *model);

/*
 * Replaces the reference device by the one that was opened, its rates scaled by what it says of
 * itself. Figures that a calibration measured on such a device stay.
 */
void xg_model_set_device(struct xg_model *model, const struct xg_model_device *device);

/* So many threads stage, at least 1: the link gets what they copy. */
void xg_model_limit_staging(struct xg_model *model, int threads);

/*
 * The m*n*k at which a small product, alone on one core and taking scale times as long as
 * predicted, takes as long as a call of the GPU that moves nothing.
 */
double xg_model_even_mnk(const struct xg_model *model, double scale);

/* Predicted seconds; finite and positive for every shape with m, n, k >= 1. */
double xg_model_cpu_seconds(const struct xg_model *model, const struct xg_problem *call);
double xg_model_gpu_seconds(const struct xg_model *model, enum xg_math math,
                            const struct xg_problem *call);

#endif
