/* SPDX-License-Identifier: MIT */
/* Makes the plan of a problem. Pure: it uses the shape and limits. */
#ifndef XG_PLANNER_H
#define XG_PLANNER_H

#include "decide/plan.h"

/*
 * Plans *call (m, n, k >= 1). Returns XG_OK; XG_DECLINED if it does not fit the limits even in the
 * smallest tiles; XG_ERR_NOMEM. *plan is set only on XG_OK; xg_plan_fini frees it.
 */
enum xg_status xg_plan_init(struct xg_plan *plan, const struct xg_problem *call,
                            const struct xg_plan_limits *limits);

#endif
