/* SPDX-License-Identifier: MIT */
#include "compute/residue.h"

#include "compute/image.h"

/* The sizes of kernels/emulated/residue_expand_sm80.cu, residue_split_sm80.cu,
 * dgemm_residue_sm80.cu and dgemm_residue_sm90.cu. */
enum { SPLIT_ROWS = 16, THREADS = 256 };
enum { TILE_M = 128, TILE_N = 256, PRODUCT_SMEM_BYTES = 96 * 1024 };
enum { WGMMA_THREADS = 384, WGMMA_SMEM_BYTES = 197 * 1024, CLUSTER = 2, BOX = 128 };
enum { NATIVE_TILE = 32 };
enum { DMMA_TILE = 128, DMMA_SMEM_BYTES = 128 * 1024 };
#define DMMA(transposes)                                                                           \
    "residue_dmma_sm80", "xg_residue_dmma_sm80_128x128x16_" transposes, DMMA_SMEM_BYTES

enum xg_status xg_residue_open(struct xg_dev *dev, const struct xg_kernel *row,
                               struct xg_residue *residue)
{
    struct xg_residue opened = {.dev = dev, .wgmma = row->flags & XG_KERNEL_WGMMA};
    if (opened.wgmma && !dev->drv.cuTensorMapEncodeTiled)
        return XG_DECLINED;
    const struct {
        const char *image, *entry;
        int smem_bytes;
        CUfunction *function;
    } kernels[] = {
        {"residue_expand_sm80", "xg_residue_expand_sm80", 0, &opened.expand},
        {"residue_split_sm80", "xg_residue_split_sm80", 0, &opened.split},
        {opened.wgmma ? "dgemm_residue_sm90" : "dgemm_residue_sm80",
         opened.wgmma ? "xg_residue_product_sm90_128x256x128"
                      : "xg_residue_product_sm80_128x256x64",
         opened.wgmma ? WGMMA_SMEM_BYTES : PRODUCT_SMEM_BYTES, &opened.product},
        {"dgemm_residue_sm80", "xg_residue_combine_sm80", 0, &opened.combine},
        {"dgemm_residue_sm80", "xg_residue_native_sm80", 0, &opened.native},
        {DMMA("nn"), &opened.dmma[0]},
        {DMMA("nt"), &opened.dmma[1]},
        {DMMA("tn"), &opened.dmma[2]},
        {DMMA("tt"), &opened.dmma[3]},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (kernels[i].smem_bytes > dev->facts.smem_block_bytes) {
            if (kernels[i].smem_bytes == DMMA_SMEM_BYTES)
                continue; /* the native kernel without tensor cores serves there */
            return XG_DECLINED;
        }
        enum xg_status status = xg_image_entry(dev, kernels[i].image, kernels[i].entry,
                                               kernels[i].smem_bytes, kernels[i].function);
        if (status != XG_OK)
            return status;
    }
    *residue = opened;
    return XG_OK;
}

/* --- Memory --------------------------------------------------------------------------------- */

static int64_t row_bytes(int64_t k)
{
    return xg_round_up(k, XG_RESIDUE_BLOCK);
}

void xg_residue_operand_init(struct xg_split_operand *operand, CUdeviceptr at, int64_t rows,
                             int64_t k, int64_t panel_rows)
{
    const size_t bytes = (size_t)(XG_RESIDUE_MODULI_COUNT * rows * row_bytes(k));
    *operand = xg_split_operand_of(at, 0, at + bytes, sizeof(struct xg_residue_stats), rows, k,
                                   panel_rows);
}

size_t xg_residue_operand_bytes(int64_t rows, int64_t k, int64_t panel_rows)
{
    struct xg_split_operand operand;
    xg_residue_operand_init(&operand, 0, rows, k, panel_rows);
    return operand.end;
}

size_t xg_residue_results_bytes(int64_t m, int64_t n)
{
    return xg_split_aligned(
        (size_t)(XG_RESIDUE_MODULI_COUNT * m * xg_round_up(n, XG_RESIDUE_QUAD)));
}

static int64_t plane_bytes(const struct xg_split_range *range)
{
    return range->operand->rows * row_bytes(range->operand->k);
}

static CUdeviceptr residues(const struct xg_split_range *range)
{
    return range->operand->parts + (size_t)(range->row * row_bytes(range->operand->k));
}

/* --- Steps ---------------------------------------------------------------------------------- */

