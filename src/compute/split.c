/* SPDX-License-Identifier: MIT */
#include "compute/split.h"

#include "compute/image.h"

/* The sizes of kernels/emulated/split_product.cuh, split_mma.cuh, split_ffma_sm80.cu and
 * split_sm80.cu. */
enum { WGMMA_THREADS = 384, WGMMA_SMEM_BYTES = 227 * 1024 };
enum { MMA_THREADS = 256, MMA_SMEM_BYTES = 96 * 1024 };
enum { FFMA_TILE = 64, FFMA_THREADS = 256, FFMA_BLOCKS_PER_SM = 2 };
enum { SPLIT_THREADS = 512, WARP = 32, STRIP_ROWS = 16 };
enum { HELD_ELEMS = 16, SEGMENTS = 8, SEGMENT_DEPTH_MAX = 1024, SEGMENT_STRIDE = 17 };

/* The differences between the two kinds of pieces. */
struct form {
    int pieces;
    CUtensorMapDataType type;
    int box_elems; /* along k: all pieces of a step, or one piece */
    CUtensorMapSwizzle swizzle;
    enum xg_split_kernel rows, segments, mma, wgmma;
    const struct xg_tensor_tiles *mma_tiles;
};

/* Wider tiles of BF16 would need more registers. */
static const struct xg_tensor_tiles MMA_BF16_TILES = {1, {128}};

static const struct form FP16 = {
    .pieces = XG_SPLIT_FP16_PIECES,
    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    .box_elems = XG_SPLIT_FP16_PIECES * XG_SPLIT_BLOCK,
    .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
    .rows = XG_SPLIT_ROWS_FP16,
    .segments = XG_SPLIT_SEGMENTS_FP16,
    .mma = XG_SPLIT_MMA_FP16,
    .wgmma = XG_SPLIT_WGMMA_FP16,
    .mma_tiles = &xg_tensor_mma,
};
static const struct form BF16 = {
    .pieces = XG_SPLIT_BF16_PIECES,
    .type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    .box_elems = XG_SPLIT_BLOCK,
    .swizzle = CU_TENSOR_MAP_SWIZZLE_64B,
    .rows = XG_SPLIT_ROWS_BF16,
    .segments = XG_SPLIT_SEGMENTS_BF16,
    .mma = XG_SPLIT_MMA_BF16,
    .wgmma = XG_SPLIT_WGMMA_BF16,
    .mma_tiles = &MMA_BF16_TILES,
};

/* --- Kernels ---------------------------------------------------------------------------------- */

#define FILE_SPLIT "split_sm80"
#define FILE_FP16 "sgemm_fp16x3_sm90"
#define FILE_BF16 "sgemm_bf16x6_sm90"
enum { SEGMENT_BYTES = SEGMENT_DEPTH_MAX * SEGMENT_STRIDE * 4 };

/* Which rows of pieces use a kernel: all, on devices with clusters, or one of the two products. */
enum use { ALL, CLUSTERS, BY_WGMMA, BY_MMA };

