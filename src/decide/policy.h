/* SPDX-License-Identifier: MIT */
/* Where a product runs. Pure: a machine, what was learnt and a shape in, a decision out. */
#ifndef XG_POLICY_H
#define XG_POLICY_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/feedback.h"
#include "decide/model.h"
#include "decide/phase.h"

/* What a decision is made from, besides the call. */
struct xg_policy {
    struct xg_model model;       /* the first guess: built in, or calibrated */
    struct xg_feedback feedback; /* what this process saw since */
    struct xg_correction small;  /* of products below 64^3 on the CPU: see xg_policy_floor_mnk */
    struct xg_phase phase;       /* where products run that wake the CPU library's threads */
    double wake_s;               /* what those threads add to a product that finds them asleep */
    bool wake_doubted;           /* the last such product took much longer than that */
    double paused;               /* 0 to 1: of late, the part of the products that do */
    double row;                  /* products asked about since one did, that one included */
    double kept_s;               /* a product that is not asked about takes so long at most */
    double earned_s;             /* CPU time that the GPU would have saved, had it been ready */
    double crowd, crowd_s;       /* products under way at once, at most, of late; and when */
};

/* Products that the engine runs at once (engine.c). */
#define XG_POLICY_LANES 2

/* What is the case when a product comes. */
struct xg_situation {
    double now_s; /* any clock that runs evenly, the same one throughout */
    enum xg_engine_state state;
    enum xg_reason absence; /* of a GPU (xg_reason_is_absence); any other: there may be one */
    int cpu_threads;     /* that the CPU library would use for a large product now; 0: not known */
    double spin_s;       /* for how long they spin after it; INFINITY: without end */
    bool pool_is_shared; /* the program's own loops use these threads too: an OpenMP run-time's */
    bool unserved;       /* nothing on the device computes such a problem */
    int under_way;       /* products of the process, this one included */
    int cores;           /* that the process may use; 0: not known */
    int cores_left; /* for staging, at least 1: products on the CPU use the others; INT_MAX: all */
};

struct xg_decision {
    enum xg_place place; /* XG_PLACE_BOTH: compare */
    enum xg_reason reason;
    bool start;          /* start the engine in the background now */
    bool wait;           /* place is the GPU (or both): wait until the engine has started */
    int cpu_threads;     /* that it uses on the CPU, as far as is known */
    double crowd;        /* products under way at once, this one and those of late */
    bool crowded;        /* and each has a core of its own, so that there are none left */
    bool wakes;          /* on the CPU it leaves threads spinning (phase.h) */
    bool settled;        /* on the CPU, and so will be the next calls of shapes near it */
    double cpu_s, gpu_s; /* the predictions; 0 when not asked */
    double model_s[XG_SIDE_COUNT]; /* the model's, before what was learnt */
    double waits_s; /* on the GPU: a lane that comes free later is not worth waiting for */
    double begin_s; /* when it was decided */
};

/*
 * In auto mode, once the engine is ready, products that wake the CPU library's threads run where
 * their phase does (phase.h), all others where they are expected to finish first. Until then they
 * run on the CPU, and the engine is started when what the GPU would have saved exceeds what a start
 * costs the program; a product that saves more than all of start-up by itself waits for it. Now and
 * then a shape runs on the side that is thought to be slower (xg_feedback_dares). With
 * XGEMM_REPRODUCIBLE the first guess alone decides, and waits. Not from two threads at once: the
 * caller locks, here and below.
 */
void xg_policy_decide(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_problem *call, const struct xg_situation *now,
                      struct xg_decision *decision);

/*
 * The call ran on that side until now_s and took `seconds`, waiting for a lane not counted. A
 * decision for the CPU because start-up was not earned yet, or under way, earns what the GPU would
 * have saved.
 */
void xg_policy_observe(struct xg_policy *policy, enum xg_side side, const struct xg_problem *call,
                       const struct xg_decision *decision, double seconds, double now_s);

/* Products that were not asked about ran on the CPU, the last one from then on, and may have woken
 * threads. */
void xg_policy_observe_kept(struct xg_policy *policy, double then_s);

/*
 * Products with m*n*k below this are not worth asking about: the shim forwards them. 32^3 until the
 * CPU library's small products have been seen, and then what a library of that speed computes in
 * the time of an empty call of the GPU, 64^3 for the usual ones. 0 when every
 * call must be looked at (gpu, compare, statistics, a trace or a line a call wanted), HUGE_VAL when
 * none (cpu, or there is no GPU).
 */
double xg_policy_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf,
                           enum xg_engine_state state);

#endif
