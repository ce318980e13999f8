/* SPDX-License-Identifier: MIT */
/* Makes the plan of a problem. Pure: a shape and limits in. */
#ifndef XG_PLANNER_H
#define XG_PLANNER_H

#include "decide/plan.h"

/*
 * Plans *call (m, n, k >= 1). XG_OK; XG_DECLINED when it does not fit the limits even in the
 * smallest tiles; XG_ERR_NOMEM. *plan is set only on XG_OK and freed with xg_plan_fini.
 */
enum xg_status xg_plan_init(struct xg_plan *plan, const struct xg_problem *call,
                            const struct xg_plan_limits *limits);

#endif
