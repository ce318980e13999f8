/* SPDX-License-Identifier: MIT */
/* Finds the loaded objects that refer to a name by which this library is called. */
#ifndef SHIM_IMPORTERS_H
#define SHIM_IMPORTERS_H

#include <stdbool.h>

enum { SHIM_IMPORTERS = 16 };

struct shim_importers {
    bool itself; /* the caller refers to the name, or no object does */
    bool asks;   /* the caller refers to dlsym and may have found the name by it */
    int count;   /* number of other objects that may be the real caller, SHIM_IMPORTERS at most */
    const void *at[SHIM_IMPORTERS]; /* an address in each */
};

/*
 * Finds the objects that may have called `name` when the call seems to come from the object that
 * contains `caller`. An object that does not refer to the name cannot have called it. Other objects
 * count only if their reference is bound to this library, because the call itself binds it; under
 * lazy binding the reference of an object that never called is not bound. If the seeming caller is
 * linked to some of these objects, only those count. Callable from any thread; takes only the lock
 * of dl_iterate_phdr and allocates nothing.
 */
void shim_importers_find(const char *name, const void *caller, struct shim_importers *out);

#endif