static const struct {
    const char *image, *entry;
    int smem_bytes; /* dynamic, the maximum */
    enum use use;
} KERNELS[XG_SPLIT_KERNELS] = {
    [XG_SPLIT_ROWS_HELD4] = {FILE_SPLIT, "xg_split_fp16_sm80_held4", 0, ALL},
    [XG_SPLIT_ROWS_HELD8] = {FILE_SPLIT, "xg_split_fp16_sm80_held8", 0, ALL},
    [XG_SPLIT_ROWS_FP16] = {FILE_SPLIT, "xg_split_fp16_sm80_rows", 0, ALL},
    [XG_SPLIT_ROWS_BF16] = {FILE_SPLIT, "xg_split_bf16_sm80_rows", 0, ALL},
    [XG_SPLIT_STRIP_FP16] = {FILE_SPLIT, "xg_split_fp16_sm80_strip", 0, ALL},
    [XG_SPLIT_SEGMENTS_FP16] = {FILE_SPLIT, "xg_split_fp16_sm90_segments", SEGMENT_BYTES, CLUSTERS},
    [XG_SPLIT_SEGMENTS_BF16] = {FILE_SPLIT, "xg_split_bf16_sm80_segments", SEGMENT_BYTES, ALL},
    [XG_SPLIT_PRODUCT_FFMA] = {"split_ffma_sm80", "xg_split_ffma_sm80_64x64x16", 0, ALL},
    [XG_SPLIT_MMA_FP16] = {"sgemm_fp16x3_sm80", "xg_sgemm_fp16x3_sm80_128x192x32", MMA_SMEM_BYTES,
                           BY_MMA},
    {"sgemm_fp16x3_sm80", "xg_sgemm_fp16x3_sm80_128x128x32", MMA_SMEM_BYTES, BY_MMA},
    [XG_SPLIT_MMA_BF16] = {"sgemm_bf16x6_sm80", "xg_sgemm_bf16x6_sm80_128x128x32", MMA_SMEM_BYTES,
                           BY_MMA},
    [XG_SPLIT_WGMMA_FP16] = {FILE_FP16, "xg_sgemm_fp16x3_sm90_128x192x32", WGMMA_SMEM_BYTES,
                             BY_WGMMA},
    {FILE_FP16, "xg_sgemm_fp16x3_sm90_128x176x32", WGMMA_SMEM_BYTES, BY_WGMMA},
    {FILE_FP16, "xg_sgemm_fp16x3_sm90_128x128x32", WGMMA_SMEM_BYTES, BY_WGMMA},
    [XG_SPLIT_WGMMA_BF16] = {FILE_BF16, "xg_sgemm_bf16x6_sm90_128x192x32", WGMMA_SMEM_BYTES,
                             BY_WGMMA},
    {FILE_BF16, "xg_sgemm_bf16x6_sm90_128x176x32", WGMMA_SMEM_BYTES, BY_WGMMA},
    {FILE_BF16, "xg_sgemm_bf16x6_sm90_128x128x32", WGMMA_SMEM_BYTES, BY_WGMMA},
};

static bool is_used(const struct xg_split *split, enum use use)
{
    return use == ALL ||
           (use == CLUSTERS && xg_facts_generation(&split->dev->facts)->cluster_blocks > 0) ||
           use == (split->wgmma ? BY_WGMMA : BY_MMA);
}

enum xg_status xg_split_open(struct xg_dev *dev, const struct xg_kernel *row,
                             struct xg_split *split)
{
    struct xg_split opened = {.dev = dev, .wgmma = row->flags & XG_KERNEL_WGMMA};
    if (opened.wgmma && !dev->drv.cuTensorMapEncodeTiled)
        return XG_DECLINED;
    for (int i = 0; i < XG_SPLIT_KERNELS; i++) {
        if (!is_used(&opened, KERNELS[i].use))
            continue;
        enum xg_status status = xg_image_entry(dev, KERNELS[i].image, KERNELS[i].entry,
                                               KERNELS[i].smem_bytes, &opened.functions[i]);
        if (status != XG_OK)
            return status;
    }
    *split = opened;
    return XG_OK;
}

static enum xg_status launch(const struct xg_split *split, int kernel, int64_t blocks, int threads,
                             int smem_bytes, void *args, CUstream stream)
{
    void *parameters[] = {args};
    return XG_DRV(&split->dev->drv, cuLaunchKernel, split->functions[kernel], (unsigned)blocks, 1,
                  1, (unsigned)threads, 1, 1, (unsigned)smem_bytes, stream, parameters, NULL);
}

/* --- Memory of an operand --------------------------------------------------------------------- */

static int64_t padded_k(int64_t k)
{
    return xg_round_up(k, XG_SPLIT_BLOCK);
}

static size_t piece_bytes(const struct form *form, int64_t rows, int64_t k)
{
    return (size_t)(form->pieces * rows * padded_k(k)) * sizeof(uint16_t);
}

