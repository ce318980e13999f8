/* SPDX-License-Identifier: MIT */
/* Visits the loaded objects one after the other. */
#ifndef SHIM_LOADED_H
#define SHIM_LOADED_H

#include <stddef.h>

struct dl_phdr_info; /* link.h, with _GNU_SOURCE */

/*
 * Does what dl_iterate_phdr does, but not while the process forks. glibc leaves the lock that it
 * takes in the same state in the child; a child made during a walk could neither call it nor open a
 * library. Returns 0 without a call of `visit` in a child that was made during a walk without the
 * handlers of pthread_atfork. As with dl_iterate_phdr, `visit` must not open a library but may walk
 * again. Callable from any thread, also in signal handlers.
 */
int shim_loaded_walk(int (*visit)(struct dl_phdr_info *info, size_t size_bytes, void *context),
                     void *context);

#endif
