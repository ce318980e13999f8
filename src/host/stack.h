/* SPDX-License-Identifier: MIT */
/* Checks how much stack the program's thread has left. */
#ifndef XG_STACK_H
#define XG_STACK_H

#include <stdbool.h>

/*
 * True if this thread has enough stack for a product on the GPU: the driver's functions run on it,
 * and load modules. Also true if the stack's size cannot be known: on the first thread, whose stack
 * grows, and on a stack that the program made itself and gave to no thread. Some microseconds at a
 * thread's first call, then a comparison.
 */
bool xg_stack_suffices(void);

/* True if the thread has asked before, so that the answer takes no system call and no lock. */
bool xg_stack_is_known(void);

/*
 * True if the address is on the stack with which the thread started. False for contexts on stacks
 * that the program made itself, and for what the first thread has deeper than 128 MiB. Costs as
 * above; no system call after a thread's first question.
 */
bool xg_stack_holds(const void *address);

/* True if the thread runs on a signal handler's own stack, which may lie anywhere. */
bool xg_stack_is_handlers(void);

#endif