static enum xg_status launch(const struct xg_residue *residue, CUfunction function, int64_t blocks,
                             unsigned threads, unsigned smem_bytes, void *args, CUstream stream)
{
    void *parameters[] = {args};
    if (blocks > INT32_MAX)
        return XG_DECLINED;
    return XG_DRV(&residue->dev->drv, cuLaunchKernel, function, (unsigned)blocks, 1, 1, threads, 1,
                  1, smem_bytes, stream, parameters, NULL);
}

size_t xg_residue_expanded_bytes(int64_t rows, int64_t k)
{
    return xg_split_aligned((size_t)(rows * XG_RESIDUE_EXPANDED_LD(k)) * sizeof(double));
}

struct xg_split_source xg_residue_expanded(CUdeviceptr expanded, int64_t row, int64_t k)
{
    const int64_t ld = XG_RESIDUE_EXPANDED_LD(k);
    return (struct xg_split_source){expanded + (size_t)(row * ld) * sizeof(double), ld, true};
}

enum xg_status xg_residue_expand(const struct xg_residue *residue,
                                 const struct xg_residue_complex *from, CUdeviceptr expanded,
                                 int64_t row, CUstream stream)
{
    const struct xg_split_source *source = &from->source;
    struct xg_residue_expand_args args = {
        .from = source->data,
        .to = xg_residue_expanded(expanded, row, 2 * from->k).data,
        .row_stride = xg_split_row_stride(source),
        .k_stride = xg_split_k_stride(source),
        .rows = from->rows,
        .k = from->k,
        .of_b = from->b,
        .conjugate = from->conjugate,
    };
    int64_t blocks = xg_ceil_div(from->rows, XG_RESIDUE_EXPAND_SIDE) *
                     xg_ceil_div(XG_RESIDUE_EXPANDED_LD(2 * from->k) / 2, XG_RESIDUE_EXPAND_SIDE);
    return launch(residue, residue->expand, blocks, THREADS, 0, &args, stream);
}

static enum xg_status split_panel(const struct xg_residue *residue,
                                  const struct xg_split_range *panel, CUstream stream)
{
    const struct xg_split_source *source = &panel->source;
    struct xg_residue_split_args args = {
        .data = source->data,
        .residues = residues(panel),
        .exponents = xg_split_scales_of(panel),
        .stats = xg_split_stats_of(panel),
        .row_stride = xg_split_row_stride(source),
        .k_stride = xg_split_k_stride(source),
        .rows = panel->rows,
        .k = panel->operand->k,
        .plane_bytes = plane_bytes(panel),
    };
    return launch(residue, residue->split, xg_ceil_div(panel->rows, SPLIT_ROWS), THREADS, 0, &args,
                  stream);
}

enum xg_status xg_residue_panels(const struct xg_residue *residue,
                                 const struct xg_split_range *range, CUstream stream)
{
    enum xg_status status = xg_split_clear(residue->dev, range, stream);
    for (int64_t done = 0; status == XG_OK && done < range->rows;
         done += range->operand->panel_rows) {
        const struct xg_split_range panel = xg_split_panel(range, done, sizeof(double));
        status = split_panel(residue, &panel, stream);
    }
    return status;
}

static int64_t tiles(int64_t m, int64_t n, int64_t tile_m, int64_t tile_n)
{
    return xg_ceil_div(m, tile_m) * xg_ceil_div(n, tile_n);
}

