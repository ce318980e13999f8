/* SPDX-License-Identifier: MIT */
/* The kernels of pieces, in terms of FP32 numbers: splits, which count, and products. */
#include "fake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/integers.h"
#include "tests/support/emulation.h"

/*
 * The pieces of an element take 4 bytes (FP16) or 6 (BF16), enough for the float that they stand
 * for. Here a row of pieces is a row of scaled floats, padded with zeros, in the same memory. The
 * fake decides by the device's rule (kernels/emulated/split_verdict.h) from the device's counts
 * (tests/support/emulation.c). As on the device, results of different kinds of pieces differ
 * in bits.
 */
enum { ROW_PLACES = 16, SPLIT_THREADS = 512, CLUSTER_SPLIT = 8, SEGMENT_STRIDE = 17 };
enum { TILE_ROWS = 128, CLUSTER_PRODUCT = 2, FFMA_TILE = 64, FFMA_BLOCKS_PER_SM = 2 };
enum { PIECES_ALIGN = 128, SUMS = 16 };

static int64_t padded_k(int64_t k)
{
    return xg_round_up(k, XG_SPLIT_BLOCK);
}

static int pieces_of(enum xg_split_kind kind)
{
    return kind == XG_SPLIT_FP16 ? XG_SPLIT_FP16_PIECES : XG_SPLIT_BF16_PIECES;
}

static int target_of(enum xg_split_kind kind)
{
    return kind == XG_SPLIT_FP16 ? XG_SPLIT_FP16_TARGET : XG_SPLIT_BF16_TARGET;
}

/* Bytes of a row's pieces. */
static size_t row_bytes(enum xg_split_kind kind, int64_t k)
{
    return (size_t)(pieces_of(kind) * padded_k(k)) * sizeof(uint16_t);
}

/* --- Addresses: a kernel reads and writes only memory that is there --------------------------- */

static void resolve_pair(struct xg_split_pair *pair, int64_t k)
{
    if (pair->a_panels < 1 || pair->b_panels < 1 || pair->k != k)
        fake_abort("statistics of %d and %d panels, %lld deep, for a product %lld deep",
                   pair->a_panels, pair->b_panels, (long long)pair->k, (long long)k);
    fake_mem_resolve(&pair->a_stats, (size_t)pair->a_panels * sizeof(struct xg_split_stats),
                     "A's counts");
    fake_mem_resolve(&pair->b_stats, (size_t)pair->b_panels * sizeof(struct xg_split_stats),
                     "B's counts");
}

/* along_k: the elements of a row are neighbours; otherwise those of a column are. */
static void resolve_either(struct fake_launch *launch, bool along_k)
{
    struct xg_split_args *args = (void *)launch->parameter;
    const struct fake_kernel *kernel = launch->kernel;
    if (args->rows < 1 || args->k < 1 || (along_k ? args->k_stride : args->row_stride) != 1 ||
        args->pieces % PIECES_ALIGN)
        fake_abort("%s: %lld rows, strides %lld and %lld", kernel->name, (long long)args->rows,
                   (long long)args->row_stride, (long long)args->k_stride);
    size_t last = (size_t)((args->rows - 1) * args->row_stride + (args->k - 1) * args->k_stride);
    fake_mem_resolve(&args->data, (last + 1) * sizeof(float), "numbers to split");
    fake_mem_resolve(&args->pieces, (size_t)args->rows * row_bytes(kernel->kind, args->k),
                     "pieces");
    fake_mem_resolve(&args->scale, (size_t)args->rows * sizeof(int32_t), "scales");
    fake_mem_resolve(&args->stats, sizeof(struct xg_split_stats), "counts");
    if (kernel->kind == XG_SPLIT_BF16)
        resolve_pair(&args->pair, args->k);
}

static void resolve_rows(struct fake_launch *launch)
{
    resolve_either(launch, true);
}

static void resolve_columns(struct fake_launch *launch)
{
    resolve_either(launch, false);
}

/* Checks a map, and sets *pieces to its address. */
static void resolve_map(const struct xg_tensor_map *opaque, const struct fake_kernel *kernel,
                        int64_t rows, int64_t k, int box_rows, uint64_t *pieces)
{
    bool fp16 = kernel->kind == XG_SPLIT_FP16;
    const struct fake_tensor_map wanted = {
        .rank = 2,
        .extents = {row_bytes(kernel->kind, k) / sizeof(uint16_t), (uint64_t)rows},
        .strides = {row_bytes(kernel->kind, k)},
        .box = {fp16 ? XG_SPLIT_FP16_PIECES * XG_SPLIT_BLOCK : XG_SPLIT_BLOCK, (uint64_t)box_rows},
        .type = fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        .swizzle = fp16 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
    };
    *pieces = fake_tensor_map_check(opaque, &wanted, kernel->name);
}