struct xg_split_operand xg_split_operand_of(CUdeviceptr parts, CUdeviceptr bf16,
                                            CUdeviceptr parts_end, size_t stats_bytes, int64_t rows,
                                            int64_t k, int64_t panel_rows)
{
    const CUdeviceptr scales = xg_split_aligned(parts_end);
    const CUdeviceptr stats = xg_split_aligned(scales + (size_t)rows * sizeof(int32_t));
    const size_t panels = (size_t)xg_ceil_div(rows, panel_rows);
    return (struct xg_split_operand){.parts = parts,
                                     .bf16 = bf16,
                                     .scales = scales,
                                     .stats = stats,
                                     .end = xg_split_aligned(stats + panels * stats_bytes),
                                     .stats_bytes = stats_bytes,
                                     .rows = rows,
                                     .k = k,
                                     .panel_rows = panel_rows};
}

void xg_split_operand_init(struct xg_split_operand *operand, CUdeviceptr at, int64_t rows,
                           int64_t k, int64_t panel_rows)
{
    const CUdeviceptr bf16 = xg_split_aligned(at + piece_bytes(&FP16, rows, k));
    *operand = xg_split_operand_of(at, bf16, bf16 + piece_bytes(&BF16, rows, k),
                                   sizeof(struct xg_split_stats), rows, k, panel_rows);
}

size_t xg_split_operand_bytes(int64_t rows, int64_t k, int64_t panel_rows)
{
    struct xg_split_operand operand;
    xg_split_operand_init(&operand, 0, rows, k, panel_rows);
    return operand.end;
}

static CUdeviceptr pieces(const struct form *form, const struct xg_split_range *range)
{
    const struct xg_split_operand *operand = range->operand;
    return (form == &FP16 ? operand->parts : operand->bf16) +
           piece_bytes(form, range->row, operand->k);
}

struct xg_split_range xg_split_panel(const struct xg_split_range *range, int64_t done,
                                     size_t elem_bytes)
{
    struct xg_split_range panel = *range;
    panel.row += done;
    panel.rows = xg_min_i64(range->operand->panel_rows, range->rows - done);
    panel.source.data += (size_t)(done * xg_split_row_stride(&range->source)) * elem_bytes;
    return panel;
}

CUdeviceptr xg_split_scales_of(const struct xg_split_range *range)
{
    return range->operand->scales + (size_t)range->row * sizeof(int32_t);
}

CUdeviceptr xg_split_stats_of(const struct xg_split_range *range)
{
    int64_t panel = range->row / range->operand->panel_rows;
    return range->operand->stats + (size_t)panel * range->operand->stats_bytes;
}

static int32_t panels(const struct xg_split_range *range)
{
    return (int32_t)xg_ceil_div(range->rows, range->operand->panel_rows);
}

struct xg_split_pair xg_split_pair_of(const struct xg_split_range *a,
                                      const struct xg_split_range *b)
{
    return (struct xg_split_pair){.a_stats = xg_split_stats_of(a),
                                  .b_stats = xg_split_stats_of(b),
                                  .a_panels = panels(a),
                                  .b_panels = panels(b),
                                  .k = a->operand->k};
}

enum xg_status xg_split_clear(struct xg_dev *dev, const struct xg_split_range *range,
                              CUstream stream)
{
    return XG_DRV(&dev->drv, cuMemsetD32Async, xg_split_stats_of(range), 0,
                  (size_t)panels(range) * range->operand->stats_bytes / sizeof(uint32_t), stream);
}

/* --- The split -------------------------------------------------------------------------------- */

/* Splits rows that are contiguous along k. Some warps hold a row in registers, or one warp reads it
 * twice. */
