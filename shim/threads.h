/* SPDX-License-Identifier: MIT */
/* Asks a CPU library with how many threads it would compute. */
#ifndef SHIM_THREADS_H
#define SHIM_THREADS_H

#include "pools.h"

/* The functions found in one library. All zero: nothing is known. */
struct shim_threads {
    int (*count)(void); /* threads of a product that is not small; NULL: unknown */
    int (*in_parallel)(
        void); /* while it returns true, a product has one thread; NULL: there is no such test */
    double single_mnk; /* m n k up to which a real GEMM has one thread; 0: no GEMM has */
    enum shim_pool pool;
};

/*
 * Searches a dlopen handle, which covers the library and its dependencies. If handle is NULL, it
 * searches from an address in the library, without the dynamic linker's lock. The functions found
 * there live as long as the library is loaded, so the caller keeps a reference to it as long as it
 * keeps *threads. An OpenMP run-time found elsewhere is kept forever. Callable from any thread.
 */
void shim_threads_find(void *handle, const void *address, struct shim_threads *threads);

/*
 * The number of threads, at least 1, with which the library would now compute this problem on the
 * calling thread, as an upper bound. problem NULL: one that is not small. 0: unknown. Takes a few
 * nanoseconds and no lock.
 */
int shim_threads_count(const struct shim_threads *threads, const struct xg_problem *problem);

#endif
