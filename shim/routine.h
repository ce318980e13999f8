/* SPDX-License-Identifier: MIT */
/* Computes an intercepted call of LAPACK through the engine, or passes it on. */
#ifndef SHIM_ROUTINE_H
#define SHIM_ROUTINE_H

struct shim_routine_call;

/* The same as shim_intercept: the call returns to the address `returns`. Returns what the caller's
 * library returns (routine_call.h), or 0 if the GPU computes. */
int shim_routine_intercept(struct shim_routine_call *call, const void *returns);

/* Called at each call, with its frame and the object that made it: notices that the thread has left
 * a routine on the CPU by a jump, so that the statistics do not count the call as a part of that
 * routine. */
void shim_routine_notice(const char *frame, const void *caller);

#endif
