/* SPDX-License-Identifier: MIT */
/* What a LAPACK routine takes on both sides, as predicted. Pure. */
#ifndef XG_ROUTINE_TIMES_H
#define XG_ROUTINE_TIMES_H

#include "base/conf.h"
#include "base/routine.h"
#include "base/xg.h"
#include "decide/model.h"

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

/* Of GELSD and GELSS: whether the GPU also computes R's singular values. forced: the GPU computes
 * what it can. */
bool xg_routine_decomposes(const struct xg_model *model, const struct xg_routine *routine,
                           bool forced);

#endif
