/* SPDX-License-Identifier: MIT */
/* What a caller is bound to, read from the loaded objects' symbol tables: without the dynamic
 * linker's lock, where that can tell. */
#ifndef SHIM_SCOPE_H
#define SHIM_SCOPE_H

#include <stdbool.h>

struct shim_scope {
    void *address;    /* of the name that was looked for */
    void *isamax;     /* of isamax_ in the same object; NULL: it has none */
    const char *file; /* the object's path, the dynamic linker's string */
    bool stays;       /* the object cannot be unloaded: it was there when the program started */
};

/*
 * Looks for `name` where `caller` would have found it without this library. False, with *out
 * untouched, where the tables do not tell for certain: the dynamic linker must then be asked, whose
 * lock another thread may hold for as long as a constructor runs. They do tell
 *   - where this library and, behind it, one that has the name are among those that the program
 *     started with: what RTLD_NEXT finds;
 *   - where one loaded object alone has the name, and it is the caller's own or one that the caller
 *     is linked to.
 * From any thread; takes the lock of dl_iterate_phdr alone, which is held for moments. Allocates
 * nothing.
 */
bool shim_scope_find(const char *name, const void *caller, struct shim_scope *out);

/* Whether an object that a walk has come to may have one of the SHIM_SPELLING_COUNT names.
 * Allocates nothing, takes no lock. */
struct dl_phdr_info;
struct shim_symbol;
bool shim_scope_may_define(struct dl_phdr_info *info, const struct shim_symbol *spellings);

/*
 * The function in the object that the address lies in, or in one that it names among what it needs;
 * NULL: none has it. As above, from any thread and without the dynamic linker's lock.
 */
void *shim_scope_symbol(const void *address, const char *name);

#endif
