/* SPDX-License-Identifier: MIT */
/* The arguments of a call of a LAPACK routine: reads them, and writes what it returns. */
#ifndef SHIM_ROUTINE_READ_H
#define SHIM_ROUTINE_READ_H

#include "args.h"
#include "pools.h"

/* shim_args_size of a routine: the dimensions of A, and *k = 0. */
void shim_routine_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                       int64_t *k);

/*
 * shim_args_read of a routine. args->illegal is 1 if the engine does not compute it and the
 * caller's library must decide: an illegal argument, a query for the size of the workspace or too
 * small a workspace, a dimension of 0, a form without a counterpart on the GPU, operands that
 * overlap.
 */
void shim_routine_read(const struct shim_call *call, int int_bytes, struct shim_args *args);

/*
 * Writes what the routine returns beside its operands: info 0 and, for syevr, the number of values
 * and the supports of the vectors.
 */
void shim_routine_finish(const struct shim_call *call, int int_bytes,
                         const struct xg_routine *routine);

/* Turns the call into a query for the size of its workspace. False: the routine has none.
 * minus_one: an integer of 8 bytes that is -1. */
bool shim_routine_ask(struct shim_call *call, int64_t *minus_one);

/* After the library has answered that query in the call's workspaces: replaces the answers that
 * differ from what the routine leaves there after a call. pool: the library's. */
void shim_routine_leave(const struct shim_call *call, const struct xg_routine *routine,
                        enum shim_pool pool);

/* Turns a call of GELSD or GELSS into one for R, of n rows, in A's place and Qᴴ B in B's, in the
 * caller's workspace. The routine's U and V are R and Qᴴ B. */
void shim_routine_reduce(struct shim_call *call, const struct xg_routine *routine, int64_t *info);

/* The address of the call's info. */
void *shim_routine_info(const struct shim_call *call);

#endif
