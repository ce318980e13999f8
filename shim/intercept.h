/* SPDX-License-Identifier: MIT */
/* Computes one intercepted call through the engine, or passes it on to the caller's own BLAS. */
#ifndef SHIM_INTERCEPT_H
#define SHIM_INTERCEPT_H

#include "args.h"

/*
 * Computes the call of `symbol` that returns to the address `returns`; *call holds the arguments as
 * passed, and its symbol is set here. C is right when this returns, unless the call was illegal.
 * Callable from any thread; keeps errno and the floating-point environment as the caller's own BLAS
 * would. Does not return if the BLAS, or the program's handler of illegal arguments, does not.
 */
void shim_intercept(const struct shim_symbol *symbol, const void *returns, struct shim_call *call);

#endif
