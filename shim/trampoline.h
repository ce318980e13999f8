/* SPDX-License-Identifier: MIT */
/* libblastrampoline, through which Julia calls BLAS and LAPACK, and the functions behind it. */
#ifndef SHIM_TRAMPOLINE_H
#define SHIM_TRAMPOLINE_H

#include "blas.h"

/* Whether a function of libblastrampoline leads to this library now. True also if its code cannot
 * be read. Takes some nanoseconds; callable from any thread. */
bool shim_trampoline_returns(const void *function);

/* Copies the function that was behind libblastrampoline's `symbol` when xgemm_lbt_forward last
 * replaced it. Its library stays loaded. Returns false, with *out untouched, if there is none.
 * Callable from any thread; takes no lock. */
bool shim_trampoline_find(const struct shim_symbol *symbol, struct shim_blas *out);

/* A number that differs after each change of what shim_trampoline_find returns. */
uint64_t shim_trampoline_turn(void);

#endif
