/* SPDX-License-Identifier: MIT */
/* The groups of a call of GEMM_BATCH, and the call cut down to some of them. */
#ifndef SHIM_GEMM_BATCH_H
#define SHIM_GEMM_BATCH_H

#include "args.h"

/* 1 for a call of an operation that has none; as it was passed, so that it may be negative. */
int64_t shim_groups_count(const struct shim_call *call, int int_bytes);

/* shim_args_size of one of the groups, of which there is another one. */
void shim_groups_size(const struct shim_call *call, int int_bytes, int64_t group, int64_t *m,
                      int64_t *n, int64_t *k);

/* How many products a group is. */
int64_t shim_groups_products(const struct shim_call *call, int int_bytes, int64_t group);

struct shim_cut {
    struct shim_call call;
    int64_t count; /* where a Fortran call finds it */
};

/* The call of `count` groups from one that so many groups, and so many products, come before. */
void shim_groups_cut(const struct shim_call *call, int int_bytes, int64_t groups, int64_t products,
                     int64_t count, struct shim_cut *cut);

#endif
