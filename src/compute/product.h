/* SPDX-License-Identifier: MIT */
/* What computes a run of a plan: a kernel of the table, or products of the panels' pieces. */
#ifndef XG_PRODUCT_H
#define XG_PRODUCT_H

#include "compute/split.h"
#include "decide/plan.h"
#include "decide/route.h"
#include "device/dev.h"

struct xg_product {
    /* Constant while the product runs; the caller sets them. */
    struct xg_dev *dev;
    const struct xg_problem *call;
    const struct xg_plan *plan;
    const struct xg_route *route;
    CUdeviceptr base;   /* of the plan's memory, and behind it that of the pieces */
    uint32_t *refusals; /* page-locked, zeros: what FP16's pieces did not serve */
    bool all_kinds;     /* of pieces, for whatever the numbers may need; may change */

    const struct xg_split *split;    /* NULL: each run is one kernel of the table */
    struct xg_split_operand *pieces; /* of each slice: A's, then B's */
    const struct xg_kernel *kernel;  /* of the first run */
};

/*
 * refusals[XG_PRODUCT_REFUSED_ANY]: of a run with all kinds, which then served it; and from
 * XG_PRODUCT_REFUSED_TILES on a word a tile: runs that had FP16's alone left it undone.
 */
enum {
    XG_PRODUCT_REFUSED_ANY,
    XG_PRODUCT_REFUSED_TILES,
    XG_PRODUCT_TILES_MAX = 1023,
    XG_PRODUCT_REFUSALS = XG_PRODUCT_REFUSED_TILES + XG_PRODUCT_TILES_MAX
};

/* Whether a run of the tile was left undone. When the tile is in host memory this is known. */
bool xg_product_refused(const struct xg_product *product, int64_t tile);

/* Whether a run with all kinds needed them. Known when all tiles are in host memory. */
bool xg_product_needed_all(const struct xg_product *product);

/* Device memory of the plan and, behind it, of the pieces of its operands. Pure. */
size_t xg_product_pieces_bytes(const struct xg_plan *plan, const struct xg_problem *call);

/* Runs from now on get all kinds of pieces. */
void xg_product_want_all(struct xg_product *product);

/*
 * Readies *product; splits: each run is computed from pieces. A product of more tiles than
 * XG_PRODUCT_TILES_MAX gets all kinds. XG_OK, XG_ERR_NOMEM. xg_product_fini frees what it took.
 */
enum xg_status xg_product_init(struct xg_product *product, bool splits);
void xg_product_fini(struct xg_product *product);

/*
 * Where the product splits: enqueues the split of a panel, on a stream that has been told to wait
 * for its load. Runs wait for what is enqueued here. XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_product_arrived(struct xg_product *product, const struct xg_plan_load *load,
                                  CUstream stream);

/*
 * Enqueues a run of the plan: C tile (+)= its panels' product, tile at c. The stream has been told
 * to wait for the panels, and for their split. XG_OK, XG_ERR_NOTFOUND,
 * XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_product_run(struct xg_product *product, const struct xg_plan_run *run,
                              CUdeviceptr c, CUstream stream);

#endif
