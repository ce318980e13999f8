/* SPDX-License-Identifier: MIT */
/* Which kernel a product gets. Pure: a shape, a device's properties and the kernel table. */
#ifndef XG_SELECT_H
#define XG_SELECT_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/facts.h"
#include "decide/shape.h"
#include "kernels/table.h"

/* How the k of a tile is shared out among blocks, and where their sums meet. */
struct xg_slices {
    int count;    /* 1: one block has all of k */
    bool scratch; /* in the launch's scratch; false: in a cluster of so many blocks */
    int results;  /* of a tile, where each of `count` blocks leaves parts of two; else 0 */
};

/*
 * How one product is computed: the row, its slices, and the cycles that it is predicted to take
 * with its operands on the device. Coarse (policy corrects it by what it sees), finite and
 * positive. The slices depend on the row, the device and the shape alone, because the order of
 * additions depends on them; a row without XG_KERNEL_SPLIT and XG_KERNEL_SHARE has one.
 */
struct xg_choice {
    const struct xg_kernel *row; /* NULL: nothing computes it */
    struct xg_slices slices;
    double cycles;
};

/*
 * The choice for one tile product.
 * math: XG_MATH_STRICT leaves out rows that work on pieces, and all but XG_MATH_TF32 those of TF32,
 * whatever is named.
 * name: XGEMM_KERNEL, or NULL to choose. Rows that work on pieces (route.h decides on those) and
 * rows whose efficiency was not measured are chosen by name alone.
 *
 * The choice is deterministic, and takes microseconds (choices.h keeps recent ones). The row is
 * NULL when none of ours serves the device and cuBLAS is not there, or when name is not in the
 * table. A forced row that cannot serve the shape (single_block on a large product) gives way to
 * the chosen one.
 */
struct xg_choice xg_select(const struct xg_device_facts *facts, enum xg_math math, const char *name,
                           const struct xg_shape *shape);

/* The same for a given row; NULL where it cannot compute the shape on the device. */
struct xg_choice xg_select_row(const struct xg_kernel *row, const struct xg_device_facts *facts,
                               const struct xg_shape *shape);

/* The row's efficiency (table.h), or where that is not measured what is usual. */
double xg_select_efficiency(const struct xg_kernel *row);

/* Cycles of cuBLAS on a device of which is not known yet whether it has it. */
double xg_select_library_cycles(const struct xg_device_facts *facts, const struct xg_shape *shape);

/* Bytes of scratch that they take for m and n; 0 where they use none. */
size_t xg_select_slices_bytes(struct xg_slices slices, int64_t m, int64_t n);

/* Bytes of scratch that a repacked row takes for the copies of these operands (XG_COPY_A, _B). */
size_t xg_select_copies_bytes(int copies, int64_t m, int64_t n, int64_t k);

/* The row that makes those copies: the launcher's first step. */
const struct xg_kernel *xg_select_repack(void);

/* The row that adds what slices left in the scratch: the launcher's second step. */
const struct xg_kernel *xg_select_sum(struct xg_slices slices);

/* True when no row but cuBLAS's can compute such a problem on the device, however large it is. */
bool xg_select_needs_cublas(const struct xg_device_facts *facts, const struct xg_problem *call);

/* The row of that name, or NULL. */
const struct xg_kernel *xg_select_find(const char *name);

#endif
