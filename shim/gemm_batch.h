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

/* The groups of a call; the first ones may have been taken. */
struct shim_groups {
    const struct shim_call *call;
    int int_bytes;
    int64_t count;           /* number of all groups, as passed: may be negative */
    int64_t first, products; /* the first group left, and the products before it */
    int64_t wanted;          /* the first that the engine wants; count: none */
};

/* All groups of a call of GEMM_BATCH are left. The call must outlive *groups. */
void shim_groups_init(const struct shim_call *call, int int_bytes, struct shim_groups *groups);

/* Sets groups->wanted to the first group that `wants` accepts by the size of its normal form, or to
 * count. Calls `wants` once for each group up to there. */
typedef bool shim_groups_wants(void *context, int64_t m, int64_t n, int64_t k);
void shim_groups_seek(struct shim_groups *groups, shim_groups_wants *wants, void *context);

struct shim_cut {
    struct shim_call call;
    int64_t count; /* a Fortran call points to it */
};

/* Makes a call of the next `count` groups, which must exist, and removes them from *groups. */
void shim_groups_take(struct shim_groups *groups, int64_t count, struct shim_cut *cut);

#endif
