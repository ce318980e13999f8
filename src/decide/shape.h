/* SPDX-License-Identifier: MIT */
/* One product of matrices on a device, in the terms of selection. */
#ifndef XG_SHAPE_H
#define XG_SHAPE_H

#include "base/problem.h"

/* op(A) is (m,k), op(B) (k,n), C (m,n); all three extents are at least 1. */
struct xg_shape {
    int64_t m, n, k;
    enum xg_type type;
    bool transa, transb;
    bool unaligned; /* not aligned as XG_KERNEL_VEC4 requires; the pipeline's operands always are */
};

/* Returns the shape of *call or a part of it, with its type and transposes. */
static inline struct xg_shape xg_shape_of(const struct xg_problem *call, int64_t m, int64_t n,
                                          int64_t k)
{
    return (struct xg_shape){.m = m,
                             .n = n,
                             .k = k,
                             .type = call->type,
                             .transa = call->transa != XG_NO_TRANS,
                             .transb = call->transb != XG_NO_TRANS};
}

#endif
