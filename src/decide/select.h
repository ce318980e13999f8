/* SPDX-License-Identifier: MIT */
/* Selects the kernel of a product. Pure: it uses a shape, a device's facts and the kernel table. */
#ifndef XG_SELECT_H
#define XG_SELECT_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/facts.h"
#include "kernels/table.h"

/* One product on a device: op(A) is (m,k), op(B) (k,n), C (m,n); all three extents are at least 1.
 */
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

static inline bool xg_shape_is(const struct xg_shape *x, const struct xg_shape *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->type == y->type &&
           x->transa == y->transa && x->transb == y->transb && x->unaligned == y->unaligned;
}

/*
 * How one product is computed: the row, its slices, and the predicted cycles with operands on the
 * device. The cycles are coarse (the policy corrects them by measured times), finite and positive.
 * The slices depend only on the row, the device and the shape, because the order of additions
 * depends on them; a row without XG_KERNEL_SPLIT has one.
 */
struct xg_choice {
    const struct xg_kernel *row; /* NULL: no kernel computes it */
    int slices; /* of k of a tile, each for a block of a cluster; 1: one block has all of k */
    double cycles;
};

/*
 * The choice for one tile product.
 * math: XG_MATH_STRICT excludes rows that work on pieces, and every mode except XG_MATH_TF32
 * excludes TF32 rows, even if they are named.
 * name: XGEMM_KERNEL, or NULL to choose. Rows that work on pieces or residues are chosen only by
 * name; otherwise route.h decides about them.
 *
 * The choice is deterministic, and takes microseconds (recent.h keeps recent ones). The row
 * is NULL if no kernel serves the device and there is no cuBLAS, or if name is not in the table. If
 * a named row cannot compute the shape (single_block on a large product), the choice is made as
 * without a name.
 */
struct xg_choice xg_select(const struct xg_device_facts *facts, enum xg_math math, const char *name,
                           const struct xg_shape *shape);

/* The same for a given row; the row is NULL if it cannot compute the shape on the device. */
struct xg_choice xg_select_row(const struct xg_kernel *row, const struct xg_device_facts *facts,
                               const struct xg_shape *shape);

/* Cycles of cuBLAS on a device before it is known whether cuBLAS is there. */
double xg_select_library_cycles(const struct xg_device_facts *facts, const struct xg_shape *shape);

/* True if only cuBLAS can compute such a problem on the device, whatever its size is. */
bool xg_select_needs_cublas(const struct xg_device_facts *facts, const struct xg_problem *call);

/*
 * The row that multiplies pieces (flag XG_KERNEL_PIECES) or residues (XG_KERNEL_RESIDUES) on the
 * device: the named one if it has the flag, else one that gains there. NULL: none.
 */
const struct xg_kernel *xg_select_emulated(const struct xg_device_facts *facts, unsigned flag,
                                           const char *name);

/* True if the row, which is not one of cuBLAS, computes the type. A row of residues also computes
 * complex numbers of its type, as real ones (residue.h), but only for problems, not for operands
 * that lie on the device. */
bool xg_select_is_of(const struct xg_kernel *row, enum xg_type type);

/* The row of that name, or NULL. */
const struct xg_kernel *xg_select_find(const char *name);

#endif
