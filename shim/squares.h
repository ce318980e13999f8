/* SPDX-License-Identifier: MIT */
/*
 * Least squares. The GPU computes all of GELS. Of GELSD and GELSS it computes A = Q R and Qᴴ B, and
 * then R = U S Vᴴ, so that X = V S⁻¹ Uᴴ Qᴴ B. If that is not exact, or if rounding errors could
 * change the rank, the caller's own routine solves the problem of R and Qᴴ B, and decides the rank.
 */
#ifndef SHIM_SQUARES_H
#define SHIM_SQUARES_H

#include "routine.h"

struct reading;

/* Memory for R, Qᴴ B and R's singular values and vectors; the caller's A and B are untouched until
 * the computation is done. */
struct shim_squares {
    struct xg_matrix triangle, right;
    struct xg_routine decomposition; /* GESDD of R */
    void *room;                      /* n by k elements */
    void *memory;                    /* NULL: another routine */
};

/* The readers of the lists (routine_read.c). */
void shim_squares_read_gels(struct reading *reading);
void shim_squares_read_gelsd(struct reading *reading);
void shim_squares_read_gelss(struct reading *reading);

/* Maps memory, without pages yet, for the results of a GELSD or GELSS; does nothing for other
 * routines. frame: see src/host/call_memory.h. False: there is no memory. errno is kept. */
bool shim_squares_open(struct shim_squares *squares, struct xg_routine *routine, const void *frame);
void shim_squares_close(struct shim_squares *squares);

/* The call that solves the problem of R with the caller's workspace; its info goes to *info, an
 * integer of up to 8 bytes. */
struct shim_routine_call shim_squares_rest(const struct shim_squares *squares,
                                           const struct shim_routine_call *call, int64_t *info);

/*
 * Solves with R's singular values: overwrites R and Qᴴ B with what GELSD or GELSS leaves there, and
 * writes the values and the rank to the caller's memory. False: rounding errors could change the
 * rank; it has written nothing.
 */
bool shim_squares_solve(struct shim_squares *squares, const struct shim_routine_call *call,
                        int int_bytes, const struct xg_routine *routine);

/* Copies to the caller's operands what either solution has left in place of R and Qᴴ B, and frees
 * the memory. */
void shim_squares_give(struct shim_squares *squares, const struct xg_routine *routine);

#endif
