/* SPDX-License-Identifier: MIT */
/* How one product is cut into tiles, and the order in which they move. Pure: a plan follows from
 * the problem and the limits. */
#ifndef XG_PLAN_H
#define XG_PLAN_H

#include "base/xg.h"
#include "decide/select.h"

/* Elements from one row to the next on the device. Wide rows start on 128-byte lines; for narrow
 * rows (such as k = 5) this would waste the link. */
static inline int64_t xg_plan_ld(int64_t width)
{
    return xg_round_up(width, width >= 512 ? 32 : 4);
}

/* Elements of a matrix on the device. */
static inline size_t xg_plan_matrix_elems(int64_t rows, int64_t ld)
{
    return (size_t)xg_round_up(rows * ld, 64);
}

/* The largest distance of rows, in elements, for a copy by rows: no device has a larger
 * CU_DEVICE_ATTRIBUTE_MAX_PITCH. */
static inline int64_t xg_plan_pitch_max(enum xg_type type)
{
    return INT32_MAX / (int64_t)xg_type_bytes(type);
}

/*
 * m is cut into mt rows of tiles of at most tm, n into nt columns of at most tn, k into kt slices
 * of at most tk. A *panel* is an operand's part in one of these: A(i,l) is (tm,tk), and B(l,j) is
 * (tk,tn). On the device an operand has the layout of host memory (transposed operands stay
 * transposed), with rows padded to a multiple of 4 elements, in one of two ways:
 *
 *   resident: all of A and B is on the device, as whole matrices.
 *   else:     panels take turns in *slots*, each a separate matrix.
 *
 * A *tile* is the part of C that one kernel writes: some rows of panels by some columns of panels,
 * in its own slot until it is copied back. If C is a triangle, tm == tn, and only panels in the
 * triangle have tiles. Tiles on the diagonal are whole, but kernels may skip the other triangle.
 *
 * A batch is cut only along m, between its instances: a panel of A, a panel of B and a tile hold
 * `instances` instances, one below the other, and take turns in slots.
 *
 * Everything happens in the order of three lists:
 *   loads: panels copied to the device, in this order;
 *   runs:  one kernel each, C tile += A panels * B panels of one slice, in this order;
 *   tiles: in the order in which they are finished and copied back.
 * The lists are consistent: if loads, runs and write-backs execute in list order, each as soon as
 * the entries that it names are done, none waits for a later entry.
 */
struct xg_plan_load {
    bool b; /* a panel of B: (l,index); else of A: (index,l) */
    int64_t index, l;
    int slot;            /* a slot of the operand; resident: every panel has its own */
    size_t offset_elems; /* offset of its first element in the operand's memory */
    int64_t after_run;   /* the last run that reads the slot's earlier panel; -1: none */
};

struct xg_plan_run {
    int64_t tile; /* index into tiles */
    int64_t l;
    int64_t after_load; /* it reads panels of the loads up to this one */
    int a_slot, b_slot; /* of its first panels */
    size_t a_offset_elems, b_offset_elems;
    /* SYR2K: the first panels of the second product, B's of the tile's rows by A's of its
     * columns. */
    int a_other_slot, b_other_slot;
    size_t a_other_offset_elems, b_other_offset_elems;
    bool first, last; /* first: the tile is overwritten, not added to; last: the tile is final */
    bool spends;      /* a slot that it reads is loaded again afterwards */
    int choice;       /* index into choices */
};

/* One of the different shapes of runs; in a batch, of one instance. */
struct xg_plan_choice {
    struct xg_shape shape;
    struct xg_choice choice; /* set by xg_route_choose, for runs without pieces */
};

struct xg_plan_tile {
    int64_t row, rows, column, columns; /* in C, in elements */
    int64_t ld;                         /* in the slot, in elements */
    int slot;
    int64_t after_tile; /* the previous tile in the slot; -1: none */
};

struct xg_plan {
    bool resident;
    bool b_is_a; /* resident, SYRK: panels of A are also those of B, with ldb == lda */
    bool sweeps; /* all of C is resident, and each slice updates all of it before the next */
    int64_t tm, tn, tk;
    int64_t mt, nt, kt;
    int64_t instances;                   /* the largest number of a batch's instances in a tile */
    int64_t lda, ldb;                    /* on the device, in elements */
    size_t a_elems, b_elems, tile_elems; /* memory of A, of B and of one tile; multiples of 64 */
    int a_slots, b_slots, c_slots;
    int64_t elem_bytes;  /* of the problem's type */
    size_t device_bytes; /* total: A's memory, then B's, then the tiles' */
    struct xg_plan_load *loads;
    struct xg_plan_run *runs;
    struct xg_plan_tile *tiles;
    struct xg_plan_choice *choices;
    int choice_count;
    int64_t load_count, run_count, tile_count;
};

struct xg_plan_limits {
    size_t device_bytes;  /* limit of device memory */
    size_t row_bytes;     /* widest row of a panel or tile, which must fit into a staging buffer */
    double macs_per_byte; /* rate of the kernels at large sizes (tiling.h) */
    bool apart[2];        /* A, B: a resident plan has it in memory of its own, not in the plan's */
};

/*
 * Plans *call (m, n, k >= 1). Returns XG_OK; XG_DECLINED if it does not fit the limits even in the
 * smallest tiles; XG_ERR_NOMEM. *plan is set only on XG_OK; xg_plan_fini frees its lists.
 */
enum xg_status xg_plan_init(struct xg_plan *plan, const struct xg_problem *call,
                            const struct xg_plan_limits *limits);
void xg_plan_fini(struct xg_plan *plan);

/* The parts of xg_plan_init for a batch (plan_batch.c). The first chooses the instances of a tile
 * and the slots; it returns false if no choice fits the limits. The second fills the lists: two
 * loads, a run and a tile for each of the mt tiles. */
bool xg_plan_batch_fit(struct xg_plan *plan, const struct xg_problem *call,
                       const struct xg_plan_limits *limits);
void xg_plan_batch_order(struct xg_plan *plan, const struct xg_problem *call);

/* The bytes of operands and tiles on the device: device_bytes, after all sizes are chosen. */
static inline double xg_plan_bytes(const struct xg_plan *plan)
{
    double elems = (double)plan->a_elems + (double)plan->b_elems +
                   (double)plan->c_slots * (double)plan->tile_elems;
    return elems * (double)plan->elem_bytes;
}

/* The extents of panel row i, panel column j and slice l; the last one may be shorter. */
static inline int64_t xg_plan_rows(const struct xg_plan *plan, const struct xg_problem *call,
                                   int64_t i)
{
    return xg_min_i64(plan->tm, call->m - i * plan->tm);
}
static inline int64_t xg_plan_columns(const struct xg_plan *plan, const struct xg_problem *call,
                                      int64_t j)
{
    return xg_min_i64(plan->tn, call->n - j * plan->tn);
}
static inline int64_t xg_plan_depth(const struct xg_plan *plan, const struct xg_problem *call,
                                    int64_t l)
{
    return xg_min_i64(plan->tk, call->k - l * plan->tk);
}

/* The rows and columns of a load in its operand as stored; for a batch, in all instances one below
 * the other. */
struct xg_plan_panel {
    int64_t row, rows, column, columns;
};
struct xg_plan_panel xg_plan_panel(const struct xg_plan *plan, const struct xg_problem *call,
                                   const struct xg_plan_load *load);

#endif
