/* SPDX-License-Identifier: MIT */
/* Batches of large products: each is a product of its own. */
#ifndef XG_INSTANCES_H
#define XG_INSTANCES_H

#include "base/xg.h"

/* Whether each instance of a batch is best a product of its own, which is cut as one, and may be
 * computed from pieces: it keeps the pipeline busy alone, or is alone. */
bool xg_instances_stand_alone(const struct xg_problem *call);

/* Calls `dispatch` for each, in their order. The CPU library gets them as GEMM, but one that is
 * alone as the caller's own call. */
typedef void xg_instances_dispatch(const char *symbol, const struct xg_problem *instance,
                                   const struct xg_cpu *cpu);
void xg_instances_each(const char *symbol, const struct xg_problem *call, const struct xg_cpu *cpu,
                       xg_instances_dispatch *dispatch);

#endif
