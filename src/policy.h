/* SPDX-License-Identifier: MIT */
/* Where a product finishes first. Pure: a model of the machine and a shape in, a decision out. */
#ifndef XG_POLICY_H
#define XG_POLICY_H

#include "conf.h"
#include "stats.h"
#include "xg.h"

/*
 * This machine. Times in seconds, rates in bytes or FLOPs a second. The rates are first guesses
 * (policy.c says where from) and stay; what is observed moves the two scales only, so that the
 * first guess can be had back (XGEMM_REPRODUCIBLE).
 */
struct xg_machine {
    double cpu_flops;       /* the caller's BLAS on large products, all cores */
    double cpu_bytes_per_s; /* its packing of operands and writing of C */
    double cpu_call_s;      /* waking its threads; 0 on one core */
    double cpu_step_s;      /* its threads meeting, a step of k; 0 on one core */
    /* Link between host and device, staged from ordinary memory, one direction. */
    double up_bytes_per_s, down_bytes_per_s;
    double gpu_flops;   /* the chosen kernel, operands on the device */
    double gpu_call_s;  /* launches, synchronisation, waking the staging team */
    double gpu_start_s; /* driver, context, memory: paid once */
    /* Observed over predicted, 1 at first; predictions are multiplied by them. */
    double cpu_scale, gpu_scale;
    long cpu_calls, gpu_calls; /* observed */
};

/* Defaults before anything was observed, from the number of cores that the process may use. */
void xg_machine_init(struct xg_machine *machine, int cores);

/* Predicted seconds; finite and positive for every shape with m, n, k >= 1. */
double xg_policy_cpu_seconds(const struct xg_machine *machine, const struct xg_sgemm *call);
double xg_policy_gpu_seconds(const struct xg_machine *machine, const struct xg_sgemm *call);

/*
 * A measured call corrects its side of the model: a weighted mean of the logarithm of observed over
 * predicted, in which no call counts for more than a factor of 2. The first GPU call is ignored (it
 * pays for loading the kernels and taking memory). Not safe from two threads at once: the caller
 * locks.
 */
void xg_policy_observe_cpu(struct xg_machine *machine, const struct xg_sgemm *call, double seconds);
void xg_policy_observe_gpu(struct xg_machine *machine, const struct xg_sgemm *call, double seconds);

/* The state of the engine as the policy sees it. */
enum xg_engine_state {
    XG_ENGINE_COLD,     /* not started */
    XG_ENGINE_STARTING, /* starting in the background */
    XG_ENGINE_READY,
    XG_ENGINE_NONE,   /* no driver, device or kernel; or failed too often */
    XG_ENGINE_FORKED, /* this process is a child of one that had started */
};

struct xg_decision {
    enum xg_place place; /* XG_PLACE_BOTH: compare */
    enum xg_reason reason;
    bool start;          /* start the engine in the background now */
    bool wait;           /* place is the GPU (or both): wait until the engine has started */
    double cpu_s, gpu_s; /* the predictions; 0 when not asked */
};

/*
 * In auto mode, a product that the GPU would finish first runs there once the engine is ready;
 * until then on the CPU, and the engine is started when start-up has been earned. A product that
 * saves more than all of start-up by itself waits for it. With XGEMM_REPRODUCIBLE the first guess
 * alone decides, and waits.
 *
 * earned_s: the CPU time so far that the GPU would have saved in this process, not counting this
 * call. The caller adds max(0, cpu_s - gpu_s) of each call that it ran on the CPU for
 * XG_REASON_EARNING or XG_REASON_STARTING.
 */
void xg_policy_decide(const struct xg_machine *machine, const struct xg_conf *conf,
                      enum xg_engine_state state, double earned_s, const struct xg_sgemm *call,
                      struct xg_decision *decision);

/*
 * Products with m*n*k below this never pay on any GPU under this configuration: the shim forwards
 * them without asking further. 0 when every call must be looked at (gpu, compare, statistics or a
 * line a call wanted), HUGE_VAL when none (cpu).
 */
double xg_policy_floor_mnk(const struct xg_conf *conf);

#endif
