/* SPDX-License-Identifier: MIT */
/* Finds what a caller is bound to from the loaded objects' symbol tables, without the dynamic
 * linker's lock if they suffice. */
#ifndef SHIM_SCOPE_H
#define SHIM_SCOPE_H

#include <stdbool.h>

struct shim_scope {
    void *address;    /* address of the name */
    void *isamax;     /* address of isamax_ in the same object; NULL: it has none */
    const char *file; /* the object's path, a string of the dynamic linker */
    bool stays;       /* the object was loaded at the program's start and cannot be unloaded */
};

/*
 * Finds the `name` that `caller` would have found without this library. Returns false, with *out
 * untouched, if the tables do not decide it. The caller must then ask the dynamic linker, whose
 * lock another thread may hold for as long as a constructor runs. The tables decide
 *   - if this library and, after it, an object that has the name are among those that the program
 *     started with: RTLD_NEXT finds the same;
 *   - if only one loaded object has the name, and it is the caller's own object or one that the
 *     caller is linked to.
 *
 * Callable from any thread; takes only the lock of dl_iterate_phdr, which is held briefly.
 * Allocates nothing.
 */
bool shim_scope_find(const char *name, const void *caller, struct shim_scope *out);

/* Whether an object that a walk reaches may have one of the spellings of the symbol's routine.
 * Allocates nothing and takes no lock. */
struct dl_phdr_info;
struct shim_symbol;
bool shim_scope_may_define(struct dl_phdr_info *info, const struct shim_symbol *symbol);

/* The function `name` in the object that contains the address, or in a library that this object
 * needs; NULL: no such object has it. Runs on any thread without the dynamic linker's lock. */
void *shim_scope_symbol(const void *address, const char *name);

/* Whether the address lies in a libblastrampoline (trampoline.h). Runs like shim_scope_symbol. */
bool shim_scope_is_trampoline(const void *address);

#endif
