/* SPDX-License-Identifier: MIT */
/* How a product is cut into panels, so that transfers and kernels overlap. Pure. */
#ifndef XG_TILING_H
#define XG_TILING_H

#include "base/xg.h"

/*
 * How a product is cut; an operand that the device holds is not. The panels that have arrived
 * determine what can be computed, and whole rows of the caller's memory are copied faster than
 * parts of rows:
 *
 *   slices:  cuts only along k. C is small; every slice updates all of it.
 *   rows:    copies A's first panel, then all of B, then A in rows of panels; each panel completes
 *            as many whole rows of C.
 *   columns: copies all of A first, then B in columns of panels. The triangular operand of TRMM and
 *            TRSM is always the one that is copied whole.
 *   grid:    cuts along m and n, and along k if it is deep: the first kernel starts when a small
 *            part of both operands has arrived. It is used if the arithmetic takes longer than the
 *            link, or if memory is short.
 */
enum xg_tiling_kind { XG_TILING_SLICES, XG_TILING_ROWS, XG_TILING_COLUMNS, XG_TILING_GRID };

struct xg_tiling {
    enum xg_tiling_kind kind;
    double panel_elems; /* of a panel, approximately; grid: also of a product of two panels */
};

/*
 * Chooses the cut of *call (m, n, k >= 1), with rows of at most row_elems elements. macs_per_byte:
 * multiply-adds of the kernels in the time in which the link transfers a byte (0: an H200 in FP32).
 */
struct xg_tiling xg_tiling_choose(const struct xg_problem *call, int64_t row_elems,
                                  double macs_per_byte);

/* The panels of the cut: at most *tm rows of A, *tn columns of B, and depth *tk; each is at least
 * 1. *tm == *tn if C is a triangle. */
void xg_tiling_panels(const struct xg_tiling *tiling, const struct xg_problem *call,
                      int64_t row_elems, int64_t *tm, int64_t *tn, int64_t *tk);

#endif
