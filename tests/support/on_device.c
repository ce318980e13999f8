/* SPDX-License-Identifier: MIT */
#include "on_device.h"

#include "src/compute/residue.h"
#include "src/compute/split.h"

/* Pieces: the sum of the slices' sums is more exact than one long sum, and within a slice the split
 * reads each number once. */
enum { PIECES_DEPTH = 8192 };

/* A slice of k of both operands, from position `at` on. */
struct slice {
    struct xg_split_operand operands[2];
    struct xg_split_range a, b;
    int64_t at, depth;
};

static bool by_pieces(const struct xg_gemm_args *gemm)
{
    return gemm->type == XG_TYPE_S;
}

static int64_t depth_max(const struct xg_gemm_args *gemm)
{
    return by_pieces(gemm) ? PIECES_DEPTH : XG_RESIDUE_DEPTH_MAX;
}

static struct xg_split_range range_of(const struct xg_gemm_args *gemm, const struct slice *slice,
                                      bool b)
{
    const struct xg_split_operand *operand = &slice->operands[b];
    struct xg_split_range range = {
        .operand = operand,
        .source = {.data = b ? gemm->b : gemm->a,
                   .ld = b ? gemm->ldb : gemm->lda,
                   .along_k = b ? gemm->transb != XG_NO_TRANS : gemm->transa == XG_NO_TRANS},
        .rows = operand->rows};
    range.source.data +=
        (size_t)(slice->at * xg_split_k_stride(&range.source)) * xg_type_bytes(gemm->type);
    return range;
}

/* Lays the slice out at `memory`, and returns its end. */
static CUdeviceptr place(const struct xg_gemm_args *gemm, CUdeviceptr memory, int64_t at,
                         struct slice *slice)
{
    slice->at = at;
    slice->depth = xg_min_i64(gemm->k - at, depth_max(gemm));
    for (int b = 0; b < 2; b++) {
        const int64_t rows = b ? gemm->n : gemm->m;
        (by_pieces(gemm) ? xg_split_operand_init : xg_residue_operand_init)(
            &slice->operands[b], b ? slice->operands[0].end : memory, rows, slice->depth, rows);
    }
    slice->a = range_of(gemm, slice, false);
    slice->b = range_of(gemm, slice, true);
    return slice->operands[1].end;
}

static enum xg_status multiply_pieces(const struct xg_split *split, const struct slice *slice,
                                      const struct xg_gemm_args *gemm, CUstream stream)
{
    static const struct xg_split_kinds all = {.all = true};
    const struct xg_split_result result = {.c = gemm->c,
                                           .ldc = gemm->ldc,
                                           .alpha = (float)gemm->alpha,
                                           .beta = slice->at ? 1 : (float)gemm->beta,
                                           .wanted = gemm->wanted};
    enum xg_status status = xg_split_panels(split, &slice->a, stream);
    if (status == XG_OK)
        status = xg_split_panels(split, &slice->b, stream);
    return status == XG_OK ? xg_split_product(split, &slice->a, &slice->b, &result, &all, stream)
                           : status;
}

static enum xg_status multiply_residues(const struct xg_residue *residue, const struct slice *slice,
                                        const struct xg_gemm_args *gemm, CUstream stream)
{
    const struct xg_residue_result result = {.c = gemm->c,
                                             .ldc = gemm->ldc,
                                             .alpha = gemm->alpha,
                                             .beta = slice->at ? 1 : gemm->beta,
                                             .wanted = gemm->wanted,
                                             .results = slice->operands[1].end};
    enum xg_status status = xg_residue_panels(residue, &slice->a, stream);
    if (status == XG_OK)
        status = xg_residue_panels(residue, &slice->b, stream);
    return status == XG_OK ? xg_residue_product(residue, &slice->a, &slice->b, &result, stream)
                           : status;
}

enum xg_status on_device_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                              const struct xg_gemm_args *gemm, struct xg_mem_dev *memory,
                              CUstream stream)
{
    if (!choice->row || !(choice->row->flags & (XG_KERNEL_PIECES | XG_KERNEL_RESIDUES)) ||
        xg_type_is_complex(gemm->type))
        return xg_launch_gemm(dev, choice, gemm, stream); /* which declines complex residues */
    struct slice slice;
    size_t bytes = place(gemm, 0, 0, &slice); /* the first slice is the deepest */
    if (!by_pieces(gemm))
        bytes += xg_residue_results_bytes(gemm->m, gemm->n);
    enum xg_status status = xg_mem_dev_reserve(dev, memory, bytes);
    for (int64_t at = 0; at < gemm->k && status == XG_OK; at += slice.depth) {
        place(gemm, memory->ptr, at, &slice);
        status = by_pieces(gemm) ? multiply_pieces(dev->split, &slice, gemm, stream)
                                 : multiply_residues(dev->residue, &slice, gemm, stream);
    }
    return status;
}
