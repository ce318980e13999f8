/* SPDX-License-Identifier: MIT */
/* A fresh C, to which no call has written, as NumPy's `a @ b` allocates for every product. */
#ifndef BENCH_FRESH_H
#define BENCH_FRESH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Maps memory for one array, of which only the first page is present. The array starts 16 bytes
 * into it, as with malloc, and from 4 MiB on huge pages are requested, as in NumPy. small: without
 * huge pages, whatever the system's default is. Ends the program if there is no memory.
 */
float *fresh_map(size_t bytes, bool small);
void fresh_unmap(float *array, size_t bytes);

#endif
