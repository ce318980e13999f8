/* SPDX-License-Identifier: MIT */
/* Copies of the operands that a routine overwrites, kept until it has overwritten them whole. */
/*
 * LAPACK's routines work in place. While results come down, an operand is half old and half new. If
 * the device then fails, the CPU needs the operand as it was before. The copies are made while the
 * device computes and the cores are idle, so they cost little time.
 */
#ifndef XG_ORIGINALS_H
#define XG_ORIGINALS_H

#include <stdatomic.h>

#include "base/routine.h"
#include "base/xg.h"

/* Memory for copies, kept between calls, because mapping and clearing pages takes longer than the
 * copy. Between calls the kernel may take back the pages of copies above 16 MiB. Zero-initialised:
 * none. */
struct xg_originals_memory {
    void *at;
    size_t bytes;
};

struct xg_originals {
    struct xg_originals_matrix {
        struct xg_matrix host;
        char *copy; /* its columns, contiguous */
        enum xg_uplo part;
        size_t elem_bytes;
    } at[XG_SLOT_COUNT];
    int count;
    size_t bytes; /* of all copies */
    struct xg_originals_memory *memory;
    _Atomic int64_t taken; /* columns of all matrices that a thread has taken */
};

/* Finds the operands that the routine both reads and writes, and makes *memory large enough for
 * their copies. Returns XG_OK, XG_ERR_NOMEM. errno is kept, here and below. */
enum xg_status xg_originals_init(struct xg_originals *originals, const struct xg_routine *routine,
                                 struct xg_originals_memory *memory);

/* The first ends the copies of a routine and keeps the memory for the next routine, unless it
 * exceeds 256 MiB; the second frees the memory. */
void xg_originals_fini(struct xg_originals *originals);
void xg_originals_release(struct xg_originals_memory *memory);

/* Copies columns until none is left. Any number of threads may call it at the same time; the copies
 * are whole when all have returned. */
void xg_originals_save(struct xg_originals *originals);

/* Points the operands of *before, a copy of the routine, to their copies, if they have one. */
void xg_originals_view(const struct xg_originals *originals, struct xg_routine *before);

/* Copies the originals back to the operands. */
void xg_originals_restore(const struct xg_originals *originals);

#endif
