/* SPDX-License-Identifier: MIT */
/* The account of what happened: calls, places, reasons, FLOPs, bytes, times. Printed at exit. */
#ifndef XG_STATS_H
#define XG_STATS_H

#include <stdint.h>
#include <stdio.h>

#include "xg.h"

/* Where a call ran. */
enum xg_place { XG_PLACE_CPU, XG_PLACE_GPU, XG_PLACE_BOTH /* compare, or finished by the CPU */ };

/* "CPU", "GPU" or "both". */
const char *xg_place_text(enum xg_place place);

/* Why it ran there. xg_reason_text gives the words that XGEMM_VERBOSE and the statistics print. */
enum xg_reason {
    XG_REASON_MODE,       /* XGEMM_MODE says so */
    XG_REASON_SMALL,      /* below the size that could ever pay */
    XG_REASON_MODEL,      /* the cost model says that it finishes here first */
    XG_REASON_EARNING,    /* the GPU would be faster, but start-up is not earned yet */
    XG_REASON_STARTING,   /* the GPU is starting in the background */
    XG_REASON_BUSY,       /* the GPU is computing other threads' calls */
    XG_REASON_MEMORY,     /* it does not fit the device memory, not even in tiles */
    XG_REASON_FORKED,     /* child of a process that used the GPU */
    XG_REASON_NO_GPU,     /* no driver, no device, or no kernel for the device */
    XG_REASON_FAILED,     /* a failure on the GPU: finished by the CPU */
    XG_REASON_DEGENERATE, /* a dimension or scalar is 0: nothing to multiply */
    XG_REASON_COUNT
};

const char *xg_reason_text(enum xg_reason reason);

/* One finished call. */
struct xg_call_record {
    const char *symbol;   /* the name that the program called: "cblas_sgemm"; a static string */
    struct xg_sgemm call; /* the pointers in it are not followed */
    enum xg_place place;
    enum xg_reason reason;
    const char *kernel; /* the row's name, or NULL on the CPU; a static string */
    double seconds;     /* wall time, all of it */
    double predicted_cpu_s, predicted_gpu_s; /* what the policy thought; 0 when it was not asked */
    double waited_s;                         /* of the wall time: for a lane of the GPU */
    uint64_t up_bytes, down_bytes;           /* moved over the link */
    double spin_s; /* OpenBLAS's threads spin for so long after it; 0: they do not, or it did not
                      run on the CPU beside a GPU that is ready */
};

/*
 * Adds a call to the account when XGEMM_STATS=1, and writes its line when XGEMM_VERBOSE >= 1.
 * From any thread; takes a short lock only when statistics are on.
 */
void xg_stats_add(const struct xg_call_record *record);

/* One call of XGEMM_MODE=compare: the same product on both, and the error of each. */
struct xg_compare_record {
    const char *symbol;
    struct xg_sgemm call;
    const char *kernel;
    double cpu_seconds, gpu_seconds;
    /* Largest componentwise error |x - exact| / (|alpha||A||B| + |beta||C|) over the sampled
     * elements, in units of 2^-24; NaN when either result is NaN where the exact one is not. */
    double cpu_error, gpu_error;
};
void xg_stats_add_compare(const struct xg_compare_record *record);

/* Writes the account so far (what the exit report prints) to out. */
void xg_stats_print(FILE *out);

#endif
