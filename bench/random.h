/* SPDX-License-Identifier: MIT */
/* Random numbers of the host-to-host benchmarks: the same in every run. */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The next of a xorshift sequence; *state is not 0. */
uint64_t random_next(uint64_t *state);

/* Elements uniform in (-1, 1), other ones at each call; to be freed. Ends the program where there
 * is no memory. From one thread. */
float *random_matrix(size_t elems);

#endif
