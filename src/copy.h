/* SPDX-License-Identifier: MIT */
/* Copies that do not pass through the cache. */
#ifndef XG_COPY_H
#define XG_COPY_H

#include <stddef.h>

/*
 * memcpy whose stores bypass the cache where the processor can (x86-64 with AVX2, decided at run
 * time). An ordinary store first reads the line that it is about to overwrite; for data that this
 * core will not read again that is a third of the memory traffic for nothing. Stores are visible to
 * other threads and to the device after xg_copy_fence. Regions must not overlap.
 */
void xg_copy_stream(void *dst, const void *src, size_t bytes);

/* Orders all streamed stores of this thread before what follows. */
void xg_copy_fence(void);

#endif