static enum xg_status split_along_k(const struct xg_split *split, const struct form *form,
                                    struct xg_split_args *args, CUstream stream)
{
    enum xg_split_kernel kernel = form->rows;
    args->lanes = WARP;
    if (form == &FP16 && args->k <= 2 * HELD_ELEMS * SPLIT_THREADS) {
        kernel = args->k <= HELD_ELEMS * SPLIT_THREADS ? XG_SPLIT_ROWS_HELD4 : XG_SPLIT_ROWS_HELD8;
        while (args->lanes < SPLIT_THREADS && args->lanes * HELD_ELEMS < args->k)
            args->lanes *= 2;
    }
    int64_t blocks = xg_ceil_div(args->rows, SPLIT_THREADS / args->lanes);
    return launch(split, kernel, blocks, SPLIT_THREADS, 0, args, stream);
}

/* Splits rows that are contiguous across k. The blocks of a cluster hold a strip of rows, or one
 * block reads it twice. */
static enum xg_status split_across(const struct xg_split *split, const struct form *form,
                                   struct xg_split_args *args, CUstream stream)
{
    int64_t strips = xg_ceil_div(args->rows, STRIP_ROWS), depth = padded_k(args->k);
    if (form == &FP16 &&
        (depth > SEGMENTS * SEGMENT_DEPTH_MAX || !split->functions[XG_SPLIT_SEGMENTS_FP16]))
        return launch(split, XG_SPLIT_STRIP_FP16, strips, SPLIT_THREADS, 0, args, stream);
    args->lanes = (int32_t)xg_max_i64(SEGMENTS, xg_ceil_div(depth, SEGMENT_DEPTH_MAX));
    args->depth = (int32_t)xg_round_up(xg_ceil_div(depth, args->lanes), XG_SPLIT_BLOCK);
    return launch(split, form->segments, strips * args->lanes, SPLIT_THREADS,
                  args->depth * SEGMENT_STRIDE * (int)sizeof(float), args, stream);
}

/* Splits one panel, or with BF16 all panels of a range. */
static enum xg_status split_rows(const struct xg_split *split, const struct form *form,
                                 const struct xg_split_range *range,
                                 const struct xg_split_pair *pair, CUstream stream)
{
    const struct xg_split_source *source = &range->source;
    struct xg_split_args args = {
        .data = source->data,
        .pieces = pieces(form, range),
        .scale = xg_split_scales_of(range),
        .stats = xg_split_stats_of(range),
        .row_stride = xg_split_row_stride(source),
        .k_stride = xg_split_k_stride(source),
        .rows = range->rows,
        .k = range->operand->k,
        .pair = *pair,
    };
    return source->along_k ? split_along_k(split, form, &args, stream)
                           : split_across(split, form, &args, stream);
}

enum xg_status xg_split_panels(const struct xg_split *split, const struct xg_split_range *range,
                               CUstream stream)
{
    static const struct xg_split_pair none;
    enum xg_status status = xg_split_clear(split->dev, range, stream);
    for (int64_t done = 0; status == XG_OK && done < range->rows;
         done += range->operand->panel_rows) {
        const struct xg_split_range panel = xg_split_panel(range, done, sizeof(float));
        status = split_rows(split, &FP16, &panel, &none, stream);
    }
    return status;
}

/* --- Products --------------------------------------------------------------------------------- */

