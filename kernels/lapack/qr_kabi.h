/* SPDX-License-Identifier: MIT */
/* The kernel ABI of the QR factorization, shared by host code (C11) and device code. */
#ifndef XG_QR_KABI_H
#define XG_QR_KABI_H

#include <stdint.h>

#include "panel_kabi.h"

enum {
    XG_QR_THREADS = 256, /* of a block of a panel */
    /* The kernel that applies a panel has a cluster for each strip of columns. */
    XG_QR_STRIP = 8,
    XG_QR_APPLY_THREADS = 256,
    XG_QR_APPLY_ROWS = 512, /* of a block of the cluster */
    /* The kernel that solves with a block's triangle has a block for each strip of columns. */
    XG_QR_SOLVE_THREADS = 128,
    XG_QR_SOLVE_STRIP = 32
};

/*
 * H_j = 1 - tau_j v_j v_jT are the reflectors of a block of panels. V has the v_j as columns, with
 * their zeros and ones, in rows from the block's first one. G has g(j,k) = v_kT v_j for k < j,
 * doubles, column-major with XG_PANEL_BLOCK rows.
 */

/* The parameter of the panel's kernel, which factorizes (rows,columns) in place, column-major;
 * rows >= columns. `before` columns of the block are to the left of the panel. */
struct xg_qr_panel_args {
    uint64_t a;
    int64_t ld;
    int32_t rows, columns, before;
    uint64_t tau;  /* written: an element of the matrix's type for each column */
    uint64_t v;    /* written: the panel's columns of V, from the block's first row */
    uint64_t gram; /* written: the panel's square on the diagonal of G */
    int64_t ldv;
};

/*
 * The parameter of the kernel that multiplies `columns` columns by (H_1 ... H_k)T of a panel of k
 * columns, and computes the panel's rows of G for the first `left` columns of the block: all
 * `before` ones to the panel's left, or none. a, v: in the panel's first row; v: column 0 of the
 * block. gram: the panel's first row, column 0. tau: the panel's.
 */
struct xg_qr_apply_args {
    uint64_t a, v, tau, gram;
    int64_t ld, ldv;
    int32_t rows, k, before, left, columns;
};

/* The parameter of the kernel that turns W = VT C of a block of k columns into TT W, in place,
 * where H_1 ... H_k = 1 - V T VT. W: column-major (k,columns) of the matrix's type. */
struct xg_qr_solve_args {
    uint64_t w, tau, gram;
    int64_t ld;
    int32_t k, columns;
};

#endif
