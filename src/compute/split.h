/* SPDX-License-Identifier: MIT */
/* FP32 products on tensor cores: operands split into 16-bit pieces, and the products of those. */
#ifndef XG_SPLIT_H
#define XG_SPLIT_H

#include "decide/tensor.h"
#include "device/dev.h"
#include "kernels/emulated/split_kabi.h"
#include "kernels/kabi.h"

/*
 * A product takes these steps on one device, all enqueued without waiting for any:
 *
 *   - every panel of an operand is scaled row by row and split into two FP16 pieces, and what the
 *     products must know of its numbers is counted (kernels/emulated/split_sm90.cu);
 *
 *   - where FP16 will not do (kernels/emulated/split_verdict.h says when), the panel is split into
 * BF16 pieces, three of them;
 *
 *   - products: one kernel for each kind of pieces, and one in FP32; each reads the counts and
 *     returns at once unless it is the one that serves.
 *
 * For most numbers FP16 serves. A caller who can come back may have that product alone enqueued,
 * and be told in host memory where it refused: the launches of what then has nothing to do took a
 * twentieth of a 2048^3 product from host to host.
 *
 * A row here is a row of op(A) or a column of op(B); k runs along it. An operand is one slice of k:
 * its rows are scaled by what they hold in that slice.
 */

enum xg_split_kernel {
    XG_SPLIT_ROWS_HELD4,
    XG_SPLIT_ROWS_HELD8,
    XG_SPLIT_ROWS_FP16,
    XG_SPLIT_ROWS_BF16,
    XG_SPLIT_STRIP_FP16,
    XG_SPLIT_SEGMENTS_FP16,
    XG_SPLIT_SEGMENTS_BF16,
    XG_SPLIT_PRODUCT_FFMA,
    XG_SPLIT_PRODUCT_FP16, /* one a width of tile */
    XG_SPLIT_PRODUCT_BF16 = XG_SPLIT_PRODUCT_FP16 + XG_TENSOR_WIDTHS,
    XG_SPLIT_KERNELS = XG_SPLIT_PRODUCT_BF16 + XG_TENSOR_WIDTHS
};

struct xg_split {
    struct xg_dev *dev;
    CUfunction functions[XG_SPLIT_KERNELS];
};

/* An operand's memory on the device. */
struct xg_split_operand {
    CUdeviceptr fp16, bf16, scale, stats;
    int64_t rows, k;
    int64_t panel_rows; /* rows of a panel; the last one may have fewer */
};

/* FP32 numbers on the device: the first element, and how the matrix lies. */
struct xg_split_source {
    CUdeviceptr data;
    int64_t ld;
    bool along_k; /* elements of a row are neighbours: A as it is, B transposed */
};

/* Rows [row, row + rows) of an operand, whole panels (the operand's last one included). */
struct xg_split_range {
    const struct xg_split_operand *operand;
    struct xg_split_source source; /* of the range's first row */
    int64_t row, rows;
};

/*
 * Loads the kernels. XG_OK; XG_DECLINED where the device is not of compute capability 9.0, or
 * the driver too old;
 * XG_ERR_NOTFOUND where this build has no code for it; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST.
 * *split is set only on XG_OK and needs no end. The device's context must be current, here and
 * below.
 */
enum xg_status xg_split_open(struct xg_dev *dev, struct xg_split *split);

/* Device memory of an operand; a multiple of 256. Pure. */
size_t xg_split_operand_bytes(int64_t rows, int64_t k, int64_t panel_rows);

/* Lays an operand out in that much memory at `at`, which is 256-byte aligned. */
void xg_split_operand_init(struct xg_split_operand *operand, CUdeviceptr at, int64_t rows,
                           int64_t k, int64_t panel_rows);

/*
 * Splits panels, which must lie in device memory by then, in the order of the stream. Each panel is
 * split once; the memory of its pieces must not be read by anything before it on other streams.
 * XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_split_panels(const struct xg_split *split, const struct xg_split_range *panels,
                               CUstream stream);

/* C of a product: on the device, row-major, C = alpha * A * B + beta * C; beta 0: never read. */
struct xg_split_result {
    CUdeviceptr c;
    int64_t ldc;
    float alpha, beta;
    struct xg_triangle wanted; /* kernels/kabi.h */
};

/* What is enqueued for a product, and who is told. */
struct xg_split_kinds {
    bool all;          /* whatever the numbers may need; else FP16's product alone */
    uint32_t *refused; /* page-locked host memory, or NULL: set to 1 where FP16's pieces do not
                          serve; C is then not written, unless `all` */
};

/*
 * The product of the ranges of both operands. The panels must have been split by then, and their
 * FP32 numbers must still be there. Where BF16 pieces are needed they are written, the same
 * whichever product needs them: products that share panels may run at once, for each writes all
 * bytes that it reads, and all write the same ones. The result is the same with any kinds, but for
 * being there.
 * XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_split_product(const struct xg_split *split, const struct xg_split_range *a,
                                const struct xg_split_range *b,
                                const struct xg_split_result *result,
                                const struct xg_split_kinds *kinds, CUstream stream);

/* All of it, in slices of k where it is deep, for operands in device memory, with scratch memory
 * (256-byte aligned) of this size. */
size_t xg_split_sgemm_bytes(int64_t m, int64_t n, int64_t k);
enum xg_status xg_split_sgemm(const struct xg_split *split, const struct xg_sgemm_args *args,
                              CUdeviceptr scratch, CUstream stream);

#endif
