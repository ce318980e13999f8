/* SPDX-License-Identifier: MIT */
/* How much stack the program's thread has left. */
#ifndef XG_STACK_H
#define XG_STACK_H

#include <stdbool.h>

/*
 * Whether this thread has stack enough for a product on the GPU: the driver's functions run on it,
 * and load modules. True where it cannot be known: on the first thread, whose stack grows, and on
 * one that the program has made itself and given to no thread. Some microseconds at a thread's
 * first call, then a comparison.
 */
bool xg_stack_suffices(void);

#endif
