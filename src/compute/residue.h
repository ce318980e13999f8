/* SPDX-License-Identifier: MIT */
/* DGEMM and ZGEMM on integer tensor cores: doubles as integers, and these as residues. */
#ifndef XG_RESIDUE_DGEMM_H
#define XG_RESIDUE_DGEMM_H

#include "compute/split.h"
#include "kernels/emulated/residue_kabi.h"

/*
 * A product has these steps on one device, all enqueued without waiting: every panel of an operand
 * is scaled row by row and split into residues (kernels/emulated/residue_split_sm80.cu), the
 * residues are multiplied, and C is computed from the results (dgemm_residue_sm80.cu). If the
 * operands' numbers spread too much (kernels/emulated/residue.h), the last two steps write nothing,
 * and a kernel on the FP64 units computes. Rows are those of op(A) or columns of op(B), as in
 * split.h.
 *
 * Complex operands are expanded to real ones first (kernels/emulated/residue_expand_sm80.cu): their
 * product is C as it lies in memory, and all later steps treat it as a real product.
 */
struct xg_residue {
    struct xg_dev *dev;
    bool wgmma; /* the product of Hopper */
    CUfunction expand, split, product, combine, native;
    CUfunction dmma[4]; /* native, of aligned operands; A's transpose first, as in table.h */
};

/* Complex numbers in device memory, rows of op(A) or columns of op(B). */
struct xg_residue_complex {
    struct xg_split_source source; /* double complex, 16-byte aligned; of the first row */
    int64_t rows, k;
    bool b;         /* columns of op(B), each two rows of the real operand; rows of op(A) are one */
    bool conjugate; /* op() conjugates */
};

/* C of a product on the device, row-major: C = alpha * A * B + beta * C; with beta 0 it is never
 * read. */
struct xg_residue_result {
    CUdeviceptr c;
    int64_t ldc;
    double alpha, beta;
    struct xg_triangle wanted; /* kernels/kabi.h */
    CUdeviceptr results;       /* xg_residue_results_bytes, 256-byte aligned */
    bool padded; /* the operands' contiguous extents end in zeros up to a multiple of 4 */
};

/*
 * Loads the kernels of a row. Returns XG_OK; XG_DECLINED if the driver makes no tensor maps and the
 * row needs them, or its blocks need more shared memory; XG_ERR_NOTFOUND if this build has no code
 * for the device; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. *residue is set only on XG_OK and needs
 * no fini. The device's context must be current, here and below.
 */
enum xg_status xg_residue_open(struct xg_dev *dev, const struct xg_kernel *row,
                               struct xg_residue *residue);

/* Device memory of an operand's residues and of the results of a product of m rows and n columns;
 * multiples of 256. Pure. */
size_t xg_residue_operand_bytes(int64_t rows, int64_t k, int64_t panel_rows);
size_t xg_residue_results_bytes(int64_t m, int64_t n);

/* Lays an operand out in this memory at `at`, which must be 256-byte aligned. k: at most
 * XG_RESIDUE_DEPTH_MAX. */
void xg_residue_operand_init(struct xg_split_operand *operand, CUdeviceptr at, int64_t rows,
                             int64_t k, int64_t panel_rows);

/* Device memory of an expanded operand, a multiple of 256; rows and k are those of the real
 * operand. Pure. */
size_t xg_residue_expanded_bytes(int64_t rows, int64_t k);

/* The numbers from row `row` of the real operand on, in an expanded operand at `expanded`. Pure. */
struct xg_split_source xg_residue_expanded(CUdeviceptr expanded, int64_t row, int64_t k);

/* Enqueues the expansion of complex rows, the first of which becomes `row` of the real operand at
 * `expanded`. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_residue_expand(const struct xg_residue *residue,
                                 const struct xg_residue_complex *from, CUdeviceptr expanded,
                                 int64_t row, CUstream stream);

/* Enqueues the split of panels, which must be in device memory at that point of the stream. Each
 * panel is split once. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_residue_panels(const struct xg_residue *residue,
                                 const struct xg_split_range *panels, CUstream stream);

/*
 * Enqueues the product of the ranges of both operands. Their panels must be split at that point of
 * the stream, and their doubles must still exist. Returns XG_OK; XG_DECLINED if C has too many
 * tiles for a launch; XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_residue_product(const struct xg_residue *residue, const struct xg_split_range *a,
                                  const struct xg_split_range *b,
                                  const struct xg_residue_result *result, CUstream stream);

#endif
