/* SPDX-License-Identifier: MIT */
/* Copies of the operands that a routine overwrites, kept until it has overwritten them whole. */
/*
 * LAPACK's routines work in place. While results come down, an operand is half old and half new,
 * and where the device fails then, the CPU needs it as it was. The device computes meanwhile, so
 * the cores that copy are idle, and the copies cost little time.
 */
#ifndef XG_ORIGINALS_H
#define XG_ORIGINALS_H

#include <stdatomic.h>

#include "base/routine.h"
#include "base/xg.h"

/* Memory for copies, kept between calls: to map and clear pages takes longer than the copy. The
 * kernel may take the pages of copies above 16 MiB back between calls. Zero-initialised: none. */
struct xg_originals_memory {
    void *at;
    size_t bytes;
};

struct xg_originals {
    struct xg_originals_matrix {
        struct xg_matrix host;
        char *copy; /* its columns, one behind the other */
        enum xg_uplo part;
        size_t elem_bytes;
    } at[XG_SLOT_COUNT];
    int count;
    size_t bytes; /* of all copies */
    struct xg_originals_memory *memory;
    _Atomic int64_t taken; /* columns of all matrices that a thread has taken */
};

/* Finds the operands that the routine reads and writes, and sees to it that the memory holds their
 * copies. XG_OK, XG_ERR_NOMEM. errno is kept, here and below. */
enum xg_status xg_originals_init(struct xg_originals *originals, const struct xg_routine *routine,
                                 struct xg_originals_memory *memory);

/* Gives the pages back, or leaves up to 256 MiB of them to be used again. */
void xg_originals_fini(struct xg_originals *originals);
void xg_originals_release(struct xg_originals_memory *memory);

/* Copies columns until none is left. Any number of threads may call it at the same time; the copies
 * are whole when all have returned. */
void xg_originals_save(struct xg_originals *originals);

/* Points *before, a copy of the routine, to the copies of its operands where there are any. */
void xg_originals_view(const struct xg_originals *originals, struct xg_routine *before);

/* Makes the operands what they were. */
void xg_originals_restore(const struct xg_originals *originals);

#endif
