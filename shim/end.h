/* SPDX-License-Identifier: MIT */
/* Keeps products out of a library whose destructors run at the end of the process. */
#ifndef SHIM_END_H
#define SHIM_END_H

#include <stdbool.h>
#include <stdint.h>

/* Whether shim_end_enter and shim_end_leave must enclose a product that goes straight to the CPU
 * library. Callable from any thread; costs two loads. */
bool shim_end_wants(int64_t m, int64_t n, int64_t k);

/*
 * Enclose a product in the CPU library once the GPU was started. shim_end_enter returns false if
 * another thread is ending the process's libraries; then compute the product without them, and
 * shim_end_leave does nothing. If it returns true, the exit waits for the product, for up to 2 s.
 * It always returns true on the thread that ends the process, so that its calls run as without this
 * library, and inside a call that has entered. Callable from any thread.
 */
bool shim_end_enter(void);
void shim_end_leave(void);

/*
 * For a call that only the CPU library computes: waits for the end of the process, for two seconds
 * at most, and only once. If it returns, another destructor may be waiting for this thread; then
 * the call must run as without this library. errno is not kept.
 */
void shim_end_await(void);

#endif
