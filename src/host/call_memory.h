/* SPDX-License-Identifier: MIT */
/* Memory of one call, which is freed even if its thread leaves the call while the CPU library
 * computes: by a jump from a signal handler, by cancellation, or by pthread_exit. */
#ifndef XG_CALL_MEMORY_H
#define XG_CALL_MEMORY_H

#include <stddef.h>

/*
 * Maps zeros, without pages yet, for this thread. frame: __builtin_frame_address(0) of a function
 * that frees the memory before it returns. NULL: there is no memory, or this process is a
 * child made without fork handlers. errno is kept. From any thread.
 *
 * What a thread has left is freed at its next call whose frame is no deeper
 * (xg_call_memory_arrive), if both frames are on the thread's own stack (xg_stack_holds), at the
 * latest when the thread ends; in a child of fork, at once for the threads that it lacks.
 */
void *xg_call_memory_alloc(size_t bytes, const void *frame);

/* Frees one of this thread's; NULL: does nothing. errno is kept. */
void xg_call_memory_free(void *memory);

/* Frees what this thread has left: it makes a call in this frame. A load if there is none. No
 * system call in a closed process (sandbox.h). errno is kept. */
void xg_call_memory_arrive(const void *frame);

#endif
