/* SPDX-License-Identifier: MIT */
/* FP32 products on tensor cores: operands are split into 16-bit pieces, and the pieces are
 * multiplied. */
#ifndef XG_SPLIT_H
#define XG_SPLIT_H

#include "decide/tensor.h"
#include "device/dev.h"
#include "kernels/emulated/split_kabi.h"
#include "kernels/kabi.h"

/*
 * A product has these steps on one device, all enqueued without waiting:
 *
 *   - every panel of an operand is scaled row by row and split into two FP16 pieces, and the kernel
 * counts the properties of its numbers that the products need (kernels/emulated/split_sm80.cu);
 *
 *   - if FP16 is not exact enough (kernels/emulated/split_verdict.h decides), the panel is split
 * into three BF16 pieces;
 *
 *   - products: one kernel for each kind of pieces, and one in FP32; each reads the counts and
 * returns at once unless the counts select it.
 *
 * FP16 is exact enough for most numbers. A caller that can repeat the product may enqueue only the
 * FP16 product and read from host memory whether it refused: launches of kernels that return at
 * once took a twentieth of a 2048^3 product from host to host.
 *
 * A row here is a row of op(A) or a column of op(B); k runs along it. An operand is one slice of k:
 * the scale of a row depends only on its numbers in that slice.
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
    XG_SPLIT_MMA_FP16, /* here and below: one for each tile width */
    XG_SPLIT_MMA_BF16 = XG_SPLIT_MMA_FP16 + XG_TENSOR_MMA_WIDTHS, /* one width */
    XG_SPLIT_WGMMA_FP16,
    XG_SPLIT_WGMMA_BF16 = XG_SPLIT_WGMMA_FP16 + XG_TENSOR_WIDTHS,
    XG_SPLIT_KERNELS = XG_SPLIT_WGMMA_BF16 + XG_TENSOR_WIDTHS
};

struct xg_split {
    struct xg_dev *dev;
    bool wgmma; /* the products' kernels; the others are loaded in any case */
    CUfunction functions[XG_SPLIT_KERNELS];
};

/* The memory on the device of an operand's pieces, or of its residues (residue.h); `end` is
 * 256-byte aligned as the start is. */
struct xg_split_operand {
    CUdeviceptr parts;  /* FP16 pieces, or residues */
    CUdeviceptr bf16;   /* pieces only */
    CUdeviceptr scales; /* of rows, int32_t */
    CUdeviceptr stats;  /* of panels, stats_bytes each */
    CUdeviceptr end;
    size_t stats_bytes;
    int64_t rows, k;
    int64_t panel_rows; /* rows of a panel; the last one may have fewer */
};

/* Numbers on the device, floats or doubles: the first element and the layout of the matrix. */
struct xg_split_source {
    CUdeviceptr data;
    int64_t ld;
    bool along_k; /* elements of a row are adjacent: A not transposed, B transposed */
};

/* Rows [row, row + rows) of an operand, whole panels (the operand's last one included). */
struct xg_split_range {
    const struct xg_split_operand *operand;
    struct xg_split_source source; /* of the range's first row */
    int64_t row, rows;
};

/* Sizes and addresses of operands are multiples of 256. */
static inline CUdeviceptr xg_split_aligned(CUdeviceptr bytes)
{
    return (bytes + 255) / 256 * 256;
}

static inline int64_t xg_split_row_stride(const struct xg_split_source *source)
{
    return source->along_k ? source->ld : 1;
}

static inline int64_t xg_split_k_stride(const struct xg_split_source *source)
{
    return source->along_k ? 1 : source->ld;
}

/* An operand whose parts end at parts_end: scales and statistics follow. bf16: 0 if it has
 * residues. */
struct xg_split_operand xg_split_operand_of(CUdeviceptr parts, CUdeviceptr bf16,
                                            CUdeviceptr parts_end, size_t stats_bytes, int64_t rows,
                                            int64_t k, int64_t panel_rows);

/* The panel that begins `done` rows after the range does. Pure, as all functions down to
 * xg_split_pair_of. */
struct xg_split_range xg_split_panel(const struct xg_split_range *range, int64_t done,
                                     size_t elem_bytes);

/* The scales of the range's rows, and the statistics of its panels and of a product's. */
CUdeviceptr xg_split_scales_of(const struct xg_split_range *range);
CUdeviceptr xg_split_stats_of(const struct xg_split_range *range);
struct xg_split_pair xg_split_pair_of(const struct xg_split_range *a,
                                      const struct xg_split_range *b);

/* Enqueues zeros as the statistics of the range's panels. Returns XG_OK, XG_ERR_DRIVER,
 * XG_ERR_LOST. */
enum xg_status xg_split_clear(struct xg_dev *dev, const struct xg_split_range *range,
                              CUstream stream);

/*
 * Loads the kernels of a row that works on pieces (xg_select_emulated). Returns XG_OK; XG_DECLINED
 * if the driver is too old; XG_ERR_NOTFOUND if this build has no code for the device; XG_ERR_NOMEM,
 * XG_ERR_DRIVER, XG_ERR_LOST. *split is set only on XG_OK and needs no fini. The device's context
 * must be current, here and below.
 */
enum xg_status xg_split_open(struct xg_dev *dev, const struct xg_kernel *row,
                             struct xg_split *split);

/* Device memory of an operand's pieces; a multiple of 256. Pure. */
size_t xg_split_operand_bytes(int64_t rows, int64_t k, int64_t panel_rows);

/* Lays an operand out in this memory at `at`, which must be 256-byte aligned. */
void xg_split_operand_init(struct xg_split_operand *operand, CUdeviceptr at, int64_t rows,
                           int64_t k, int64_t panel_rows);

/*
 * Enqueues the split of panels, which must be in device memory at that point of the stream. Each
 * panel is split once. No earlier work on other streams may still read the memory of its pieces.
 * Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_split_panels(const struct xg_split *split, const struct xg_split_range *panels,
                               CUstream stream);

/* C of a product on the device, row-major: C = alpha * A * B + beta * C; with beta 0 it is never
 * read. */
struct xg_split_result {
    CUdeviceptr c;
    int64_t ldc;
    float alpha, beta;
    struct xg_triangle wanted; /* kernels/kabi.h */
};

/* The kernels to enqueue for a product, and the word that reports a refusal. */
struct xg_split_kinds {
    bool all;          /* enqueue all kinds; else only the FP16 product */
    uint32_t *refused; /* page-locked host memory, or NULL: set to 1 if the FP16 pieces do not
                        * serve; C is then written only with `all` */
};

/*
 * Enqueues the product of the ranges of both operands. Their panels must be split at that point of
 * the stream, and their FP32 numbers must still exist. The product writes BF16 pieces if it needs
 * them; they do not depend on the product. So products that share panels may run at the same time:
 * each writes all bytes that it reads, and all write the same values. If C is written, the result
 * does not depend on the kinds. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_split_product(const struct xg_split *split, const struct xg_split_range *a,
                                const struct xg_split_range *b,
                                const struct xg_split_result *result,
                                const struct xg_split_kinds *kinds, CUstream stream);

#endif
