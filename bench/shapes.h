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

/* The names of the values of shape.trans: nn, nt, tn, tt. */
extern const char *const shapes_trans_names[4];

/* The transposes that the word names ("all": each), as bits 1 << trans; 0 if it is not such a
 * word. */
unsigned shapes_trans_mask(const char *word);

/* Adds m,n,k once for every bit of the mask. */
void shapes_add(struct shapes *shapes, const struct shape *shape, unsigned trans_mask);

/*
 * Adds the shapes of a file, one per line: m n k [nn|nt|tn|tt|all [pad [beta]]], fields separated
 * by blanks or commas; '#' begins a comment. trans_mask applies to lines without transposes. False,
 * with a message on stderr, if the file cannot be read or a line is invalid.
 */
bool shapes_read(struct shapes *shapes, const char *path, unsigned trans_mask);

/* The product with alpha 1, beta 0 and no matrices; the leading dimensions are multiples of
 * ld_multiple, before pad. */
struct xg_problem shapes_problem(const struct shape *shape, enum xg_type type, int64_t ld_multiple);

void shapes_free(struct shapes *shapes);

#endif
