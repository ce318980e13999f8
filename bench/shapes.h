/* SPDX-License-Identifier: MIT */
/* The products that bench/host and bench/kernels measure, read from a file. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include "src/base/xg.h"

struct shape {
    int64_t m, n, k;
    int trans;   /* 2 * transa + transb */
    int64_t pad; /* added to every leading dimension */
    float beta;
};

struct shapes {
    struct shape *at;
    int count;
};

/* What a value of shape.trans is called: nn, nt, tn, tt. */
extern const char *const shapes_trans_names[4];

/* Those that the word names ("all": each), as bits 1 << trans; 0 where it is no such word. */
unsigned shapes_trans_mask(const char *word);

/* Adds m,n,k once for every bit of the mask. */
void shapes_add(struct shapes *shapes, const struct shape *shape, unsigned trans_mask);

/*
 * Adds what the file says, a line each: m n k [nn|nt|tn|tt|all [pad [beta]]], fields apart by
 * blanks or commas, '#' begins a comment. trans_mask is for lines that do not name the transposes.
 * False, with a message on stderr, where the file cannot be read or a line means nothing.
 */
bool shapes_read(struct shapes *shapes, const char *path, unsigned trans_mask);

void shapes_free(struct shapes *shapes);

#endif
