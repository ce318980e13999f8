/* SPDX-License-Identifier: MIT */
/* Reads the batches of GEMM: GEMM_BATCH_STRIDED, and GEMM_BATCH, whose calls have groups. */
#ifndef SHIM_GEMM_BATCH_H
#define SHIM_GEMM_BATCH_H

#include "args.h"

/* shim_args_size and shim_args_read of GEMM_BATCH_STRIDED, and of GEMM_BATCH's first group. */
void shim_strided_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                       int64_t *k);
void shim_strided_read(const struct shim_call *call, int int_bytes, struct shim_args *args);
void shim_batch_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                     int64_t *k);
void shim_batch_read(const struct shim_call *call, int int_bytes, struct shim_args *args);

/* 1 for an operation without groups; the number as passed, which may be negative. */
int64_t shim_groups_count(const struct shim_call *call, int int_bytes);

/* shim_args_size of one group. The group must exist. */
void shim_groups_size(const struct shim_call *call, int int_bytes, int64_t group, int64_t *m,
                      int64_t *n, int64_t *k);

/* The number of products in a group. */
int64_t shim_groups_products(const struct shim_call *call, int int_bytes, int64_t group);

struct shim_cut {
    struct shim_call call;
    int64_t count; /* a Fortran call points to it */
};

/* Cuts the call to `count` groups; `groups` groups and `products` products come before them. */
void shim_groups_cut(const struct shim_call *call, int int_bytes, int64_t groups, int64_t products,
                     int64_t count, struct shim_cut *cut);

#endif
