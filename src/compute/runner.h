/* SPDX-License-Identifier: MIT */
/* Computes the runs of a plan: with a kernel of the table, or with products of the panels' pieces
 * or residues. */
#ifndef XG_RUNNER_H
#define XG_RUNNER_H

#include "compute/residue.h"
#include "compute/split.h"
#include "decide/plan.h"
#include "decide/route.h"
#include "device/dev.h"

struct xg_runner {
    /* Constant while the product runs; the caller sets them. */
    struct xg_dev *dev;
    const struct xg_problem *call;
    struct xg_plan *plan; /* its choices are set by xg_runner_choose */
    const struct xg_route *route;
    struct xg_recent *recent; /* the lane's selections */
    CUdeviceptr base;         /* of the plan's memory; pieces or residues lie behind it */
    CUdeviceptr place[2];     /* of A and of B */
    uint32_t *refusals; /* page-locked, zeros at first: runs that the FP16 pieces did not serve */
    bool all_kinds;     /* use all kinds of pieces, which serve any numbers; may change */

    /* Panels are split as they arrive; both NULL: each run is one kernel of the table. */
    const struct xg_split *split;      /* floats into pieces */
    const struct xg_residue *residue;  /* doubles, and parts of complex ones, into residues */
    struct xg_split_operand *operands; /* of each slice: A's, then B's; complex ones as real ones */
    CUdeviceptr results;               /* of the products of residues, one run at a time */
    const struct xg_kernel *kernel;    /* of the first run */
};

/*
 * refusals[XG_RUNNER_REFUSED_ANY]: a run with all kinds of pieces needed more than FP16. From
 * XG_RUNNER_REFUSED_TILES on there is one word per tile: a run with only FP16 pieces did not
 * compute the tile.
 */
enum {
    XG_RUNNER_REFUSED_ANY,
    XG_RUNNER_REFUSED_TILES,
    XG_RUNNER_TILES_MAX = 1023,
    XG_RUNNER_REFUSALS = XG_RUNNER_REFUSED_TILES + XG_RUNNER_TILES_MAX
};

/* Whether a run of the tile was not computed. Valid after the tile is in host memory. */
bool xg_runner_refused(const struct xg_runner *runner, int64_t tile);

/* Whether a run with all kinds of pieces needed more than FP16. Valid after all tiles are in host
 * memory. */
bool xg_runner_needed_all(const struct xg_runner *runner);

/* Device memory of the plan and of the pieces or residues that follow it. SIZE_MAX: the plan's
 * slices are too deep for residues. Pure. */
size_t xg_runner_split_bytes(const struct xg_plan *plan, const struct xg_problem *call);

/* Gives all later runs all kinds of pieces. */
void xg_runner_want_all(struct xg_runner *runner);

/*
 * Initialises *runner; splits: each run is computed from pieces or residues. A product with more
 * than XG_RUNNER_TILES_MAX tiles gets all kinds of pieces. Returns XG_OK, XG_ERR_NOMEM.
 * xg_runner_fini frees its memory.
 */
enum xg_status xg_runner_init(struct xg_runner *runner, bool splits);
void xg_runner_fini(struct xg_runner *runner);

/* Selects a kernel for each shape of the runs, unless panels are split or cuBLAS computes the
 * problem in place. */
void xg_runner_choose(struct xg_runner *runner);

/* Whether panels are split. */
bool xg_runner_splits(const struct xg_runner *runner);

/*
 * If panels are split, enqueues the split of a panel on a stream that waits for the panel's load.
 * Runs wait for the split. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_runner_arrived(struct xg_runner *runner, const struct xg_plan_load *load,
                                 CUstream stream);

/*
 * Enqueues a run of the plan, after xg_runner_choose: the C tile at c (+)= the product of its
 * panels. The stream waits for the panels and for their split. Returns XG_OK, XG_ERR_NOTFOUND,
 * XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_runner_run(struct xg_runner *runner, const struct xg_plan_run *run, CUdeviceptr c,
                             CUstream stream);

#endif
