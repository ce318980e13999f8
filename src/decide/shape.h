/* SPDX-License-Identifier: MIT */
/* One product of matrices on a device, as selection sees it. */
#ifndef XG_SHAPE_H
#define XG_SHAPE_H

#include "base/xg.h"

/* op(A) is (m,k), op(B) (k,n), C (m,n); all three extents are at least 1. */
struct xg_shape {
    int64_t m, n, k;
    enum xg_type type;
    bool transa, transb;
    bool unaligned; /* not aligned as XG_KERNEL_VEC4 asks; the pipeline's operands always are */
};

#endif
