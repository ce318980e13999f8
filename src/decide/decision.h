/* SPDX-License-Identifier: MIT */
/* What a decision is made from, and what it says. */
#ifndef XG_DECISION_H
#define XG_DECISION_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/feedback.h"
#include "decide/ledger.h"
#include "decide/model.h"
#include "decide/phase.h"
#include "decide/routine_times.h"

/* What the process has learnt; a decision depends on it and on the call. */
struct xg_policy {
    struct xg_model model;       /* the first guess: built in, or calibrated */
    struct xg_feedback feedback; /* observed times */
    struct xg_correction small;  /* of products below 64^3 on the CPU: see xg_decide_floor_mnk */
    struct xg_phase phase;       /* the side of products that wake the CPU library's threads */
    struct xg_recent recent;     /* selections of its decisions about products */
    struct xg_ledger ledger;     /* what calls have missed without a GPU */
    double crowd, crowd_s;       /* the recent maximum of concurrent products, and its time */
};

/* Products that the engine runs at once (engine.c). */
#define XG_POLICY_LANES 2

/* The state of the process when a call arrives. */
struct xg_situation {
    double now_s;    /* of one monotonic clock, above 0 */
    bool latch_lost; /* another thread holds what was learnt: the call stays on the CPU */
    enum xg_engine_state state;
    enum xg_reason absence; /* why there is no GPU (xg_reason_is_absence); else there may be one */
    enum xg_library_state cublas, cusolver;
    unsigned promised; /* resources that pay, as earlier runs of the program have shown */
    bool kept;         /* inside a routine whose inner calls stay on the CPU */
    bool is_counted;   /* inside a routine whose whole time is counted toward a start */
    bool stack_short;  /* the thread has too little stack for the driver */
    /* Of a problem: whether C shares memory with an operand. Takes time for a batch, and so is
     * asked only about a call that would leave the CPU. NULL: it does not. */
    bool (*overlaps)(const struct xg_problem *);
    bool unserved;       /* of a problem: the device has no kernel for its kind */
    bool incomparable;   /* mode compare cannot tell which side is right */
    int cpu_threads;     /* threads of the CPU library for a large product; 0: not known */
    double spin_s;       /* how long they spin after it; INFINITY: forever */
    bool pool_is_shared; /* the program's own loops use these threads too: an OpenMP run-time's */
    int under_way;       /* products of the process, this one included */
    int cores;           /* cores that the process may use; 0: not known */
    int cores_left; /* cores for staging, at least 1: CPU products use the others; INT_MAX: all */
};

struct xg_decision {
    enum xg_place place; /* XG_PLACE_BOTH: compare */
    enum xg_reason reason;
    unsigned needs;      /* what the GPU needs for it (ledger.h) */
    bool start;          /* start what is cold of this in the background now */
    bool wait;           /* place is the GPU (or both): wait until all of this is ready */
    double start_s;      /* at most so long for each */
    bool earns;          /* its time on the CPU is counted toward a start */
    bool in_full;        /* toward all that the start takes */
    bool decomposes;     /* of GELSD and GELSS: the GPU also computes R's singular values */
    int cpu_threads;     /* of a product: threads on the CPU, as far as known */
    int stage_threads;   /* on the GPU: threads that may stage it, at least 1 */
    double crowd;        /* concurrent products, recent ones included */
    bool crowded;        /* single-threaded products fill the cores */
    bool wakes;          /* on the CPU it leaves threads spinning (phase.h) */
    double loops_s;      /* on the GPU: what the program's own loops on the shared pool lose */
    bool settled;        /* the next calls of shapes near it stay on the CPU without a decision */
    double cpu_s, gpu_s; /* predicted times; 0: none */
    double model_s[XG_SIDE_COUNT];  /* the model's predictions, without corrections */
    struct xg_feedback_place known; /* where the observations of such calls are */
    double waits_s;                 /* on the GPU: the longest wait for a lane that still pays */
    double trial_s;                 /* the credit that this trial has spent */
    double held_gain_s[2];          /* what A and B save if the device holds them */
    double unsent_s; /* of gpu_s, the way of operands that would come to stay there */
    bool leaves;     /* on the GPU only to leave an operand there */
    double begin_s;  /* the time of the decision */
};

#endif
