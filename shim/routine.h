/* SPDX-License-Identifier: MIT */
/* A call of a LAPACK routine: as it was passed, read, computed through the engine, or passed on. */
#ifndef SHIM_ROUTINE_H
#define SHIM_ROUTINE_H

#include <stdbool.h>

#include "src/base/xg.h"
#include "symbols.h"

enum { SHIM_WORDS_MOST = 26 };

struct shim_routine_call {
    const struct shim_symbol *symbol;
    enum shim_list list; /* which member of the union */
    union {
        uintptr_t words[SHIM_WORDS_MOST];
#define SHIM_MEMBER(list, ...) struct shim_##list list;
        SHIM_LISTS(SHIM_MEMBER)
#undef SHIM_MEMBER
    };
};

/* The same as shim_intercept: the call returns to the address `returns`. Returns what the caller's
 * library returns, or 0 if the GPU computes. */
int shim_routine_intercept(struct shim_routine_call *call, const void *returns);

/* Called at each call, with its frame and the object that made it: notices that the thread has left
 * a routine on the CPU by a jump, so that the statistics do not count the call as a part of that
 * routine. */
void shim_routine_notice(const char *frame, const void *caller);

/* The dimensions of A, unchecked, from integers of int_bytes (4 or 8). */
void shim_routine_size(const struct shim_routine_call *call, int int_bytes, int64_t *m, int64_t *n);

/*
 * Reads the call with integers of int_bytes into *routine. False if the engine does not compute it
 * and the caller's library must decide: an illegal argument, a query for the size of the workspace
 * or too small a workspace, a dimension of 0, a form without a counterpart on the GPU, operands
 * that overlap.
 */
bool shim_routine_read(const struct shim_routine_call *call, int int_bytes,
                       struct xg_routine *routine);

/*
 * Writes what the routine returns beside its operands: info 0 and, for syevr, the number of values
 * and the supports of the vectors.
 */
void shim_routine_finish(const struct shim_routine_call *call, int int_bytes,
                         const struct xg_routine *routine);

/* Turns the call into a query for the size of its workspace. False: the routine has none.
 * minus_one: an integer of 8 bytes that is -1. */
bool shim_routine_ask(struct shim_routine_call *call, int64_t *minus_one);

/* After the library has answered that query in the call's workspaces: replaces the answers that
 * differ from what the routine leaves there after a call. pool: the library's. */
void shim_routine_leave(const struct shim_routine_call *call, const struct xg_routine *routine,
                        enum xg_pool pool);

/* The address of the call's info. */
void *shim_routine_info(const struct shim_routine_call *call);
void shim_routine_set_info(struct shim_routine_call *call, void *info);

/* Passes the call on to a function of its signature, and returns its result: routines of OpenBLAS
 * and f2c return 0, which a C program may read; Fortran's return nothing. */
int shim_routine_forward(void (*function)(void), const struct shim_routine_call *call);

#endif
