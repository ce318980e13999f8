/* SPDX-License-Identifier: MIT */
/* Copies between ordinary memory and page-locked blocks, each past the caches that it can do
 * without.
 */
#ifndef XG_COPY_H
#define XG_COPY_H

#include <stddef.h>

/*
 * memcpy, for regions that do not overlap. Where the processor can (x86-64 with AVX2, decided at
 * run time) stores may be visible to other threads and to the device only after xg_copy_fence.
 */
typedef void xg_copy(void *dst, const void *src, size_t bytes);

/*
 * From memory past the cache: an ordinary store first reads the line that it is about to overwrite;
 * for data that this core will not read again that is a third of the memory traffic for nothing.
 */
xg_copy xg_copy_stream;

/* The same from a block that the device has just written and will write again: it is not kept in
 * the caches either, where its lines would be in the device's way. */
xg_copy xg_copy_drain;

/* From memory into the caches, whence the device reads it. */
xg_copy xg_copy_keep;

/*
 * c = block + beta * c for so many numbers, each product and sum rounded by itself as in plain C,
 * whatever the processor; the block's lines are not kept.
 */
void xg_copy_combine(float *c, const float *block, size_t count, float beta);

/* Orders all streamed stores of this thread before what follows. */
void xg_copy_fence(void);

#endif
