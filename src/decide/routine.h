/* SPDX-License-Identifier: MIT */
/* Where a LAPACK routine runs: predictions of both sides, corrected by what was measured. Pure. */
#ifndef XG_DECIDE_ROUTINE_H
#define XG_DECIDE_ROUTINE_H

#include "base/conf.h"
#include "base/routine.h"
#include "base/xg.h"
#include "decide/feedback.h"
#include "decide/model.h"

/* An octave: numbers of operations from XG_ROUTINE_FLOPS_FLOOR times 2^i to twice that. */
enum { XG_ROUTINE_OCTAVES = 28 };

/* What a call may have to wait for: the engine and cuSOLVER. They start one after the other. */
enum { XG_ROUTINE_ENGINE, XG_ROUTINE_CUSOLVER, XG_ROUTINE_STARTS };

/* What was measured, for each routine, type, side and octave: a mean of log(measured / predicted)
 * in which the last call has half of the weight, and the number of calls up to 2. Zero-initialised:
 * nothing. SYEV, GESVD and calls for none or some of the eigenvectors have entries of their own,
 * because the model errs differently on them. */
struct xg_routine_book {
    struct xg_routine_error {
        double log_ratio;
        int calls;
        double credit_s; /* see xg_routine_observe */
    } errors[XG_ROUTINE_COUNT][XG_TYPE_COUNT][2][XG_SIDE_COUNT][XG_ROUTINE_OCTAVES];
    double missed_s; /* what the GPU would have saved the calls that have ended on the CPU */
    double begun_s[XG_ROUTINE_STARTS]; /* when each start was first seen under way; 0: never */
};

/* The process as the decision sees it. */
struct xg_routine_situation {
    double now_s; /* of one monotonic clock, above 0 */
    enum xg_engine_state state;
    enum xg_reason absence; /* why there is no GPU; XG_REASON_EARNING: there may be one */
    double products_s;      /* what products have missed without an engine */
    bool is_counted;        /* part of a routine whose whole time is counted toward a start */
    bool loading;           /* the load of cuSOLVER has begun */
    bool loaded;            /* cuSOLVER is loaded */
    bool missing;           /* there is no cuSOLVER */
};

struct xg_routine_decision {
    enum xg_place place;
    enum xg_reason reason;
    double cpu_s, gpu_s; /* predictions, corrected */
    bool start;          /* start the engine, or load cuSOLVER, in the background */
    bool wait;           /* wait for them: place is not XG_PLACE_CPU */
    double waits_s;      /* for each of them at most so long */
    bool earns;          /* its time on the CPU is counted toward a start */
    bool decomposes;     /* of GELSD and GELSS: the GPU also computes R's singular values */
};

/* Floating-point operations, as LAPACK Working Note 41 counts them. The numbers for eigenvalues and
 * singular values are nominal, because their algorithms iterate. For GELSD and GELSS: the
 * operations of Q R and Qᴴ B. */
double xg_routine_flops(const struct xg_routine *routine);

/* Bytes that go up to the device, or down. */
double xg_routine_bytes(const struct xg_routine *routine, bool down);

/* A routine whose largest dimension or number of operations is below these gains nothing on the GPU
 * and is forwarded at once. One core takes 0.1 to 1 ms for 5 million operations; a call on the GPU
 * takes at least 0.5 ms. */
enum { XG_ROUTINE_FLOOR = 64, XG_ROUTINE_FLOPS_FLOOR = 5000000 };

/* Predicted seconds of both sides, by the model alone; finite and positive. */
double xg_routine_cpu_seconds(const struct xg_model *model, const struct xg_routine *routine);
double xg_routine_gpu_seconds(const struct xg_model *model, const struct xg_routine *routine);

/*
 * Decides where the routine runs: in mode compare on both sides, in mode auto on the GPU if it is
 * expected to end earlier there. A call that needs a start of the engine or the load of cuSOLVER
 * waits for them if it is expected to finish first that way. Otherwise it runs on the CPU, and what
 * the GPU would have saved counts toward a start when it has ended (xg_routine_missed).
 */
void xg_routine_decide(struct xg_routine_book *book, const struct xg_model *model,
                       const struct xg_conf *conf, const struct xg_routine *routine,
                       const struct xg_routine_situation *now,
                       struct xg_routine_decision *decision);

/* Counts a call that has ended on the CPU, and that earns, toward a start. */
void xg_routine_missed(struct xg_routine_book *book, const struct xg_routine_decision *decision,
                       double seconds);

/* Notes the time of a routine that ran on a side. It ignores a side's first call of an octave,
 * because much of its time may be spent only once. One slow call may keep later calls from the
 * other side: once a hundredth of the time spent on this side would pay for a call there, that
 * side's error is forgotten. */
void xg_routine_observe(struct xg_routine_book *book, const struct xg_model *model,
                        const struct xg_routine *routine, enum xg_side side, double seconds);

#endif
