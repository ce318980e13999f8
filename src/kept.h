/* SPDX-License-Identifier: MIT */
/* Shapes whose next products on this thread stay on the CPU without asking the policy. */
#ifndef XG_KEPT_H
#define XG_KEPT_H

#include "base/xg.h"

/* Keeps the next hundred products of this shape on this thread on the CPU, and of shapes whose
 * sizes agree to a quarter. call: m, n, k >= 1. */
void xg_kept_add(const struct xg_problem *call);

/* Counts down one product of the shape and notes the time. Returns false if none is left. Raises no
 * floating-point exception and makes no system call. */
bool xg_kept_takes(int kind, int64_t m, int64_t n, int64_t k);

/* The time, on xg_clock_ns's clock, of the last kept product that may have left threads spinning;
 * 0: none since the previous call of this function. */
int64_t xg_kept_forget(void);

#endif
