/* SPDX-License-Identifier: MIT */
/* Copies rows between the caller's matrices and page-locked staging buffers. */
#ifndef XG_STAGE_H
#define XG_STAGE_H

#include "base/xg.h"

/* Rows of a staging buffer; ld and width in elements of the problem's type. */
struct xg_stage_rows {
    const char *data;
    int64_t ld, rows, width;
};

/*
 * Gathers rows of a matrix in ordinary memory into a staging buffer, past the caches unless
 * `cached`. src: (rows, width), leading dimension src_ld >= width elements of elem_bytes. dst:
 * (rows, ld), ld >= width rounded up to 4. Elements from width up to that multiple are set to 0;
 * elements beyond it are unchanged.
 */
void xg_stage_pack(void *dst, int64_t ld, const void *src, int64_t src_ld, int64_t rows,
                   int64_t width, size_t elem_bytes, bool cached);

/* The same for rows of A or B of a batch, counted over all instances and beginning at `row`; `to`
 * holds their number. Rows behind the end of an instance are those of the next instance. */
void xg_stage_pack_batch(const struct xg_problem *p, bool b, int64_t row, char *dst,
                         const struct xg_stage_rows *to, bool cached);

/*
 * Packs rows of p's structured operand, from `row` and `column` on as it is stored, into dst; `to`
 * holds their number, width and distance. Elements that are not stored become their mirror images
 * (SYMM), the conjugates of these (HEMM), or 0 (TRMM, TRSM). Elements from width up to a multiple
 * of 4 are set to 0. Elements that are not stored are never read.
 */
void xg_stage_pack_triangle(const struct xg_problem *p, int64_t row, int64_t column, char *dst,
                            const struct xg_stage_rows *to);

/*
 * Commits finished rows, which hold alpha * op(A) * op(B): C = from + beta * C for the rows of C
 * from `row` on and the columns from `column` on. Only elements of p's C are touched; with beta ==
 * 0 they are written and not read. A batch's rows are counted over all instances.
 */
void xg_stage_commit(const struct xg_problem *p, int64_t row, int64_t column,
                     const struct xg_stage_rows *from);

#endif
