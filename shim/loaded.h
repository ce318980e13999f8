/* SPDX-License-Identifier: MIT */
/* The loaded objects, one after the other. */
#ifndef SHIM_LOADED_H
#define SHIM_LOADED_H

#include <stddef.h>

struct dl_phdr_info; /* link.h, with _GNU_SOURCE */

/*
 * dl_iterate_phdr, but not while the process forks: glibc leaves the lock that it takes to the
 * child as it was, and a child made meanwhile could neither call it nor open a library any more.
 * 0 without a call of `visit` in a child that was made in the midst of a walk, without the handlers
 * of pthread_atfork. As with dl_iterate_phdr, `visit` must not open a library, and may walk again.
 * From any thread, signal handlers included.
 */
int shim_loaded_walk(int (*visit)(struct dl_phdr_info *info, size_t size_bytes, void *context),
                     void *context);

#endif
