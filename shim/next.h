/* SPDX-License-Identifier: MIT */
/* Finds the function of a real BLAS for a call: the one that the caller would have reached without
 * this library. */
#ifndef SHIM_NEXT_H
#define SHIM_NEXT_H

#include "blas.h"

struct shim_next {
    struct shim_blas blas;
    int int_bytes;     /* bytes of the caller's integers */
    const void *owner; /* an address in the object that called */
    bool forwards;     /* the call can be passed on unchanged; otherwise it is translated or, for an
                        * optional operation without a function, computed by other operations */
};

/*
 * Finds the library for a call of *symbol that comes from the address `caller` in *module
 * (whose.h). If that object does not refer to the name, another object called through a wrapper
 * that ends in a jump, or gave the function's address away. Then *out is for an object that refers
 * to the name (importers.h); next.c chooses among several. The answer is remembered for the object
 * that contains the address (for the address itself if the caller is another object), until that
 * object is unloaded. An object's first call takes up to some milliseconds, later ones some tens of
 * nanoseconds, however many call sites it has. Always succeeds. blas.function is NULL if neither a
 * library of the process nor the configured one has the operation (the log reports that once for
 * each operation), and for an optional operation (args.h) to which the caller is not bound.
 *
 * Callable from any thread; keeps errno and the error that dlerror reports next. A remembered call
 * takes no lock (before glibc 2.35 it takes that of dl_iterate_phdr) and allocates nothing. A first
 * call takes the dynamic linker's lock, on a new thread (aside.h), if shim_scope_find cannot tell
 * or XGEMM_CPU_BLAS is set.
 */
void shim_next_find(const struct shim_symbol *symbol, const void *caller,
                    const struct shim_module *module, struct shim_next *out);

/* Finds the library for a product of this kind (problem.h) that is part of a call of `symbol` for
 * which *next was found. Otherwise like shim_next_find. */
void shim_next_sibling(const struct shim_next *next, const struct shim_symbol *symbol, int kind,
                       struct shim_next *out);

/*
 * The function to which the dynamic linker would have bound the caller of *next, whatever
 * XGEMM_CPU_BLAS says. That function decides about calls that the BLAS standard forbids and reports
 * them to the program's own xerbla_. Returns false, with *out untouched, if the caller is bound to
 * none. Callable from any thread; keeps errno and dlerror's next report; takes the dynamic linker's
 * lock every time.
 */
bool shim_next_bound(const struct shim_next *next, const struct shim_symbol *symbol,
                     struct shim_blas *out);

#endif
