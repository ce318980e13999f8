/* SPDX-License-Identifier: MIT */
/* A product and its exact sums, for tests that judge kernels element by element. */
#ifndef GPU_PRODUCT_H
#define GPU_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/kabi.h"
#include "src/base/problem.h"

/* One product as the mathematics has it, whatever the storage: op(A), op(B), C and the exact sums.
 */
struct product {
    int64_t m, n, k;
    double *a, *b, *c;           /* (m,k), (k,n), (m,n) */
    long double *sum, *absolute; /* (m,n): op(A) op(B), |op(A)| |op(B)| */
    enum xg_type type;           /* of its numbers: XG_TYPE_S or XG_TYPE_D */
    uint64_t random_state;       /* of what product_draw draws */
    double rounding;             /* of the factors, of |op(A)| |op(B)|: 0 but for TF32 */
    struct xg_triangle wanted;   /* of C */
};

/* Room for so many numbers in each matrix. False: none. */
bool product_allocate(struct product *p, size_t numbers);
void product_free(struct product *p);

/* Fresh operands of p->type, all bits of which count, and their exact product. */
void product_draw(struct product *p, int64_t m, int64_t n, int64_t k);

/* The exact product of what p->a and p->b hold. */
void product_sum(struct product *p);

#endif
