/* SPDX-License-Identifier: MIT */
/* What a LAPACK routine takes on both sides: predictions, corrected by what was measured. Pure. */
#ifndef XG_ROUTINE_TIMES_H
#define XG_ROUTINE_TIMES_H

#include "base/conf.h"
#include "base/routine.h"
#include "base/xg.h"
#include "decide/feedback.h"
#include "decide/model.h"

/* An octave: numbers of operations from XG_ROUTINE_FLOPS_FLOOR times 2^i to twice that. */
enum { XG_ROUTINE_OCTAVES = 28 };

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

/* The same on one side, corrected by what was measured. book NULL: the model alone. */
double xg_routine_expect(struct xg_routine_book *book, const struct xg_model *model,
                         const struct xg_routine *routine, enum xg_side side);

/* Of GELSD and GELSS: whether the GPU also computes R's singular values. forced: the GPU computes
 * what it can. */
bool xg_routine_decomposes(const struct xg_model *model, const struct xg_routine *routine,
                           bool forced);

/* Notes the time of a routine that ran on a side. It ignores a side's first call of an octave,
 * because much of its time may be spent only once. One slow call may keep later calls from the
 * other side: once a fiftieth of the time spent on this side would pay for a call there, that
 * side's error is forgotten. */
void xg_routine_observe(struct xg_routine_book *book, const struct xg_model *model,
                        const struct xg_routine *routine, enum xg_side side, double seconds);

#endif
