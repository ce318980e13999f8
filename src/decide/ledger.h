/* SPDX-License-Identifier: MIT */
/* When the GPU and NVIDIA's libraries are started: one account for all calls. Pure. */
#ifndef XG_LEDGER_H
#define XG_LEDGER_H

#include <stdbool.h>

/*
 * A start is paid for by time that has passed: what calls that have ended on the CPU would have
 * saved. A call may spend what calls that lacked the same resources would have saved, and no other.
 * If one eigenvalue problem paid for the driver, a product of 4 ms would then start it.
 */
enum xg_resource { XG_RESOURCE_GPU, XG_RESOURCE_CUBLAS, XG_RESOURCE_CUSOLVER, XG_RESOURCE_COUNT };

/* Sets of resources, one bit each. */
enum { XG_RESOURCE_SETS = 1 << XG_RESOURCE_COUNT };

/* A resource as a call meets it. */
struct xg_start {
    enum xg_start_state { XG_START_COLD, XG_START_UNDER_WAY, XG_START_READY } state;
    double takes_s; /* the expected time of the whole start */
    double price_s; /* what calls must have missed before it begins */
};

/* All zeros: a new process. */
struct xg_ledger {
    double missed_s[XG_RESOURCE_SETS]; /* by what the calls needed */
    double whole_s[XG_RESOURCE_SETS];  /* of that: of calls that pay for a start in full */
    double saved_s[XG_RESOURCE_SETS];  /* the same of calls that ran on the GPU */
    double cpu_s, cpu_model_s; /* of calls that missed: their time on the CPU, and the model's */
    double cpu_ratio;          /* the first to the second in an earlier run; 0: not known */
    bool pays_in_full;         /* an earlier run started in vain */
    double begun_s[XG_RESOURCE_COUNT]; /* when a start began, or was first seen; 0: never */
};

/* The call that asks, of which the GPU would finish first. */
struct xg_ledger_call {
    unsigned needs;      /* a set of resources */
    double cpu_s, gpu_s; /* predicted */
    double now_s;        /* of one monotonic clock, above 0 */
    unsigned promised;   /* a set of resources: earlier runs of the program paid for them */
    bool in_full; /* it pays for all that a start takes, and others do not spend what it missed */
    bool waits_never; /* its thread is one of many that fill the cores */
};

struct xg_ledger_answer {
    bool start;    /* start what is cold */
    bool wait;     /* wait for all that is not ready, and compute on the GPU */
    bool earning;  /* too little was missed for a start */
    double most_s; /* the longest wait for one resource */
};

/*
 * What earlier runs have paid for begins at once. Any other start begins once what was missed
 * reaches its price, or if this call alone finishes earlier by waiting for it. A call waits for a
 * start, or for the rest of one, if that is expected to finish first. While a start runs beside it,
 * a call on the CPU is slower.
 *
 * A resource is started once a process and takes a core, so a program loses at most the time of the
 * starts. If a start never ends, one call waits in vain: three times as long as expected, or as
 * long as it takes on the CPU.
 */
struct xg_ledger_answer xg_ledger_ask(struct xg_ledger *ledger,
                                      const struct xg_start starts[XG_RESOURCE_COUNT],
                                      const struct xg_ledger_call *call);

/* A call that needed this set, and would have paid in full, has ended on the CPU; the GPU would
 * have saved so many seconds. */
void xg_ledger_miss(struct xg_ledger *ledger, unsigned needs, bool in_full, double saved_s);

/* A call that needed this set has ended on the GPU, which saved so many seconds; negative: lost. */
void xg_ledger_save(struct xg_ledger *ledger, unsigned needs, double saved_s);

#endif
