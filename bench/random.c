/* SPDX-License-Identifier: MIT */
/* Random operands of the host-to-host benchmarks. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Repeats one random block at odd offsets. */
float *random_matrix(size_t elems)
{
    enum { BLOCK_ELEMS = 1 << 20 };
    static float *block;
    static uint64_t state = 88172645463325252u;
    if (!block) {
        block = malloc(BLOCK_ELEMS * sizeof *block);
        for (size_t i = 0; block && i < BLOCK_ELEMS; i++)
            block[i] = (float)((double)(random_next(&state) >> 40) * 0x1p-23 - 1.0);
    }
    float *matrix = malloc(elems * sizeof *matrix);
    if (!block || !matrix) {
        fprintf(stderr, "no memory\n");
        exit(EXIT_FAILURE);
    }
    for (size_t at = 0; at < elems;) {
        size_t from = random_next(&state) % (BLOCK_ELEMS / 2);
        size_t count = BLOCK_ELEMS - from < elems - at ? BLOCK_ELEMS - from : elems - at;
        memcpy(matrix + at, block + from, count * sizeof *matrix);
        at += count;
    }
    return matrix;
}
