/* SPDX-License-Identifier: MIT */
/* Copies between ordinary memory and page-locked blocks. Each copy bypasses the caches that it does
 * not need. */
#ifndef XG_COPY_H
#define XG_COPY_H

#include <stddef.h>

/*
 * memcpy, for regions that do not overlap. On x86-64 with AVX2 (decided at run time) other threads
 * and the device may see the stores only after xg_copy_fence.
 */
typedef void xg_copy(void *dst, const void *src, size_t bytes);

/*
 * Copies from memory, with stores that bypass the caches. An ordinary store first reads the line
 * that it overwrites; for data that this core will not read again that wastes a third of the memory
 * traffic.
 */
xg_copy xg_copy_stream;

/* The same from a block that the device has just written and will write again. The caches do not
 * keep the block's lines either, because those would delay the device's writes. */
xg_copy xg_copy_drain;

/* Copies from memory into the caches, from which the device reads. */
xg_copy xg_copy_keep;

/*
 * Computes c = block + beta * c for `count` numbers. Each product and each sum is rounded by
 * itself, as in plain C, on every processor. The block's lines are not kept in the caches.
 */
void xg_copy_combine(float *c, const float *block, size_t count, float beta);

/* Orders all streamed stores of this thread before its later stores. */
void xg_copy_fence(void);

#endif
