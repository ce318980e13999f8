/* SPDX-License-Identifier: MIT */
/* How one product is cut into tiles, and in which order they move. Pure: a shape and limits in. */
#ifndef XG_PLAN_H
#define XG_PLAN_H

#include "xg.h"

/*
 * C is cut into mt x nt tiles of at most (tm,tn), the inner dimension into kt slices of at most tk.
 * A *panel* is what one tile needs of an operand for one slice: A(i,l) is (tm,tk), B(l,j) is
 * (tk,tn), each kept in device memory as it lies in host memory (transposed operands stay
 * transposed), in a *slot* with a leading dimension that is a multiple of 4, zero padded up to it.
 *
 * Everything happens in the order of three lists:
 *   loads: panels copied to the device, in this order;
 *   runs:  one kernel each, C tile += A panel * B panel, in this order;
 *   tiles: C tiles, in the order in which they are finished and copied back.
 * The lists are consistent: executing loads, runs and write-backs in list order, each as soon as
 * what it names is done, never waits for something that comes later.
 */
struct xg_plan_load {
    bool b; /* a panel of B: (l,index); else of A: (index,l) */
    int64_t index, l;
    int slot;
    int64_t after_run; /* the last run that reads the slot's earlier panel; -1: none */
};

struct xg_plan_run {
    int64_t tile;           /* index into tiles */
    int64_t a_load, b_load; /* indices into loads: the panels it reads */
    bool first, last;       /* first: C tile is overwritten, not added to; last: it is final */
    bool reused;            /* a slot that it reads is loaded again later */
};

struct xg_plan_tile {
    int64_t i, j;
    int slot;
    int64_t after_tile; /* the tile that used the slot before; -1: none */
};

struct xg_plan {
    int64_t tm, tn, tk;
    int64_t mt, nt, kt;
    int64_t lda, ldb, ldc; /* of every slot, in elements */
    size_t a_slot_bytes, b_slot_bytes, c_slot_bytes;
    int a_slots, b_slots, c_slots;
    size_t device_bytes; /* of all slots together: A's, then B's, then C's */
    struct xg_plan_load *loads;
    struct xg_plan_run *runs;
    struct xg_plan_tile *tiles;
    int64_t load_count, run_count, tile_count;
};

struct xg_plan_limits {
    size_t device_bytes; /* of device memory at most */
    size_t row_bytes;    /* no panel or tile row may be wider: a row must fit a staging buffer */
};

/*
 * Plans *call (m, n, k >= 1). XG_OK; XG_DECLINED when it does not fit the limits even in the
 * smallest tiles; XG_ERR_NOMEM. *plan is set only on XG_OK and freed with xg_plan_fini.
 */
enum xg_status xg_plan_init(struct xg_plan *plan, const struct xg_sgemm *call,
                            const struct xg_plan_limits *limits);
void xg_plan_fini(struct xg_plan *plan);

/* Extent of tile row i, tile column j, slice l: the last one may be shorter. */
int64_t xg_plan_rows(const struct xg_plan *plan, const struct xg_sgemm *call, int64_t i);
int64_t xg_plan_columns(const struct xg_plan *plan, const struct xg_sgemm *call, int64_t j);
int64_t xg_plan_depth(const struct xg_plan *plan, const struct xg_sgemm *call, int64_t l);

#endif
