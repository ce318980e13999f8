/* SPDX-License-Identifier: MIT */
/* Maps and unmaps arrays of fresh pages. */
#define _GNU_SOURCE
#include "fresh.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The header before the array, like malloc's; and the size from which NumPy requests huge pages. */
enum { HEADER_BYTES = 16, PAGE_BYTES = 4096, HUGE_FROM_BYTES = 4 << 20 };

float *fresh_map(size_t bytes, bool small)
{
    size_t all = bytes + HEADER_BYTES;
    char *map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        perror("mmap");
        exit(EXIT_FAILURE);
    }
    if (small)
        madvise(map, all, MADV_NOHUGEPAGE);
    else if (bytes >= HUGE_FROM_BYTES)
        madvise(map + PAGE_BYTES, all - PAGE_BYTES, MADV_HUGEPAGE);
    *map = 1; /* malloc stores the size there */
    return (float *)(void *)(map + HEADER_BYTES);
}

void fresh_unmap(float *array, size_t bytes)
{
    munmap((char *)array - HEADER_BYTES, bytes + HEADER_BYTES);
}
