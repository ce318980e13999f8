/* SPDX-License-Identifier: MIT */
/* The cost of emulated products on tensor cores, and their tiles. Pure. */
#ifndef XG_TENSOR_H
#define XG_TENSOR_H

#include "base/xg.h"
#include "decide/facts.h"

/* A block's tile of C has this height and one of a few widths; the shape decides which. With wgmma
 * the blocks of a cluster lie one above the other. kernels/emulated/split_product.cuh and
 * split_mma.cuh have these sizes. */
enum {
    XG_TENSOR_ROWS = 128,
    XG_TENSOR_CLUSTER = 2,
    XG_TENSOR_WIDTHS = 3,
    XG_TENSOR_MMA_WIDTHS = 2
};
struct xg_tensor_tiles {
    int blocks;                   /* of a cluster */
    int widths[XG_TENSOR_WIDTHS]; /* unused ones are 0 */
};
extern const struct xg_tensor_tiles xg_tensor_wgmma, xg_tensor_mma;

/* Index into tiles->widths of the width with which C (m,n) is computed fastest. */
int xg_tensor_width(const struct xg_tensor_tiles *tiles, const struct xg_device_facts *facts,
                    int64_t m, int64_t n);

/* The number of clusters, or of blocks without a cluster, that cover C (m,n) with tiles of this
 * width. */
int64_t xg_tensor_count(const struct xg_tensor_tiles *tiles, int width, int64_t m, int64_t n);

/* Emulated multiply-adds of a multiprocessor per cycle by a row that works on pieces or residues.
 */
double xg_tensor_macs_per_cycle(const struct xg_device_facts *facts, const struct xg_kernel *row);

/*
 * Cycles of a product with FP16 pieces by such a row, including the split of both operands,
 * comparable with the cycles of xg_select. m, n, k >= 1.
 */
double xg_tensor_cycles(const struct xg_device_facts *facts, const struct xg_kernel *row, int64_t m,
                        int64_t n, int64_t k);

/* The same of a product of doubles by residues, with the splits and the combination. */
double xg_tensor_residue_cycles(const struct xg_device_facts *facts, const struct xg_kernel *row,
                                int64_t m, int64_t n, int64_t k);

#endif
