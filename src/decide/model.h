/* SPDX-License-Identifier: MIT */
/* Predicts the time of a product on the CPU and on the GPU of this machine. Pure. */
#ifndef XG_MODEL_H
#define XG_MODEL_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/ledger.h"
#include "decide/route.h"

/* OpenBLAS computes products with m*n*k up to this, 64^3, on the calling thread. */
#define XG_MODEL_ALONE_MNK 262144.0

enum { XG_MODEL_LARGE = 4096 };

/* This machine. Times in seconds, rates in bytes or FLOPs a second. */
struct xg_model {
    double cpu_flops;       /* the caller's BLAS on large products, all cores */
    double cpu_bytes_per_s; /* its packing of operands and writing of C */
    double cpu_call_s;      /* waking its threads */
    double cpu_step_s;      /* synchronizing its threads, per step of k */
    /* Link between host and device, staged from ordinary memory, one direction. */
    double up_bytes_per_s, down_bytes_per_s;
    double gpu_clock_hz; /* converts selection's cycles into time */
    double gpu_call_s;   /* driver calls, waking the staging team, waiting for the end */
    double gpu_fill_s;   /* stages do not overlap if the longest one is shorter than this */
    double starts_s[XG_RESOURCE_COUNT]; /* what starts take, until a call can use what they start */
    double gpu_price_s; /* cost of a start for the program, which goes on meanwhile */
    struct xg_device_facts device;
    double
        large_cycles[XG_TYPE_COUNT]; /* of its kernels on a square product of side XG_MODEL_LARGE */
    int cpu_threads;                 /* that the CPU library uses */
    bool gpu_panels;                 /* our kernels factorize (compute/panel.h) */
    bool gpu_measured;               /* the GPU's figures are a calibration's, of that device */
};

/* The properties of an open device. */
struct xg_model_device {
    struct xg_device_facts facts;
    double clock_hz;         /* maximum; 0: not known */
    double link_bytes_per_s; /* one direction, as the bus is wired; 0: not known */
    char name[96];
};

/*
 * Figures of the reference machine (one H200, a Xeon with AVX-512), scaled to the number of cores
 * that the process may use.
 */
void xg_model_init(struct xg_model *model, int cores);

/* Scales the CPU library's figures to its number of threads. */
void xg_model_set_threads(struct xg_model *model, int threads);

/* Lowers the cost of a start, because the program's end does not wait for the GPU (teardown.h). */
void xg_model_leave_exit(struct xg_model *model);

/*
 * Replaces the reference device by the open one and scales the rates by its properties. Figures
 * that a calibration measured on such a device stay.
 */
void xg_model_set_device(struct xg_model *model, const struct xg_model_device *device);

/* Selects the kernels for large products again, after a change of the device. */
void xg_model_set_large(struct xg_model *model);

/*
 * The m*n*k of a product on one core that takes as long as an empty GPU call, if small products
 * take scale times the prediction.
 */
double xg_model_even_mnk(const struct xg_model *model, double scale);

/* Predicted seconds; finite and positive for every shape with m, n, k >= 1. */
double xg_model_cpu_seconds(const struct xg_model *model, const struct xg_problem *call);
double xg_model_gpu_seconds(const struct xg_model *model, enum xg_math math,
                            const struct xg_problem *call);

/*
 * The same with the settings in *conf, if `staging_threads` threads, at least one, copy operands.
 * Sets *route, by which such a device computes the problem once it is open; of a batch whose
 * instances run one after the other it is an instance's. recent: see route.h.
 */
double xg_model_route_seconds(const struct xg_model *model, const struct xg_conf *conf,
                              int staging_threads, const struct xg_problem *call,
                              struct xg_recent *recent, struct xg_route *route);

#endif
