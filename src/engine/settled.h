/* SPDX-License-Identifier: MIT */
/* Settled shapes: their next products on this thread run on the CPU without a decision. */
#ifndef XG_SETTLED_H
#define XG_SETTLED_H

#include "base/xg.h"

/* Settles this shape, and shapes whose sizes agree with it to a quarter, for the next hundred
 * products on this thread. call: m, n, k >= 1. */
void xg_settled_add(const struct xg_problem *call);

/* Counts down one product of the shape and notes the time. Returns false if none is left. Raises no
 * floating-point exception and makes no system call. */
bool xg_settled_takes(int kind, int64_t m, int64_t n, int64_t k);

/* The time, on xg_clock_ns's clock, of the last settled product that may have left threads
 * spinning; 0: none since the previous call of this function. */
int64_t xg_settled_forget(void);

#endif