/* Makes the tensor map of a range's residues: k, rows, moduli. */
static enum xg_status describe(const struct xg_residue *residue, const struct xg_split_range *range,
                               struct xg_tensor_map *map)
{
    const cuuint64_t width = (cuuint64_t)row_bytes(range->operand->k);
    const cuuint64_t extents[] = {width, (cuuint64_t)range->rows, XG_RESIDUE_MODULI_COUNT};
    const cuuint64_t strides[] = {width, (cuuint64_t)plane_bytes(range)};
    const cuuint32_t box[] = {BOX, BOX, 1}, steps[] = {1, 1, 1};
    CUresult result =
        XG_DRV_CALL(&residue->dev->drv, cuTensorMapEncodeTiled, (CUtensorMap *)map,
                    CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, (void *)(uintptr_t)residues(range), extents,
                    strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return xg_drv_status(&residue->dev->drv, result, "cuTensorMapEncodeTiled");
}

/* Launches the product: as many clusters as the device holds loop over the tiles. */
static enum xg_status multiply_wgmma(const struct xg_residue *residue,
                                     const struct xg_split_range *a, const struct xg_split_range *b,
                                     struct xg_residue_product_args *args, CUstream stream)
{
    enum xg_status status = describe(residue, a, &args->a_map);
    if (status == XG_OK)
        status = describe(residue, b, &args->b_map);
    if (status != XG_OK)
        return status;
    int64_t all = XG_RESIDUE_MODULI_COUNT * tiles(args->m, args->n, CLUSTER * TILE_M, TILE_N);
    int64_t clusters = xg_min_i64(all, residue->dev->facts.sm_count / CLUSTER);
    return launch(residue, residue->product, clusters * CLUSTER, WGMMA_THREADS, WGMMA_SMEM_BYTES,
                  args, stream);
}

static enum xg_status multiply(const struct xg_residue *residue, const struct xg_split_range *a,
                               const struct xg_split_range *b, const struct xg_split_pair *pair,
                               const struct xg_residue_result *result, CUstream stream)
{
    struct xg_residue_product_args args = {.a = residues(a),
                                           .b = residues(b),
                                           .results = result->results,
                                           .a_plane_bytes = plane_bytes(a),
                                           .b_plane_bytes = plane_bytes(b),
                                           .pair = *pair,
                                           .m = a->rows,
                                           .n = b->rows,
                                           .k = pair->k,
                                           .wanted = result->wanted};
    if (residue->wgmma)
        return multiply_wgmma(residue, a, b, &args, stream);
    return launch(residue, residue->product,
                  XG_RESIDUE_MODULI_COUNT * tiles(args.m, args.n, TILE_M, TILE_N), THREADS,
                  PRODUCT_SMEM_BYTES, &args, stream);
}

static enum xg_status combine(const struct xg_residue *residue, const struct xg_split_range *a,
                              const struct xg_split_range *b, const struct xg_split_pair *pair,
                              const struct xg_residue_result *result, CUstream stream)
{
    struct xg_residue_combine_args args = {.results = result->results,
                                           .c = result->c,
                                           .a_exponents = xg_split_scales_of(a),
                                           .b_exponents = xg_split_scales_of(b),
                                           .pair = *pair,
                                           .ldc = result->ldc,
                                           .m = a->rows,
                                           .n = b->rows,
                                           .alpha = result->alpha,
                                           .beta = result->beta,
                                           .wanted = result->wanted};
    int64_t quads = args.m * xg_ceil_div(args.n, XG_RESIDUE_QUAD);
    return launch(residue, residue->combine, xg_ceil_div(quads, THREADS), THREADS, 0, &args,
                  stream);
}

/* Whether the operands are as kernels/kabi.h demands of XG_KERNEL_VEC4. */
static bool fits_dmma(const struct xg_dgemm_args *args, bool padded)
{
    const int64_t extents =
        padded ? 0 : (args->transa ? args->m : args->k) | (args->transb ? args->k : args->n);
    return ((args->a | args->b | args->c) % 16 |
            (args->lda | args->ldb | args->ldc | extents) % 4) == 0;
}

static enum xg_status multiply_native(const struct xg_residue *residue,
                                      const struct xg_split_range *a,
                                      const struct xg_split_range *b,
                                      const struct xg_split_pair *pair,
                                      const struct xg_residue_result *result, CUstream stream)
{
    struct xg_residue_native_args args = {.product = {.a = a->source.data,
                                                      .b = b->source.data,
                                                      .c = result->c,
                                                      .lda = a->source.ld,
                                                      .ldb = b->source.ld,
                                                      .ldc = result->ldc,
                                                      .m = a->rows,
                                                      .n = b->rows,
                                                      .k = pair->k,
                                                      .alpha = result->alpha,
                                                      .beta = result->beta,
                                                      .wanted = result->wanted,
                                                      .transa = !a->source.along_k,
                                                      .transb = b->source.along_k,
                                                      .split = 1},
                                          .pair = *pair};
    const CUfunction dmma = residue->dmma[2 * args.product.transa + args.product.transb];
    if (dmma && fits_dmma(&args.product, result->padded))
        return launch(residue, dmma, tiles(a->rows, b->rows, DMMA_TILE, DMMA_TILE), THREADS,
                      DMMA_SMEM_BYTES, &args, stream);
    return launch(residue, residue->native, tiles(a->rows, b->rows, NATIVE_TILE, NATIVE_TILE),
                  THREADS, 0, &args, stream);
}

enum xg_status xg_residue_product(const struct xg_residue *residue, const struct xg_split_range *a,
                                  const struct xg_split_range *b,
                                  const struct xg_residue_result *result, CUstream stream)
{
    const struct xg_split_pair pair = xg_split_pair_of(a, b);
    enum xg_status status = multiply(residue, a, b, &pair, result, stream);
    if (status == XG_OK)
        status = combine(residue, a, b, &pair, result, stream);
    if (status == XG_OK)
        status = multiply_native(residue, a, b, &pair, result, stream);
    return status;
}
