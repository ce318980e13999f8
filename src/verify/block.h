/* SPDX-License-Identifier: MIT */
/* A column-major matrix of any type times several vectors at once, in double precision. */
#ifndef XG_BLOCK_H
#define XG_BLOCK_H

#include "base/routine.h"
#include "host/team.h"

enum { XG_BLOCK_VECTORS = 4 };

/* One element of each vector; a block of vectors is an array of these. */
struct xg_block_row {
    double re[XG_BLOCK_VECTORS], im[XG_BLOCK_VECTORS];
};

/* The diagonal of a triangle. */
enum xg_diagonal {
    XG_DIAGONAL_STORED,
    XG_DIAGONAL_REAL, /* stored, and its imaginary part is not read */
    XG_DIAGONAL_ONE,
    XG_DIAGONAL_ZERO,
};

/* A matrix. If only one triangle is stored, the other one is 0. */
struct xg_block_matrix {
    struct xg_matrix matrix; /* with any alignment */
    enum xg_type type;
    enum xg_uplo part;
    enum xg_diagonal diagonal;
};

/* Sums over the stored elements. */
struct xg_block_size {
    double norm;    /* Frobenius's */
    double largest; /* magnitude of a real or imaginary part */
};

/*
 * out += a in; conjugate: out += aᴴ in. out does not overlap in. Of real types only the
 * real parts of blocks are read and written. Up to `workers` members of the team, which must be
 * idle, share the work; team NULL: this thread works alone. The sums round to nearest, whatever
 * this thread's floating-point environment is, and leave that unchanged. Their order does not
 * depend on the workers.
 */
void xg_block_multiply(const struct xg_block_matrix *a, bool conjugate,
                       const struct xg_block_row *in, struct xg_block_row *out,
                       struct xg_team *team, int workers);

/* room: a block of as many rows as the matrix has columns. */
struct xg_block_size xg_block_measure(const struct xg_block_matrix *a, struct xg_block_row *room,
                                      struct xg_team *team, int workers);

/* Element (i, j) as it is stored. */
void xg_block_get(const struct xg_block_matrix *a, int64_t i, int64_t j, double *re, double *im);

/* The smallest magnitude on the diagonal as it is stored. */
double xg_block_least_pivot(const struct xg_block_matrix *a);

#endif