/* Makes the tensor map of a range's pieces, in boxes of box_rows rows. */
static enum xg_status describe(const struct xg_split *split, const struct form *form,
                               const struct xg_split_range *range, int box_rows,
                               struct xg_tensor_map *map)
{
    int64_t width = form->pieces * padded_k(range->operand->k);
    cuuint64_t extents[] = {(cuuint64_t)width, (cuuint64_t)range->rows};
    cuuint64_t strides[] = {(cuuint64_t)width * sizeof(uint16_t)};
    cuuint32_t box[] = {(cuuint32_t)form->box_elems, (cuuint32_t)box_rows}, steps[] = {1, 1};
    CUresult result =
        XG_DRV_CALL(&split->dev->drv, cuTensorMapEncodeTiled, (CUtensorMap *)map, form->type, 2,
                    (void *)(uintptr_t)pieces(form, range), extents, strides, box, steps,
                    CU_TENSOR_MAP_INTERLEAVE_NONE, form->swizzle,
                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return xg_drv_status(&split->dev->drv, result, "cuTensorMapEncodeTiled");
}

/* Launches the product of one kind of pieces: as many clusters or blocks as the device holds loop
 * over the tiles. */
static enum xg_status multiply(const struct xg_split *split, const struct form *form,
                               const struct xg_split_range *a, const struct xg_split_range *b,
                               struct xg_split_product_args *args, CUstream stream)
{
    const struct xg_device_facts *facts = &split->dev->facts;
    const struct xg_tensor_tiles *tiles = split->wgmma ? &xg_tensor_wgmma : form->mma_tiles;
    int choice = xg_tensor_width(tiles, facts, args->m, args->n), width = tiles->widths[choice];
    int64_t most = facts->sm_count / tiles->blocks * tiles->blocks;
    int64_t blocks = tiles->blocks * xg_tensor_count(tiles, width, args->m, args->n);
    args->a_pieces = pieces(form, a);
    args->b_pieces = pieces(form, b);
    if (!split->wgmma)
        return launch(split, (int)form->mma + choice, xg_min_i64(blocks, most), MMA_THREADS,
                      MMA_SMEM_BYTES, args, stream);
    enum xg_status status = describe(split, form, a, XG_TENSOR_ROWS, &args->a);
    if (status == XG_OK)
        status = describe(split, form, b, width / XG_TENSOR_CLUSTER, &args->b);
    if (status != XG_OK)
        return status;
    return launch(split, (int)form->wgmma + choice, xg_min_i64(blocks, most), WGMMA_THREADS,
                  WGMMA_SMEM_BYTES, args, stream);
}

static enum xg_status multiply_ffma(const struct xg_split *split, const struct xg_split_range *a,
                                    const struct xg_split_range *b,
                                    const struct xg_split_product_args *like, CUstream stream)
{
    struct xg_split_ffma_args args = {
        .product = {.a = a->source.data,
                    .b = b->source.data,
                    .c = like->c,
                    .lda = a->source.ld,
                    .ldb = b->source.ld,
                    .ldc = like->ldc,
                    .m = like->m,
                    .n = like->n,
                    .k = like->k,
                    .alpha = like->alpha,
                    .beta = like->beta,
                    .transa = !a->source.along_k,
                    .transb = b->source.along_k,
                    .wanted = like->wanted},
        .pair = like->pair,
    };
    int64_t tiles = xg_ceil_div(like->m, FFMA_TILE) * xg_ceil_div(like->n, FFMA_TILE);
    int64_t blocks = xg_min_i64(tiles, FFMA_BLOCKS_PER_SM * split->dev->facts.sm_count);
    return launch(split, XG_SPLIT_PRODUCT_FFMA, blocks, FFMA_THREADS, 0, &args, stream);
}

enum xg_status xg_split_product(const struct xg_split *split, const struct xg_split_range *a,
                                const struct xg_split_range *b,
                                const struct xg_split_result *result,
                                const struct xg_split_kinds *kinds, CUstream stream)
{
    struct xg_split_product_args args = {
        .c = result->c,
        .a_scale = xg_split_scales_of(a),
        .b_scale = xg_split_scales_of(b),
        .pair = xg_split_pair_of(a, b),
        .refused = (uintptr_t)kinds->refused,
        .ldc = result->ldc,
        .m = a->rows,
        .n = b->rows,
        .k = a->operand->k,
        .alpha = result->alpha,
        .beta = result->beta,
        .wanted = result->wanted,
    };
    enum xg_status status = multiply(split, &FP16, a, b, &args, stream);
    if (!kinds->all)
        return status;
    if (status == XG_OK)
        status = split_rows(split, &BF16, a, &args.pair, stream);
    if (status == XG_OK)
        status = split_rows(split, &BF16, b, &args.pair, stream);
    if (status == XG_OK)
        status = multiply(split, &BF16, a, b, &args, stream);
    if (status == XG_OK)
        status = multiply_ffma(split, a, b, &args, stream);
    return status;
}