static void resolve_product(struct fake_launch *launch)
{
    struct xg_split_product_args *args = (void *)launch->parameter;
    const struct fake_kernel *kernel = launch->kernel;
    if (args->m < 1 || args->n < 1 || args->k < 1 || args->ldc < args->n)
        fake_abort("%s: %lld,%lld,%lld", kernel->name, (long long)args->m, (long long)args->n,
                   (long long)args->k);
    if (args->a_pieces % PIECES_ALIGN || args->b_pieces % PIECES_ALIGN)
        fake_abort("%s: pieces that are not aligned", kernel->name);
    fake_mem_resolve(&args->a_pieces, (size_t)args->m * row_bytes(kernel->kind, args->k),
                     "A's pieces");
    fake_mem_resolve(&args->b_pieces, (size_t)args->n * row_bytes(kernel->kind, args->k),
                     "B's pieces");
    fake_mem_resolve(&args->c, (size_t)((args->m - 1) * args->ldc + args->n) * sizeof(float), "C");
    fake_mem_resolve(&args->a_scale, (size_t)args->m * sizeof(int32_t), "A's scales");
    fake_mem_resolve(&args->b_scale, (size_t)args->n * sizeof(int32_t), "B's scales");
    resolve_pair(&args->pair, args->k);
    if (args->refused &&
        !fake_mem_pinned((const void *)(uintptr_t)args->refused, sizeof(uint32_t), "refused"))
        fake_abort("%s: what tells of a refusal is not page-locked", kernel->name);
}

static void resolve_wgmma(struct fake_launch *launch)
{
    struct xg_split_product_args *args = (void *)launch->parameter;
    const struct fake_kernel *kernel = launch->kernel;
    resolve_map(&args->a, kernel, args->m, args->k, TILE_ROWS, &args->a_pieces);
    resolve_map(&args->b, kernel, args->n, args->k, kernel->extent / CLUSTER_PRODUCT,
                &args->b_pieces);
    resolve_product(launch);
}

static void resolve_fp32(struct fake_launch *launch)
{
    struct xg_split_ffma_args *args = (void *)launch->parameter;
    fake_sgemm_resolve(&args->product);
    resolve_pair(&args->pair, args->product.k);
}

/* --- Grids ------------------------------------------------------------------------------------ */

/* Each row has as many threads as the parameter says. */
static bool allows_held(const struct fake_launch *launch)
{
    const struct xg_split_args *args = (const void *)launch->parameter;
    const int lanes = args->lanes;
    return lanes >= 32 && lanes <= SPLIT_THREADS && SPLIT_THREADS % lanes == 0 &&
           (int64_t)lanes * launch->kernel->extent >= args->k &&
           launch->blocks == xg_ceil_div(args->rows, SPLIT_THREADS / lanes);
}

static bool allows_strip(const struct fake_launch *launch)
{
    const struct xg_split_args *args = (const void *)launch->parameter;
    return launch->blocks == xg_ceil_div(args->rows, ROW_PLACES);
}

static bool allows_segments(const struct fake_launch *launch)
{
    const struct xg_split_args *args = (const void *)launch->parameter;
    const int64_t lanes = args->lanes;
    return args->depth % XG_SPLIT_BLOCK == 0 && lanes * args->depth >= padded_k(args->k) &&
           launch->smem_bytes >= args->depth * SEGMENT_STRIDE * sizeof(float) &&
           (launch->kernel->kind == XG_SPLIT_BF16 || lanes == CLUSTER_SPLIT) &&
           launch->blocks == xg_ceil_div(args->rows, ROW_PLACES) * lanes;
}

/* Products walk over their tiles, of which a cluster of blocks computes one: the grid has at least
 * one cluster, and no more clusters than tiles. */
static bool walks(const struct fake_launch *launch, unsigned cluster, int64_t m, int rows,
                  int64_t n, int columns)
{
    return launch->blocks >= 1 && launch->blocks % cluster == 0 &&
           launch->blocks / cluster <= xg_ceil_div(m, rows) * xg_ceil_div(n, columns);
}

static bool allows_mma(const struct fake_launch *launch)
{
    const struct xg_split_product_args *args = (const void *)launch->parameter;
    return walks(launch, 1, args->m, TILE_ROWS, args->n, launch->kernel->extent);
}

static bool allows_wgmma(const struct fake_launch *launch)
{
    const struct xg_split_product_args *args = (const void *)launch->parameter;
    return walks(launch, CLUSTER_PRODUCT, args->m, CLUSTER_PRODUCT * TILE_ROWS, args->n,
                 launch->kernel->extent);
}

