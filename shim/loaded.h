/* SPDX-License-Identifier: MIT */
/* The loaded objects, one after the other. */
#ifndef SHIM_LOADED_H
#define SHIM_LOADED_H

#include <stddef.h>

struct dl_phdr_info; /* link.h, with _GNU_SOURCE */

/*
 * dl_iterate_phdr, and never while the process forks: glibc leaves the lock that it takes to the
 * child as it was, so that a child made meanwhile could neither call it nor open a library any
 * more. 0 without a call of `visit` in a child that was made without the handlers of
 * pthread_atfork, while the lock here may be one of a thread that is not there.
 *
 * `visit` is called with both locks held: it must not fork, open a library or walk again. From any
 * thread.
 */
int shim_loaded_walk(int (*visit)(struct dl_phdr_info *info, size_t size_bytes, void *context),
                     void *context);

#endif
