/* SPDX-License-Identifier: MIT */
/* The plan of a batch (plan.h): some instances at a time are copied and computed. Pure. */
#ifndef XG_PLAN_BATCH_H
#define XG_PLAN_BATCH_H

#include "decide/plan.h"

/* xg_plan_init for a problem that is a batch. */
enum xg_status xg_plan_batch(struct xg_plan *plan, const struct xg_problem *call,
                             const struct xg_plan_limits *limits);

#endif