static bool allows_fp32(const struct fake_launch *launch)
{
    const struct xg_split_ffma_args *args = (const void *)launch->parameter;
    return walks(launch, 1, args->product.m, FFMA_TILE, args->product.n, FFMA_TILE);
}

/* --- Splits ----------------------------------------------------------------------------------- */

static enum xg_split_kind accuracy(const struct xg_split_pair *pair)
{
    const struct xg_split_stats *a = (const struct xg_split_stats *)(uintptr_t)pair->a_stats;
    const struct xg_split_stats *b = (const struct xg_split_stats *)(uintptr_t)pair->b_stats;
    struct xg_split_stats a_worst = xg_split_worst(a, pair->a_panels);
    struct xg_split_stats b_worst = xg_split_worst(b, pair->b_panels);
    return xg_split_judge(&a_worst, &b_worst, pair->k).kind;
}

/* The scaled number as its pieces hold it: FP16's two pieces have 23 bits, and steps of 2^-24. */
static float kept(float x, enum xg_split_kind kind)
{
    uint32_t bits;
    if (kind != XG_SPLIT_FP16)
        return x;
    if (fabsf(x) < 0.25f)
        return rintf(x * 0x1p24f) * 0x1p-24f;
    memcpy(&bits, &x, sizeof(bits));
    bits &= ~1u;
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

/* 2^exponent in two factors, because one may exceed FP32's range. */
struct factors {
    float first, second;
};

static struct factors factors_of(int exponent)
{
    return (struct factors){ldexpf(1.0f, exponent >> 1), ldexpf(1.0f, exponent - (exponent >> 1))};
}

static float scaled(float x, struct factors factors)
{
    return x * factors.first * factors.second;
}

/* Raises the panel's counts, and returns the scale of a row, of which `number` becomes a copy. */
static int32_t count_row(const struct xg_split_args *args, const float *row, float *number)
{
    struct emulation_row copy = {.k = args->k, .number = number};
    for (int64_t l = 0; l < args->k; l++)
        number[l] = row[l * args->k_stride];
    copy.fp16_scale = emulation_scale(&copy, XG_SPLIT_FP16_TARGET);
    emulation_count((struct xg_split_stats *)(uintptr_t)args->stats, &copy);
    return copy.fp16_scale;
}

static void run_split(const struct fake_launch *launch)
{
    const struct xg_split_args *args = (const void *)launch->parameter;
    const enum xg_split_kind kind = (enum xg_split_kind)launch->kernel->kind;
    if (kind != XG_SPLIT_FP16 && accuracy(&args->pair) != kind)
        return;
    int32_t *scale = (int32_t *)(uintptr_t)args->scale;
    for (int64_t i = 0; i < args->rows; i++) {
        const float *row = (const float *)(uintptr_t)args->data + i * args->row_stride;
        float *to = (float *)(uintptr_t)(args->pieces + (size_t)i * row_bytes(kind, args->k));
        if (kind == XG_SPLIT_FP16)
            scale[i] = count_row(args, row, to);
        struct factors factors = factors_of(scale[i] + target_of(kind) - XG_SPLIT_FP16_TARGET);
        for (int64_t l = 0; l < padded_k(args->k); l++)
            to[l] = l < args->k ? kept(scaled(row[l * args->k_stride], factors), kind) : 0.0f;
    }
}

/* --- Products --------------------------------------------------------------------------------- */

/* SUMS sums side by side; k is padded to a multiple of SUMS. The thread sanitizer ignores this
 * loop, which would take most of a test's time, and watches the splits, which use the same memory.
 */
typedef float vector __attribute__((vector_size(SUMS * sizeof(float))));

__attribute__((no_sanitize_thread)) static float dot(const float *x, const float *y, int64_t k)
{
    vector sums = {0.0f}, left, right;
    float sum = 0.0f;
    for (int64_t l = 0; l < k; l += SUMS) {
        memcpy(&left, x + l, sizeof(left));
        memcpy(&right, y + l, sizeof(right));
        sums += left * right;
    }
    for (int e = 0; e < SUMS; e++)
        sum += sums[e];
    return sum;
}

static const float *pieces_at(uint64_t pieces, enum xg_split_kind kind, int64_t row, int64_t k)
{
    return (const float *)(uintptr_t)(pieces + (uint64_t)row * row_bytes(kind, k));
}

/* The device writes this word. The thread sanitizer does not see a device, so it ignores this. */
__attribute__((no_sanitize_thread)) static void refuse(uint64_t refused)
{
    if (refused)
        *(volatile uint32_t *)(uintptr_t)refused = 1;
}

static void run_product(const struct fake_launch *launch)
{
    const struct xg_split_product_args *args = (const void *)launch->parameter;
    const enum xg_split_kind kind = (enum xg_split_kind)launch->kernel->kind;
    if (accuracy(&args->pair) != kind) {
        if (kind == XG_SPLIT_FP16)
            refuse(args->refused);
        return;
    }
    const int32_t *a_scale = (const int32_t *)(uintptr_t)args->a_scale;
    const int32_t *b_scale = (const int32_t *)(uintptr_t)args->b_scale;
    int extra = 2 * (target_of(kind) - XG_SPLIT_FP16_TARGET);
    for (int64_t i = 0; i < args->m; i++) {
        float *c = (float *)(uintptr_t)args->c + i * args->ldc;
        for (int64_t j = 0; j < args->n; j++) {
            if (!fake_wants(&args->wanted, XG_TYPE_S, i, j))
                continue;
            double sum =
                (double)dot(pieces_at(args->a_pieces, kind, i, args->k),
                            pieces_at(args->b_pieces, kind, j, args->k), padded_k(args->k));
            double old = args->beta == 0.0f ? 0.0 : (double)args->beta * (double)c[j];
            sum = ldexp(sum, -(a_scale[i] + b_scale[j] + extra));
            c[j] = (float)((double)args->alpha * sum + old);
        }
    }
    fake_result_flip((void *)(uintptr_t)args->c, args->m, args->n, args->ldc, false);
}

static void run_fp32(const struct fake_launch *launch)
{
    const struct xg_split_ffma_args *args = (const void *)launch->parameter;
    const struct xg_problem p = FAKE_PROBLEM(XG_TYPE_S, &args->product);
    if (accuracy(&args->pair) == XG_SPLIT_FFMA)
        fake_sgemm_run(&p, &args->product.wanted, args->product.split, false);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static const struct fake_role
    held = {sizeof(struct xg_split_args), SPLIT_THREADS, allows_held, resolve_rows, run_split},
    rows = {sizeof(struct xg_split_args), SPLIT_THREADS, allows_strip, resolve_rows, run_split},
    strip = {sizeof(struct xg_split_args), SPLIT_THREADS, allows_strip, resolve_columns, run_split},
    segments = {sizeof(struct xg_split_args), SPLIT_THREADS, allows_segments, resolve_columns,
                run_split},
    mma = {sizeof(struct xg_split_product_args), 256, allows_mma, resolve_product, run_product},
    wgmma = {sizeof(struct xg_split_product_args), 384, allows_wgmma, resolve_wgmma, run_product},
    fp32 = {sizeof(struct xg_split_ffma_args), 256, allows_fp32, resolve_fp32, run_fp32};

/* extent: numbers that a thread holds; columns of a tile. */
const struct fake_kernel fake_split_kernels[] = {
    {"xg_split_fp16_sm80_held4", &held, XG_SPLIT_FP16, 16},
    {"xg_split_fp16_sm80_held8", &held, XG_SPLIT_FP16, 32},
    {"xg_split_fp16_sm80_rows", &rows, XG_SPLIT_FP16, 0},
    {"xg_split_bf16_sm80_rows", &rows, XG_SPLIT_BF16, 0},
    {"xg_split_fp16_sm80_strip", &strip, XG_SPLIT_FP16, 0},
    {"xg_split_fp16_sm90_segments", &segments, XG_SPLIT_FP16, 0},
    {"xg_split_bf16_sm80_segments", &segments, XG_SPLIT_BF16, 0},
    {"xg_sgemm_fp16x3_sm80_128x192x32", &mma, XG_SPLIT_FP16, 192},
    {"xg_sgemm_fp16x3_sm80_128x128x32", &mma, XG_SPLIT_FP16, 128},
    {"xg_sgemm_bf16x6_sm80_128x128x32", &mma, XG_SPLIT_BF16, 128},
    {"xg_sgemm_fp16x3_sm90_128x192x32", &wgmma, XG_SPLIT_FP16, 192},
    {"xg_sgemm_fp16x3_sm90_128x176x32", &wgmma, XG_SPLIT_FP16, 176},
    {"xg_sgemm_fp16x3_sm90_128x128x32", &wgmma, XG_SPLIT_FP16, 128},
    {"xg_sgemm_bf16x6_sm90_128x192x32", &wgmma, XG_SPLIT_BF16, 192},
    {"xg_sgemm_bf16x6_sm90_128x176x32", &wgmma, XG_SPLIT_BF16, 176},
    {"xg_sgemm_bf16x6_sm90_128x128x32", &wgmma, XG_SPLIT_BF16, 128},
    {"xg_split_ffma_sm80_64x64x16", &fp32, XG_SPLIT_FFMA, 0},
    {0},
};
