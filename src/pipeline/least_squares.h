/* SPDX-License-Identifier: MIT */
/* The finish of GELSD and GELSS, on the host: from R and Qᴴ B to the solution. */
/*
 * The device computes A = Q R and Qᴴ B, and then R = U S Vᴴ, so that X = V S⁻¹ Uᴴ Qᴴ B. If that is
 * not exact, or if rounding errors could change the rank, the caller's own routine solves the
 * problem of R and Qᴴ B, and decides the rank. The caller's operands are untouched until the
 * solution is complete.
 */
#ifndef XG_LEAST_SQUARES_H
#define XG_LEAST_SQUARES_H

#include "base/routine.h"
#include "base/xg.h"

/*
 * Lends memory to a routine that has a rank, and does nothing for others: U and V get R and Qᴴ B,
 * and what lies behind them holds the decomposition. It is zero, without pages yet. frame: see
 * host/call_memory.h. False: there is no memory. errno is kept, here and below.
 */
bool xg_least_squares_open(struct xg_routine *routine, const void *frame);

/* Frees that memory. */
void xg_least_squares_close(struct xg_routine *routine);

/* GESDD of R in that memory. Where only gesvd is exact, it is declined. */
struct xg_routine xg_least_squares_decomposition(const struct xg_routine *routine);

/*
 * Call it after xg_routine_run, when the lane serves others again: one core multiplies. If the
 * device has decomposed R, and rounding errors cannot change the rank, this writes B, W, the rank
 * and, for GELSS, A, and result->factored becomes false.
 */
void xg_least_squares_finish(const struct xg_routine *routine, struct xg_result *result);

/* Copies V, which has become the solution, to B. GELSS gets in A the right singular vectors, which
 * its own routine leaves in place of R. */
void xg_least_squares_give(const struct xg_routine *routine, const struct xg_matrix *vectors);

#endif
