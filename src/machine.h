/* SPDX-License-Identifier: MIT */
/* The first guess: what a product takes on the CPU and on the GPU of this machine. Pure. */
#ifndef XG_MACHINE_H
#define XG_MACHINE_H

#include "conf.h"
#include "memo.h"
#include "select.h"
#include "xg.h"

/* OpenBLAS computes products of m*n*k up to this, 64^3, on the calling thread. */
#define XG_MACHINE_ALONE_MNK 262144.0

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
    double gpu_start_s;  /* driver, context, memory: until the first product can run there */
    double gpu_price_s;  /* what a start costs the program, which goes on meanwhile */
    struct xg_device_facts device;
    struct xg_memo *memo; /* for selection, or NULL; whoever sets it looks after its threads */
    int cpu_threads;      /* that the CPU library uses */
    bool gpu_measured;    /* the GPU's figures are a calibration's, of that device */
};

/* What an open device says of itself. */
struct xg_machine_device {
    struct xg_device_facts facts;
    double clock_hz;         /* at most; 0: it does not say */
    double link_bytes_per_s; /* one direction, as the bus is wired; 0: it does not say */
};

/*
 * Figures of the reference machine (one H200, a Xeon with AVX-512), scaled to the number of cores
 * that the process may use.
 */
void xg_machine_init(struct xg_machine *machine, int cores);

/* The CPU library uses that many threads: its figures are scaled to them. */
void xg_machine_set_threads(struct xg_machine *machine, int threads);

/*
 * Replaces the reference device by the one that was opened, its rates scaled by what it says of
 * itself. Figures that a calibration measured on such a device stay.
 */
void xg_machine_set_device(struct xg_machine *machine, const struct xg_machine_device *device);

/* So many threads stage, at least 1: the link gets what they copy. */
void xg_machine_limit_staging(struct xg_machine *machine, int threads);

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
