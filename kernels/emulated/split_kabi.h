/* SPDX-License-Identifier: MIT */
/* The kernel ABI of FP32 products on tensor cores, shared by host code (C11) and device code. */
#ifndef XG_SPLIT_KABI_H
#define XG_SPLIT_KABI_H

#include <stdint.h>

#include "../kabi.h"

#ifdef __cplusplus
#define XG_SPLIT_ALIGN alignas(64)
#else
#define XG_SPLIT_ALIGN _Alignas(64)
#endif

/*
 * An operand is stored as its rows along k (rows of op(A), columns of op(B)), each FP32 number as
 * two or three 16-bit pieces whose sum it is. Layout, in 16-bit elements:
 *   pieces[row][k / XG_SPLIT_BLOCK][piece][k % XG_SPLIT_BLOCK], the largest piece first,
 * k padded with zeros to a multiple of XG_SPLIT_BLOCK. A row is scaled by a power of two before it
 * is split, so that its largest number is in [2^TARGET, 2^(TARGET+1)).
 */
enum {
    XG_SPLIT_BLOCK = 32,
    XG_SPLIT_FP16_PIECES = 2,
    XG_SPLIT_BF16_PIECES = 3,
    XG_SPLIT_FP16_TARGET = 14, /* products are below 2^30, and a sum of 2^97 of them is in FP32's
                                * range */
    XG_SPLIT_BF16_TARGET = 30,
};

/* The statistics of a panel: maxima over its rows. Zeroed before the split. */
struct xg_split_stats {
    uint32_t max_bits;   /* magnitude as an integer: 0x7f800000 and above is not finite */
    uint32_t lack_max;   /* of a row: numbers below 2^-8 of its largest, zeros included */
    uint32_t small_max;  /* of a row: numbers below 2^-16 of its largest, zeros excluded */
    uint32_t zero_max;   /* of a row that is not all zeros: zeros */
    uint32_t spread_max; /* of a row: exponent of its largest less that of its smallest, not zero */
};

/* The panels of a product; the statistics of all of them decide which pieces serve. */
struct xg_split_pair {
    uint64_t a_stats, b_stats; /* device addresses: a_panels and b_panels of xg_split_stats, or of
                                * xg_residue_stats */
    int32_t a_panels, b_panels;
    int64_t k;
};

/* The single parameter of the kernels that split. Device addresses; extents and strides in
 * elements.
 */
struct xg_split_args {
    uint64_t data;   /* float: element (row, p) is data[row * row_stride + p * k_stride] */
    uint64_t pieces; /* uint16_t, of the first row, 128-byte aligned */
    uint64_t scale;  /* int32_t per row: the binary exponent of the scale of its FP16 pieces */
    uint64_t stats;  /* struct xg_split_stats of this panel: written by the FP16 split */
    int64_t row_stride, k_stride;
    int64_t rows, k;
    int32_t lanes;             /* threads that share a row, or blocks that share a strip of rows */
    int32_t depth;             /* positions of k of such a block */
    struct xg_split_pair pair; /* the product for which the BF16 split is; it may not be needed */
};

/* A CUtensorMap: 128 bytes, opaque. */
struct xg_tensor_map {
    XG_SPLIT_ALIGN uint64_t opaque[16];
};

/* The single parameter of the products: the wanted elements of C = alpha * A * B + beta * C, C
 * row-major (m,n). */
struct xg_split_product_args {
    struct xg_tensor_map a, b;   /* for the tensor copies of sm_90 */
    uint64_t a_pieces, b_pieces; /* uint16_t, 128-byte aligned: the same memory */
    uint64_t c;
    uint64_t a_scale, b_scale; /* m and n numbers of int32_t */
    struct xg_split_pair pair;
    uint64_t refused; /* uint32_t in page-locked host memory, or 0: the FP16 product sets it to 1 if
                       * its pieces do not serve */
    int64_t ldc;
    int64_t m, n, k;
    float alpha, beta;
    struct xg_triangle wanted;
};

/* The single parameter of the FP32 product of the same operands, for which no pieces serve. */
struct xg_split_ffma_args {
    struct xg_sgemm_args product;
    struct xg_split_pair pair;
};

#endif
