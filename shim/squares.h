/* SPDX-License-Identifier: MIT */
/*
 * Least squares. The GPU computes all of GELS. Of GELSD and GELSS it computes A = Q R and Qᴴ B, and
 * then R = U S Vᴴ, so that X = V S⁻¹ Uᴴ Qᴴ B. Where that is not exact, or where rounding errors
 * could change the rank, the caller's own routine solves the problem of R and Qᴴ B, and decides the
 * rank.
 */
#ifndef SHIM_SQUARES_H
#define SHIM_SQUARES_H

#include "routine_call.h"

struct reading;

/* Where R, Qᴴ B and R's singular values and vectors come down; the caller's A and B are untouched
 * until all is computed. */
struct shim_squares {
    struct xg_matrix triangle, right;
    struct xg_routine decomposition; /* GESDD of R */
    void *room;                      /* n by k elements */
    void *memory;                    /* NULL: the routine is another */
    size_t bytes;
};

/* The readers of the lists (routine_read.c). */
void shim_squares_read_gels(struct reading *reading);
void shim_squares_read_gelsd(struct reading *reading);
void shim_squares_read_gelss(struct reading *reading);

/* Gives a GELSD or GELSS memory for what it writes, of which no page is there yet, and does nothing
 * for others. False: there is no memory. errno is kept. */
bool shim_squares_open(struct shim_squares *squares, struct xg_routine *routine);
void shim_squares_close(struct shim_squares *squares);

/* The call that solves with R, with the caller's workspace; its info goes to *info, an integer of
 * up to 8 bytes. */
struct shim_routine_call shim_squares_rest(const struct shim_squares *squares,
                                           const struct shim_routine_call *call, int64_t *info);

/*
 * Solves with R's singular values: in place of R and Qᴴ B stands what GELSD or GELSS leaves there,
 * and the values and the rank are the caller's. False: rounding errors could change the rank, and
 * nothing is written.
 */
bool shim_squares_solve(struct shim_squares *squares, const struct shim_routine_call *call,
                        int int_bytes, const struct xg_routine *routine);

/* Writes what either has left in place of R and Qᴴ B to the caller's operands. */
void shim_squares_give(const struct shim_squares *squares, const struct xg_routine *routine);

#endif
