/* SPDX-License-Identifier: MIT */
/* Which kernel a product gets. Pure: a shape, a device's properties and the kernel table. */
#ifndef XG_SELECT_H
#define XG_SELECT_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/facts.h"
#include "kernels/table.h"

/*
 * The row for one tile product (m,n,k >= 1) with op(A) transposed or not and op(B) likewise.
 * math: XG_MATH_STRICT leaves out rows that work on pieces, and all but XG_MATH_TF32 those of TF32,
 * whatever is named.
 * name: XGEMM_KERNEL, or NULL to choose.
 *
 * A row whose efficiency was not measured is chosen by its name alone.
 *
 * Deterministic. Returns NULL when no row of ours serves the device and cuBLAS is not there, or
 * when name is not in the table. A forced row that cannot serve the shape (single_block on a large
 * product) gives way to the chosen one: see xg_select_serves.
 */
const struct xg_kernel *xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, int64_t m, int64_t n, int64_t k);

/* The row's efficiency (table.h), or where that is not measured what is usual. */
double xg_select_efficiency(const struct xg_kernel *row);

/*
 * Cycles that the row is predicted to take for m,n,k >= 1, operands on the device: what the ranking
 * compares. Coarse (policy corrects it by what it sees), finite and positive.
 */
double xg_select_cycles(const struct xg_kernel *row, const struct xg_device_facts *facts, int64_t m,
                        int64_t n, int64_t k);

/* The same for cuBLAS on a device of which is not known yet whether it has it: facts->type. */
double xg_select_library_cycles(const struct xg_device_facts *facts, int64_t m, int64_t n,
                                int64_t k);

/* How the k of a tile is shared out among blocks, and where their sums meet. */
struct xg_slices {
    int count;    /* 1: one block has all of k */
    bool scratch; /* in the launch's scratch; false: in a cluster of so many blocks */
    int results;  /* of a tile, where each of `count` blocks leaves parts of two; else 0 */
};

/*
 * The slices of the row for the shape: a pure function of both and the device, because the order of
 * additions depends on them. {1, false} for a row without XG_KERNEL_SPLIT and XG_KERNEL_SHARE.
 */
struct xg_slices xg_select_slices(const struct xg_kernel *row, const struct xg_device_facts *facts,
                                  int64_t m, int64_t n, int64_t k);

/* Bytes of scratch that they take for m and n; 0 where they use none. */
size_t xg_select_slices_bytes(struct xg_slices slices, int64_t m, int64_t n);

/* Bytes of scratch that a repacked row takes for the copies of these operands (XG_COPY_A, _B). */
size_t xg_select_copies_bytes(int copies, int64_t m, int64_t n, int64_t k);

/* The row that makes those copies: the launcher's first step. */
const struct xg_kernel *xg_select_repack(void);

/* The row that adds what slices left in the scratch: the launcher's second step. */
const struct xg_kernel *xg_select_sum(struct xg_slices slices);

/* True when the row can compute the shape on the device. */
bool xg_select_serves(const struct xg_kernel *row, const struct xg_device_facts *facts, int64_t m,
                      int64_t n, int64_t k);

/* True when no row but cuBLAS's can compute such a problem on the device, however large it is. */
bool xg_select_needs_cublas(const struct xg_device_facts *facts, const struct xg_problem *call);

/* The row of that name, or NULL. */
const struct xg_kernel *xg_select_find(const char *name);

#endif
