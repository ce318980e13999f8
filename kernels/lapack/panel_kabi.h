/* SPDX-License-Identifier: MIT */
/* What the kernels of factorizations by panels have in common, for host code (C11) and device
 * code. */
#ifndef XG_PANEL_KABI_H
#define XG_PANEL_KABI_H

enum {
    XG_PANEL = 32,        /* columns of a panel */
    XG_PANEL_BLOCK = 128, /* columns of a block of panels */
    /* One cluster factorizes a panel. A block has so many rows: */
    XG_PANEL_ROWS = 256,
    XG_PANEL_TALL_ROWS = 512, /* in panels with more rows than a cluster of the others */
    XG_PANEL_CLUSTER_MOST = 16,
    XG_PANEL_ROWS_MOST = XG_PANEL_CLUSTER_MOST * XG_PANEL_TALL_ROWS
};

/* Shared memory of a kernel in which `warps` warps solve with a triangle of `top` rows
 * (triangle.cuh). */
#define XG_TRIANGLE_BYTES(top, warps) (8 * ((top) * ((top) + 4) + (top)*12 + (warps)*8 * 12))

#endif
