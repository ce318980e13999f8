/* SPDX-License-Identifier: MIT */
/* How one product is cut into tiles, and in which order they move; planner.h makes it. */
#ifndef XG_PLAN_H
#define XG_PLAN_H

#include "base/xg.h"

/* Elements from one row to the next on the device: wide rows start on 128-byte lines; narrow ones
 * (k = 5, say) would waste the link that way. */
static inline int64_t xg_plan_ld(int64_t width)
{
    return xg_round_up(width, width >= 512 ? 32 : 4);
}

/* What a matrix of so many rows takes there. */
static inline size_t xg_plan_matrix_elems(int64_t rows, int64_t ld)
{
    return (size_t)xg_round_up(rows * ld, 64);
}

/* Elements from one row to the next that a copy by rows takes at most: the driver has no larger
 * CU_DEVICE_ATTRIBUTE_MAX_PITCH on any device. */
static inline int64_t xg_plan_pitch_max(enum xg_type type)
{
    return INT32_MAX / (int64_t)xg_type_bytes(type);
}

/*
 * m is cut into mt rows of tiles of at most tm, n into nt columns of at most tn, k into kt slices
 * of at most tk. A *panel* is an operand's share in one of them: A(i,l) is (tm,tk), B(l,j) is
 * (tk,tn). On the device an operand lies as it does in host memory (transposed operands stay
 * transposed), rows padded to a multiple of 4 elements, in one of two ways:
 *
 *   resident: all of A and B has its place, as whole matrices.
 *   else:     panels take turns in *slots*, each a matrix of its own.
 *
 * A *tile* is the part of C that one kernel writes: some rows of panels by some columns of them, in
 * a slot of its own until it has been copied back. Where C is a triangle tm == tn, and there are
 * tiles of its panels alone, those on the diagonal whole, though kernels may leave out the rest.
 *
 * A batch is cut along m alone, between its instances: a panel of A, one of B and a tile are those
 * of `instances` of them, one below the other, and take turns in slots.
 *
 * Everything happens in the order of three lists:
 *   loads: panels copied to the device, in this order;
 *   runs:  one kernel each, C tile += A panels * B panels of one slice, in this order;
 *   tiles: in the order in which they are finished and copied back.
 * The lists are consistent: executing loads, runs and write-backs in list order, each as soon as
 * what it names is done, never waits for something that comes later.
 */
struct xg_plan_load {
    bool b; /* a panel of B: (l,index); else of A: (index,l) */
    int64_t index, l;
    int slot;            /* of the operand's; resident: every panel has its own */
    size_t offset_elems; /* of its first element in the operand's memory */
    int64_t after_run;   /* the last run that reads the slot's earlier panel; -1: none */
};

struct xg_plan_run {
    int64_t tile; /* index into tiles */
    int64_t l;
    int64_t after_load; /* it reads panels of the loads up to this one */
    int a_slot, b_slot; /* of its first panels */
    size_t a_offset_elems, b_offset_elems;
    /* SYR2K: likewise of what it adds, B's panels of the tile's rows by A's of its columns. */
    int a_other_slot, b_other_slot;
    size_t a_other_offset_elems, b_other_offset_elems;
    bool first, last; /* first: the tile is overwritten, not added to; last: it is final */
    bool spends;      /* a slot that it reads is loaded again after it */
};

struct xg_plan_tile {
    int64_t row, rows, column, columns; /* of C, in elements */
    int64_t ld;                         /* in its slot, in elements */
    int slot;
    int64_t after_tile; /* the tile that used the slot before; -1: none */
};

struct xg_plan {
    bool resident;
    bool b_is_a; /* resident, SYRK: panels of A serve as those of B, with ldb == lda */
    bool sweeps; /* resident: all of C is, and each slice updates all of it before the next */
    int64_t tm, tn, tk;
    int64_t mt, nt, kt;
    int64_t instances;                   /* of a batch: of a tile, at most */
    int64_t lda, ldb;                    /* on the device, in elements */
    size_t a_elems, b_elems, tile_elems; /* A's memory, B's, one tile's; multiples of 64 */
    int a_slots, b_slots, c_slots;
    int64_t elem_bytes;  /* of the problem's type */
    size_t device_bytes; /* in all: A's memory, then B's, then the tiles' */
    struct xg_plan_load *loads;
    struct xg_plan_run *runs;
    struct xg_plan_tile *tiles;
    int64_t load_count, run_count, tile_count;
};

struct xg_plan_limits {
    size_t device_bytes;  /* of device memory at most */
    size_t row_bytes;     /* no row of a panel or tile may be wider: it must fit a staging buffer */
    double macs_per_byte; /* of the kernels, at large sizes (tiling.h) */
};

/* What its operands and tiles take on the device: device_bytes, once all of that is chosen. */
double xg_plan_bytes(const struct xg_plan *plan);

/* Frees what a plan holds. */
void xg_plan_fini(struct xg_plan *plan);

/* Extent of panel row i, panel column j, slice l: the last one may be shorter. */
int64_t xg_plan_rows(const struct xg_plan *plan, const struct xg_problem *call, int64_t i);
int64_t xg_plan_columns(const struct xg_plan *plan, const struct xg_problem *call, int64_t j);
int64_t xg_plan_depth(const struct xg_plan *plan, const struct xg_problem *call, int64_t l);

/* A load's rows and columns of its operand, as that is stored; of a batch's, of all its instances
 * one below the other. */
struct xg_plan_panel {
    int64_t row, rows, column, columns;
};
struct xg_plan_panel xg_plan_panel(const struct xg_plan *plan, const struct xg_problem *call,
                                   const struct xg_plan_load *load);

#endif
