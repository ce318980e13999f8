/* SPDX-License-Identifier: MIT */
/* Which function of a real BLAS a call belongs to: what the caller would have reached had this
 * library not been there. */
#ifndef SHIM_NEXT_H
#define SHIM_NEXT_H

#include "blas.h"

struct shim_next {
    struct shim_blas blas;
    int int_bytes; /* of the caller's integers */
    bool forwards; /* the call can be passed on as it is; otherwise it is translated, or, of an
                    * optional operation without a function, made of others */
};

/*
 * The library for a call of *symbol that returns to the address `caller`. The answer is
 * remembered for the object that the address lies in, and for no longer than that is loaded: an
 * object's first call takes up to some milliseconds, the others some tens of nanoseconds, however
 * many places it calls from. Always succeeds: blas.function is NULL when no library of
 * the process has the operation, nor the configured one, which is said once in the log for each,
 * and for an optional one (args.h) that the caller is not bound to.
 *
 * From any thread, keeps errno. A remembered call takes no lock and allocates nothing (glibc >=
 * 2.35; before, that of dl_iterate_phdr). A first one takes the dynamic linker's lock where
 * shim_scope_find cannot tell, or XGEMM_CPU_BLAS is set.
 */
void shim_next_find(const struct shim_symbol *symbol, const void *caller, struct shim_next *out);

/*
 * The function that the dynamic linker would have bound the caller to, whatever XGEMM_CPU_BLAS
 * says: what decides about a call that the BLAS standard refuses, and reports it to the program's
 * own xerbla_. False, with *out untouched: it is bound to none. From any thread, keeps errno; asks
 * the dynamic linker, with its lock, every time.
 */
bool shim_next_bound(const struct shim_symbol *symbol, const void *caller, struct shim_blas *out);

#endif
