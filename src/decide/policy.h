/* SPDX-License-Identifier: MIT */
/* Decides where a product runs. Pure: takes a machine, observations and a shape. */
#ifndef XG_POLICY_H
#define XG_POLICY_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/feedback.h"
#include "decide/model.h"
#include "decide/phase.h"

/* What the process has learnt; a decision depends on it and on the call. */
struct xg_policy {
    struct xg_model model;       /* the first guess: built in, or calibrated */
    struct xg_feedback feedback; /* observations of this process */
    struct xg_correction small;  /* of products below 64^3 on the CPU: see xg_policy_floor_mnk */
    struct xg_phase phase;       /* the side of products that wake the CPU library's threads */
    struct xg_recent recent;     /* selections for its decisions */
    double earned_s;             /* CPU time that a GPU would have saved before its start */
    double crowd, crowd_s;       /* the recent maximum of concurrent products, and its time */
};

/* Products that the engine runs at once (engine.c). */
#define XG_POLICY_LANES 2

/* The state of the process when a product arrives. */
struct xg_situation {
    double now_s; /* of one monotonic clock */
    enum xg_engine_state state;
    enum xg_reason absence; /* why there is no GPU (xg_reason_is_absence); else there may be one */
    int cpu_threads;        /* threads of the CPU library for a large product; 0: not known */
    double spin_s;          /* how long they spin after it; INFINITY: forever */
    bool pool_is_shared; /* the program's own loops use these threads too: an OpenMP run-time's */
    bool unserved;       /* the device has no kernel for such a problem */
    bool is_counted;     /* part of a routine whose whole time is counted toward a start */
    int under_way;       /* products of the process, this one included */
    int cores;           /* cores that the process may use; 0: not known */
    int cores_left; /* cores for staging, at least 1: CPU products use the others; INT_MAX: all */
};

struct xg_decision {
    enum xg_place place; /* XG_PLACE_BOTH: compare */
    enum xg_reason reason;
    bool start;          /* start the engine in the background now */
    bool wait;           /* place is the GPU (or both): wait until the engine has started */
    bool earns;          /* its time on the CPU is counted toward a start */
    int cpu_threads;     /* threads on the CPU, as far as known */
    double crowd;        /* concurrent products, recent ones included */
    bool crowded;        /* single-threaded products fill the cores */
    bool wakes;          /* on the CPU it leaves threads spinning (phase.h) */
    double loops_s;      /* on the GPU: what the program's own loops on the shared pool lose */
    bool settled;        /* the next calls of shapes near it stay on the CPU without a decision */
    double cpu_s, gpu_s; /* predicted times; 0: none */
    double model_s[XG_SIDE_COUNT]; /* the model's predictions, without corrections */
    double waits_s;                /* on the GPU: the longest wait for a lane that still pays */
    double trial_s;                /* the credit that this trial has spent */
    double begin_s;                /* the time of the decision */
};

/*
 * In auto mode with a ready engine, products that wake the CPU library's threads run on the side of
 * their phase (phase.h), all others on the side that is expected to finish first. Before the engine
 * is ready they run on the CPU. The engine starts when the time that the GPU would have saved
 * exceeds the cost of a start; a product that by itself saves more than the whole start-up waits
 * for it. Occasional trials run a shape on the side that is expected to be slower
 * (xg_feedback_dares). With XGEMM_REPRODUCIBLE the model alone decides, and products wait. The
 * caller locks, here and below.
 */
void xg_policy_decide(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_problem *call, const struct xg_situation *now,
                      struct xg_decision *decision);

/*
 * The call ran on that side until now_s and took `seconds` without its wait for a lane. Products on
 * the CPU before or during the start of the engine earn the time that the GPU would have saved.
 */
void xg_policy_observe(struct xg_policy *policy, enum xg_side side, const struct xg_problem *call,
                       const struct xg_decision *decision, double seconds, double now_s);

/* Products of settled shapes ran on the CPU without a decision and may have woken threads; the last
 * one began at then_s. */
void xg_policy_observe_settled(struct xg_policy *policy, double then_s);

/*
 * The shim forwards products with m*n*k below this floor without a decision. The floor is 32^3
 * until small products of the CPU library have been observed, and then the product that this
 * library computes in the time of an empty GPU call: 64^3 for the usual libraries. It is 0 if every
 * call needs a decision (mode gpu or compare, statistics, a trace, a line per call), HUGE_VAL if no
 * call does (mode cpu, or no GPU).
 */
double xg_policy_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf,
                           enum xg_engine_state state);

#endif
