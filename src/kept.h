/* SPDX-License-Identifier: MIT */
/* Shapes whose next products on this thread stay on the CPU unasked. */
#ifndef XG_KEPT_H
#define XG_KEPT_H

#include "base/xg.h"

/* The next hundred products of the shape, and of those that agree with it to a quarter, on this
 * thread. call: m, n, k >= 1. */
void xg_kept_add(const struct xg_problem *call);

/* Takes a product off what the shape has left, and notes the time; false where it has none. No
 * floating-point exception, no system call. */
bool xg_kept_takes(int kind, int64_t m, int64_t n, int64_t k);

/* When one was last taken here that may have left threads spinning, on xg_clock_ns's clock; 0: none
 * since the last time that this was called. */
int64_t xg_kept_forget(void);

#endif
