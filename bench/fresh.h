/* SPDX-License-Identifier: MIT */
/* A C that no call has written to, as NumPy's `a @ b` brings one for every product. */
#ifndef BENCH_FRESH_H
#define BENCH_FRESH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory mapped for this array alone, of which no page but the first is there: 16 bytes into it, as
 * malloc returns it, and from 4 MiB on with huge pages asked for as NumPy does. small: with none,
 * whatever the system's default is. Ends the program where there is no memory.
 */
float *fresh_map(size_t bytes, bool small);
void fresh_unmap(float *array, size_t bytes);

#endif
