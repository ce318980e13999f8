/* SPDX-License-Identifier: MIT */
/* Computes an intercepted call of LAPACK through the engine, or passes it on. */
#ifndef SHIM_ROUTINE_H
#define SHIM_ROUTINE_H

struct shim_routine_call;

/* The same as shim_intercept: the call returns to the address `returns`. */
void shim_routine_intercept(struct shim_routine_call *call, const void *returns);

#endif
