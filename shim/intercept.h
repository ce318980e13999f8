/* SPDX-License-Identifier: MIT */
/* One intercepted call: through the engine, or on to the caller's own BLAS. */
#ifndef SHIM_INTERCEPT_H
#define SHIM_INTERCEPT_H

#include "args.h"

/*
 * Computes the call of `symbol` that returns to the address `returns`; *call has its arguments as
 * they came, and gets its symbol here. C is right when this returns, unless the call was illegal.
 * From any thread; keeps errno and the floating-point environment as the caller's own BLAS would.
 * Need not return where the BLAS, or the program's handler of illegal arguments, does not.
 */
void shim_intercept(const struct shim_symbol *symbol, const void *returns, struct shim_call *call);

#endif
