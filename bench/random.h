/* SPDX-License-Identifier: MIT */
/* Random numbers of the host-to-host benchmarks: the same in every run. */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The next of a xorshift sequence; *state is not 0. */
uint64_t random_next(uint64_t *state);

/* Returns elements uniform in (-1, 1), different ones at each call; the caller frees them. Ends the
 * program if there is no memory. Not thread-safe. */
float *random_matrix(size_t elems);

#endif
