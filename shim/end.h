/* SPDX-License-Identifier: MIT */
/* The end of the process: keeps products out of a library whose destructors run. */
#ifndef SHIM_END_H
#define SHIM_END_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a product that goes straight to the CPU library is to be accompanied by the two below.
 * From any thread; two loads. */
bool shim_end_wants(int64_t m, int64_t n, int64_t k);

/*
 * Before and after a product in the CPU library, once the GPU was started. False: the process's
 * libraries are being ended by another thread, so that the product is to be computed without them;
 * shim_end_leave is then not called. Where it is true that end waits for the product, for up to 2
 * s. Always true on the thread that ends the process, whose calls are as they were without us. From
 * any thread.
 */
bool shim_end_enter(void);
void shim_end_leave(void);

#endif
