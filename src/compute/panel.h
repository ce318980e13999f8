/* SPDX-License-Identifier: MIT */
/* Kernels whose one cluster factorizes a panel of columns, for LU and QR (Hopper). */
#ifndef XG_PANEL_H
#define XG_PANEL_H

#include "base/problem.h"
#include "device/dev.h"
#include "kernels/lapack/panel_kabi.h"

/* The panel's kernels of one type on one device: for panels of one block, of more, and of more
 * rows. rows_most is 0 if there are none. */
struct xg_panel_kernels {
    CUfunction one, cluster, tall;
    unsigned threads, tall_threads; /* of a block */
    int64_t cluster_rows_most, rows_most;
};

/* A kernel to find. entry: a format that takes the type's letter. */
struct xg_panel_entry {
    const char *image, *entry;
    int smem_bytes;
    CUfunction *out;
};

/* Finds the kernels of the list, to which those of *panel belong, and sets cluster_rows_most and
 * rows_most. The caller has set the threads. Returns false if there is no kernel for this type or
 * this device. The device's context must be current, here and below. */
bool xg_panel_open(struct xg_dev *dev, enum xg_type type, const struct xg_panel_entry *entries,
                   size_t count, struct xg_panel_kernels *panel);

/* The number of rows of the largest cluster that the device can run, with `rows` rows in a block;
 * 0: it runs no cluster. A MIG instance has fewer adjacent multiprocessors than a whole device. */
int64_t xg_panel_rows_most(const struct xg_dev *dev, CUfunction function, unsigned threads,
                           int64_t rows);

/* Returns true if the kernels serve a matrix of m rows and n columns: cuBLAS, which multiplies, has
 * been loaded and has a handle, which this function creates if there is none, and
 * XGEMM_REPRODUCIBLE, with which results must not depend on that, is off. */
bool xg_panel_serves(struct xg_dev *dev, const struct xg_panel_kernels *panel, int64_t m,
                     int64_t n);

/* Enqueues the kernel of a panel of `rows` rows. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_panel_launch(const struct xg_dev *dev, const struct xg_panel_kernels *panel,
                               int64_t rows, void *args, CUstream stream);

/* Enqueues a kernel of `groups` clusters of `blocks` blocks. Returns XG_OK, XG_ERR_DRIVER,
 * XG_ERR_LOST. */
struct xg_panel_grid {
    int64_t groups, blocks;
    unsigned threads, smem_bytes;
};
enum xg_status xg_panel_launch_grid(const struct xg_dev *dev, CUfunction function,
                                    struct xg_panel_grid grid, void *args, CUstream stream);

#endif
