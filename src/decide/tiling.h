/* SPDX-License-Identifier: MIT */
/* Into what panels a product is cut, so that its link and its kernels work at once. Pure. */
#ifndef XG_TILING_H
#define XG_TILING_H

#include "base/xg.h"

/*
 * How a product is cut. What arrives decides what can be computed, and rows that are whole in the
 * caller's memory go over the link faster than parts of rows:
 *
 *   slices:  along k alone. C is small; every slice updates all of it.
 *   rows:    B whole, behind A's first panel; A in rows of panels; each opens as many whole rows
 *            of C.
 *   columns: A whole and first; B in columns of panels.
 *            Of TRMM and TRSM the triangular operand is always the one that comes whole.
 *   grid:    along m and n, and along k where it is deep: the first kernel starts when a small part
 *            of both has arrived. Where the arithmetic takes longer than the link, or memory is
 *            short.
 */
enum xg_tiling_kind { XG_TILING_SLICES, XG_TILING_ROWS, XG_TILING_COLUMNS, XG_TILING_GRID };

struct xg_tiling {
    enum xg_tiling_kind kind;
    double panel_elems; /* of a panel, about; grid: nor has a product of two panels many more */
};

/*
 * The cut that suits *call (m, n, k >= 1), of rows of at most row_elems elements, where kernels
 * multiply and add so many numbers while the link brings a byte (0: an H200 in FP32).
 */
struct xg_tiling xg_tiling_choose(const struct xg_problem *call, int64_t row_elems,
                                  double macs_per_byte);

/* Panels by that cut: at most *tm rows of A, *tn columns of B, *tk deep; each at least 1. *tm ==
 * *tn where C is a triangle. */
void xg_tiling_panels(const struct xg_tiling *tiling, const struct xg_problem *call,
                      int64_t row_elems, int64_t *tm, int64_t *tn, int64_t *tk);

#endif
