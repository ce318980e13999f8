/* SPDX-License-Identifier: MIT */
/* The kernel ABI of the LU factorization, shared by host code (C11) and device code. */
#ifndef XG_LU_KABI_H
#define XG_LU_KABI_H

#include <stdint.h>

#include "panel_kabi.h"

enum {
    /* The kernel that applies panels to other columns has a block for each strip of columns. */
    XG_LU_STRIP = 32,
    XG_LU_APPLY_THREADS = 128
};

/* Dynamic shared memory of the kernel that applies a panel or a block of `top` columns. */
#define XG_LU_APPLY_BYTES(top) XG_TRIANGLE_BYTES(top, XG_LU_APPLY_THREADS / 32)

/*
 * Row `from` moves to row `to`; from < 0: nothing moves. Rows count from the panel's or the block's
 * first row. A list has 2 T entries, where T is 32 for a panel and 128 for a block. Entry i < T
 * says which row moves to row i. Entry T + i says where row i moves; its `from` is -1 if row i
 * stays among the first T rows.
 */
struct xg_lu_move {
    int32_t from, to;
};

/*
 * The parameter of the panel's kernel, which factorizes (rows,columns) in place, column-major, with
 * partial pivoting. `before` columns of the block are to the left of the panel.
 */
struct xg_lu_panel_args {
    uint64_t a;
    int64_t ld;
    int32_t rows, columns;
    int32_t first, before; /* the matrix's and the block's rows above the panel */
    uint64_t pivots;       /* int64_t for each column: LAPACK's */
    uint64_t info;         /* int32_t, 0 before: becomes LAPACK's */
    uint64_t moves;        /* written: the panel's list */
    uint64_t block_moves;  /* written: the block's list; 0 unless the panel is the block's last */
    uint64_t sources;      /* int32_t for each row: where in the block it was, kept for the block */
};

/*
 * The parameter of the kernel that applies a panel, or a block, of k columns: rows of columns
 * [0,moved) and [first,end) move, and the first k rows of the latter become L^-1 times themselves.
 * l: the panel's first element, whose unit lower triangle is L. a: column 0, in L's first row.
 */
struct xg_lu_apply_args {
    uint64_t a, l, moves;
    int64_t ld;
    int32_t rows, k;
    int32_t moved, first, end;
};

#endif
