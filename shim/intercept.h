/* SPDX-License-Identifier: MIT */
/* Computes one intercepted call through the engine, or passes it on to the caller's own library. */
#ifndef SHIM_INTERCEPT_H
#define SHIM_INTERCEPT_H

#include "args.h"

/*
 * Computes the call of `symbol` that returns to the address `returns`; *call holds the arguments as
 * passed, and its symbol is set here. The results are right when this returns, unless the call was
 * illegal. Returns what the caller's routine returns, or 0 if the GPU computes or it is a product.
 * Callable from any thread; keeps errno and the floating-point environment as the caller's own
 * library would. Does not return if the library, or the program's handler of illegal arguments,
 * does not.
 */
int shim_intercept(const struct shim_symbol *symbol, const void *returns, struct shim_call *call);

#endif
