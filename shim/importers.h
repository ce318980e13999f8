/* SPDX-License-Identifier: MIT */
/* The loaded objects that refer to a name by which this library is called. */
#ifndef SHIM_IMPORTERS_H
#define SHIM_IMPORTERS_H

#include <stdbool.h>

enum { SHIM_IMPORTERS = 16 };

struct shim_importers {
    bool itself; /* the caller is one of them, or there is none */
    bool asks;   /* the caller refers to dlsym, by which it may have found the name */
    int count;   /* of the others that may be the caller in its place, SHIM_IMPORTERS at most */
    const void *at[SHIM_IMPORTERS]; /* an address in each */
};

/*
 * Which objects may have called `name` where the call seems to come from the one that `caller` lies
 * in: an object that does not refer to the name cannot have. Among the others are those only whose
 * reference has been bound to this library, which a call sees to (one that never called is not
 * bound where binding is lazy); and where there are such among the libraries that the seeming
 * caller is linked to, those alone. From any thread; takes the lock of dl_iterate_phdr alone,
 * allocates nothing.
 */
void shim_importers_find(const char *name, const void *caller, struct shim_importers *out);

#endif
