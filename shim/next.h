/* SPDX-License-Identifier: MIT */
/* Which function of a real BLAS a call belongs to: what the caller would have reached had this
 * library not been there. */
#ifndef SHIM_NEXT_H
#define SHIM_NEXT_H

#include "blas.h"

struct shim_next {
    struct shim_blas blas;
    int int_bytes;     /* of the caller's integers */
    const void *owner; /* an address in the object that called */
    bool forwards;     /* the call can be passed on as it is; otherwise it is translated, or, of an
                        * optional operation without a function, made of others */
};

/*
 * The library for a call of *symbol that comes from the address `caller`, in *module (whose.h). If
 * that object does not refer to the name, another one has called, through a wrapper that ends in a
 * jump, or has given the function's address away: then *out is for one that does (importers.h), and
 * if several do, for the one that next.c chooses. The answer is remembered for the object that the
 * address lies in (for the address itself where it is another's), and for no longer than that is
 * loaded: an object's first call takes up to some milliseconds, the others some tens of
 * nanoseconds, however many places it calls from. Always succeeds: blas.function is NULL when no
 * library of the process has the operation, nor the configured one, which is said once in the log
 * for each, and for an optional one (args.h) that the caller is not bound to.
 *
 * From any thread, keeps errno and what dlerror has to tell. A remembered call takes no lock and
 * allocates nothing (glibc >= 2.35; before, that of dl_iterate_phdr). A first one takes the dynamic
 * linker's lock, on a thread made for that (aside.h), where shim_scope_find cannot tell, or
 * XGEMM_CPU_BLAS is set.
 */
void shim_next_find(const struct shim_symbol *symbol, const void *caller,
                    const struct shim_module *module, struct shim_next *out);

/* The library for a product of that kind (problem.h) that is part of a call for which *next was
 * found, under *symbol; as above. */
void shim_next_sibling(const struct shim_next *next, const struct shim_symbol *symbol, int kind,
                       struct shim_next *out);

/*
 * The function that the dynamic linker would have bound the caller of *next to, whatever
 * XGEMM_CPU_BLAS says: what decides about a call that the BLAS standard refuses, and reports it to
 * the program's own xerbla_. False, with *out untouched: it is bound to none. From any thread,
 * keeps errno and what dlerror has to tell; asks the dynamic linker, with its lock, every time.
 */
bool shim_next_bound(const struct shim_next *next, const struct shim_symbol *symbol,
                     struct shim_blas *out);

#endif
