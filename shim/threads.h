/* SPDX-License-Identifier: MIT */
/* With how many threads a CPU library would compute, asked of the library itself. */
#ifndef SHIM_THREADS_H
#define SHIM_THREADS_H

#include "src/base/xg.h"

/* What was found in one library. All zero: nothing is known. */
struct shim_threads {
    int (*count)(void); /* threads of a product that is not small; NULL: not known */
    int (*in_parallel)(
        void);         /* where it is true, a product has one thread; NULL: that has no part */
    double single_mnk; /* m n k up to which a real GEMM has one thread; 0: none has */
    enum xg_pool pool;
};

/*
 * Looks through a dlopen handle, which means the library and what it depends on, or, where handle
 * is NULL, from an address in the library, without the dynamic linker's lock. The functions that
 * are found there live as long as the library is loaded: the caller holds a reference to it for as
 * long as it keeps *threads. An OpenMP run-time that is found elsewhere is held for good. From any
 * thread.
 */
void shim_threads_find(void *handle, const void *address, struct shim_threads *threads);

/*
 * Threads, at least 1, with which the library would compute this product on the calling thread now,
 * at most; product NULL: one that is not small. 0: not known. A few nanoseconds; takes no lock.
 */
int shim_threads_count(const struct shim_threads *threads, const struct xg_problem *product);

#endif
