/* SPDX-License-Identifier: MIT */
/* The kernels of DGEMM by residues, in terms of doubles. */
#include "fake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/emulated/residue.h"
#include "src/base/integers.h"

/*
 * The 16 residues of a number take 16 bytes, enough for the number itself. Here a row of residues,
 * in all planes together, is a row of doubles, which are scaled and rounded to integers as the
 * kernel does; the results are doubles too. The guard decides by the same rule from the same
 * counts.
 */
enum kind { EXPAND, SPLIT, PRODUCT, WGMMA, COMBINE, NATIVE, DMMA };
enum { THREADS = 256, WGMMA_THREADS = 384, TILE_N = 256, CLUSTER = 2, BOX = 128 };
enum {
    PRODUCT_SMEM_BYTES = 96 * 1024,
    WGMMA_SMEM_BYTES = 197 * 1024,
    DMMA_SMEM_BYTES = 128 * 1024
};

/* --- Addresses: a kernel reads and writes only memory that is there --------------------------- */

static void resolve_pair(struct xg_split_pair *pair)
{
    const int64_t bytes = sizeof(struct xg_residue_stats);
    if (pair->a_panels < 1 || pair->b_panels < 1 || pair->k < 1 || pair->k > XG_RESIDUE_DEPTH_MAX)
        fake_abort("statistics of %d and %d panels, %lld deep", pair->a_panels, pair->b_panels,
                   (long long)pair->k);
    fake_mem_resolve(&pair->a_stats, pair->a_panels * bytes, "A's counts");
    fake_mem_resolve(&pair->b_stats, pair->b_panels * bytes, "B's counts");
}

/* Resolves the planes of `rows` rows of an operand that may have more rows. */
static void resolve_planes(uint64_t *address, int64_t rows, int64_t k, int64_t plane_bytes)
{
    const int64_t row_bytes = xg_round_up(k, XG_RESIDUE_BLOCK);
    if (*address % 16 || plane_bytes % row_bytes || plane_bytes < rows * row_bytes)
        fake_abort("planes of %lld bytes for %lld rows", (long long)plane_bytes, (long long)rows);
    fake_mem_resolve(address, (XG_RESIDUE_MODULI_COUNT - 1) * plane_bytes + rows * row_bytes,
                     "residues");
}

static void resolve_expand(struct fake_launch *launch)
{
    struct xg_residue_expand_args *args = (void *)launch->parameter;
    if (args->rows < 1 || args->k < 1 || (args->row_stride != 1 && args->k_stride != 1) ||
        (args->from | args->to) % sizeof(double _Complex))
        fake_abort("expansion of %lld rows", (long long)args->rows);
    int64_t last = (args->rows - 1) * args->row_stride + (args->k - 1) * args->k_stride;
    int64_t rows = args->rows * (args->of_b ? 2 : 1);
    fake_mem_resolve(&args->from, (last + 1) * (int64_t)sizeof(double _Complex), "complex numbers");
    fake_mem_resolve(&args->to,
                     rows * XG_RESIDUE_EXPANDED_LD(2 * args->k) * (int64_t)sizeof(double),
                     "an expanded operand");
}

static void resolve_split(struct fake_launch *launch)
{
    struct xg_residue_split_args *args = (void *)launch->parameter;
    if (args->rows < 1 || args->k < 1 || (args->row_stride != 1 && args->k_stride != 1))
        fake_abort("split of %lld rows", (long long)args->rows);
    int64_t last = (args->rows - 1) * args->row_stride + (args->k - 1) * args->k_stride;
    fake_mem_resolve(&args->data, (last + 1) * (int64_t)sizeof(double), "numbers to split");
    resolve_planes(&args->residues, args->rows, args->k, args->plane_bytes);
    fake_mem_resolve(&args->exponents, args->rows * (int64_t)sizeof(int32_t), "exponents");
    fake_mem_resolve(&args->stats, sizeof(struct xg_residue_stats), "counts");
}

static int64_t results_bytes(int64_t m, int64_t n)
{
    return XG_RESIDUE_MODULI_COUNT * m * xg_round_up(n, XG_RESIDUE_QUAD);
}

/* Checks that the map describes the planes at this address. */
static void check_map(const struct xg_tensor_map *map, uint64_t address, int64_t rows, int64_t k,
                      int64_t plane_bytes)
{
    const uint64_t width = (uint64_t)xg_round_up(k, XG_RESIDUE_BLOCK);
    const struct fake_tensor_map wanted = {
        .rank = 3,
        .extents = {width, (uint64_t)rows, XG_RESIDUE_MODULI_COUNT},
        .strides = {width, (uint64_t)plane_bytes},
        .box = {BOX, BOX, 1},
        .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
        .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
    };
    if (fake_tensor_map_check(map, &wanted, "residues by wgmma") != address)
        fake_abort("a tensor map of other residues");
}

static void resolve_product(struct fake_launch *launch)
{
    struct xg_residue_product_args *args = (void *)launch->parameter;
    resolve_planes(&args->a, args->m, args->k, args->a_plane_bytes);
    resolve_planes(&args->b, args->n, args->k, args->b_plane_bytes);
    fake_mem_resolve(&args->results, results_bytes(args->m, args->n), "results");
    resolve_pair(&args->pair);
}

static void resolve_wgmma(struct fake_launch *launch)
{
    const struct xg_residue_product_args *args = (const void *)launch->parameter;
    check_map(&args->a_map, args->a, args->m, args->k, args->a_plane_bytes);
    check_map(&args->b_map, args->b, args->n, args->k, args->b_plane_bytes);
    resolve_product(launch);
}

static void resolve_combine(struct fake_launch *launch)
{
    struct xg_residue_combine_args *args = (void *)launch->parameter;
    fake_mem_resolve(&args->results, results_bytes(args->m, args->n), "results");
    fake_mem_resolve(&args->c, ((args->m - 1) * args->ldc + args->n) * (int64_t)sizeof(double),
                     "C");
    fake_mem_resolve(&args->a_exponents, args->m * (int64_t)sizeof(int32_t), "A's exponents");
    fake_mem_resolve(&args->b_exponents, args->n * (int64_t)sizeof(int32_t), "B's exponents");
    resolve_pair(&args->pair);
}

static void resolve_native(struct fake_launch *launch)
{
    struct xg_residue_native_args *args = (void *)launch->parameter;
    struct xg_dgemm_args *p = &args->product;
    const int64_t bytes = sizeof(double);
    fake_mem_resolve(&p->a, ((p->transa ? p->k : p->m) - 1) * p->lda * bytes + bytes, "A");
    fake_mem_resolve(&p->b, ((p->transb ? p->n : p->k) - 1) * p->ldb * bytes + bytes, "B");
    fake_mem_resolve(&p->c, ((p->m - 1) * p->ldc + p->n) * bytes, "C");
    resolve_pair(&args->pair);
}

/* kernels/kabi.h demands this alignment for XG_KERNEL_VEC4, and zeros too. The name of the kernel
 * has the transposes. */
static void resolve_dmma(struct fake_launch *launch)
{
    const char *name = launch->kernel->name, *transposes = strrchr(name, '_') + 1;
    const struct xg_dgemm_args *p =
        &((const struct xg_residue_native_args *)(const void *)launch->parameter)->product;
    if ((p->a | p->b | p->c) % 16 || (p->lda | p->ldb | p->ldc) % 4)
        fake_abort("%s: operands that are not aligned", name);
    if ((transposes[0] == 't') != p->transa || (transposes[1] == 't') != p->transb)
        fake_abort("%s of transposes %d and %d", name, p->transa, p->transb);
    resolve_native(launch);
}

/* --- Grids ------------------------------------------------------------------------------------ */

/* WGMMA: clusters for all tiles, or as many as the device holds. */
static int64_t blocks_of(const struct fake_launch *launch)
{
    const struct xg_residue_expand_args *expand = (const void *)launch->parameter;
    const struct xg_residue_split_args *split = (const void *)launch->parameter;
    const struct xg_residue_product_args *product = (const void *)launch->parameter;
    const struct xg_residue_combine_args *combine = (const void *)launch->parameter;
    const struct xg_residue_native_args *native = (const void *)launch->parameter;
    const int tile = launch->kernel->extent;
    const int64_t held = fake.sm_count / CLUSTER;
    int64_t clusters;
    switch ((enum kind)launch->kernel->kind) {
    case EXPAND:
        return xg_ceil_div(expand->rows, tile) *
               xg_ceil_div(XG_RESIDUE_EXPANDED_LD(2 * expand->k) / 2, tile);
    case SPLIT:
        return xg_ceil_div(split->rows, tile);
    case PRODUCT:
        return XG_RESIDUE_MODULI_COUNT * xg_ceil_div(product->m, tile) *
               xg_ceil_div(product->n, TILE_N);
    case WGMMA:
        clusters = XG_RESIDUE_MODULI_COUNT * xg_ceil_div(product->m, CLUSTER * tile) *
                   xg_ceil_div(product->n, TILE_N);
        return CLUSTER * (clusters < held ? clusters : held);
    case COMBINE:
        return xg_ceil_div(combine->m * xg_ceil_div(combine->n, XG_RESIDUE_QUAD), tile);
    default:
        return xg_ceil_div(native->product.m, tile) * xg_ceil_div(native->product.n, tile);
    }
}

static bool allows(const struct fake_launch *launch)
{
    const int kind = launch->kernel->kind;
    return launch->blocks == blocks_of(launch) &&
           launch->smem_bytes >= (kind == PRODUCT ? PRODUCT_SMEM_BYTES
                                  : kind == WGMMA ? WGMMA_SMEM_BYTES
                                  : kind == DMMA  ? DMMA_SMEM_BYTES
                                                  : 0u);
}

/* --- Results ---------------------------------------------------------------------------------- */

/* The byte of element (row, l): its double is stored in the first eight planes. */
static unsigned char *bytes_of(uint64_t residues, int64_t plane_bytes, int64_t k, int64_t row,
                               int64_t l, size_t byte)
{
    return (unsigned char *)(uintptr_t)residues + (int64_t)byte * plane_bytes +
           row * xg_round_up(k, XG_RESIDUE_BLOCK) + l;
}

static void put(const struct xg_residue_split_args *args, int64_t row, int64_t l, double x)
{
    unsigned char bytes[sizeof x];
    memcpy(bytes, &x, sizeof x);
    for (size_t i = 0; i < sizeof x; i++)
        *bytes_of(args->residues, args->plane_bytes, args->k, row, l, i) = bytes[i];
}

/* Returns the integers of an operand's rows, which have 63 bits at most (XG_RESIDUE_BITS); the
 * caller frees them. */
static int64_t *integers(uint64_t residues, int64_t plane_bytes, int64_t rows, int64_t k)
{
    int64_t *all = malloc((size_t)(rows * k) * sizeof *all);
    for (int64_t i = 0; all && i < rows * k; i++) {
        unsigned char bytes[sizeof(double)];
        double x;
        for (size_t byte = 0; byte < sizeof bytes; byte++)
            bytes[byte] = *bytes_of(residues, plane_bytes, k, i / k, i % k, byte);
        memcpy(&x, bytes, sizeof x);
        all[i] = (int64_t)x;
    }
    return all;
}

static void expand(const struct fake_launch *launch)
{
    const struct xg_residue_expand_args *args = (const void *)launch->parameter;
    const double *from = (const double *)(uintptr_t)args->from;
    const int64_t ld = XG_RESIDUE_EXPANDED_LD(2 * args->k);
    for (int64_t row = 0; row < args->rows; row++)
        for (int64_t l = 0; l < ld / 2; l++) {
            double *to = (double *)(uintptr_t)args->to + row * (args->of_b ? 2 : 1) * ld + 2 * l;
            const double *x = from + 2 * (row * args->row_stride + l * args->k_stride);
            const bool inside = l < args->k;
            const double real = inside ? x[0] : 0;
            const double imaginary = inside ? args->conjugate ? -x[1] : x[1] : 0;
            to[0] = real;
            to[1] = args->of_b ? -imaginary : imaginary;
            if (args->of_b) {
                to[ld] = imaginary;
                to[ld + 1] = real;
            }
        }
}

static void split_row(const struct xg_residue_split_args *args, int64_t row)
{
    static const int h[XG_RESIDUE_COUNTS] = {XG_RESIDUE_H0, XG_RESIDUE_H1, XG_RESIDUE_H2};
    struct xg_residue_stats *stats = (struct xg_residue_stats *)(uintptr_t)args->stats;
    const double *data = (const double *)(uintptr_t)args->data + row * args->row_stride;
    double most = 0, squares = 0;
    int exponent = 0;
    for (int64_t l = 0; l < args->k; l++) {
        const double x = data[l * args->k_stride];
        if (!isfinite(x))
            stats->not_finite = 1;
        most = fmax(most, fabs(x));
    }
    if (isfinite(most) && most > 0)
        frexp(most, &exponent);
    for (int64_t l = 0; l < args->k; l++) {
        const double x = ldexp(data[l * args->k_stride], -exponent);
        squares += x * x;
    }
    const int scale = squares > 0 && isfinite(most)
                          ? (int)floor(XG_RESIDUE_BITS - 0.5 * log2(squares)) - exponent
                          : 0;
    for (int64_t l = 0; l < args->k; l++) {
        const double x = data[l * args->k_stride];
        put(args, row, l, isfinite(x) ? rint(ldexp(x, scale)) : 0);
    }
    ((int32_t *)(uintptr_t)args->exponents)[row] = scale;
    for (int i = 0; i < XG_RESIDUE_COUNTS && most > 0; i++) {
        uint32_t small = 0;
        for (int64_t l = 0; l < args->k; l++)
            small += fabs(ldexp(data[l * args->k_stride], -exponent)) <
                     ldexp(sqrt(squares / (double)args->k), -h[i]);
        fake_raise(&stats->small_max[i], small);
    }
}

static void split(const struct fake_launch *launch)
{
    const struct xg_residue_split_args *args = (const void *)launch->parameter;
    for (int64_t row = 0; row < args->rows; row++)
        split_row(args, row);
}

static bool serves(const struct xg_split_pair *pair)
{
    const struct xg_residue_stats a =
        xg_residue_worst((const struct xg_residue_stats *)(uintptr_t)pair->a_stats, pair->a_panels);
    const struct xg_residue_stats b =
        xg_residue_worst((const struct xg_residue_stats *)(uintptr_t)pair->b_stats, pair->b_panels);
    return xg_residue_serves(&a, &b, pair->k);
}

static void multiply(const struct fake_launch *launch)
{
    const struct xg_residue_product_args *args = (const void *)launch->parameter;
    if (!serves(&args->pair))
        return;
    int64_t *a = integers(args->a, args->a_plane_bytes, args->m, args->k);
    int64_t *b = integers(args->b, args->b_plane_bytes, args->n, args->k);
    double *results = (double *)(uintptr_t)args->results;
    if (!a || !b)
        fake_abort("no memory for a product of residues");
    for (int64_t i = 0; i < args->m; i++)
        for (int64_t j = 0; j < args->n; j++) {
            __int128 sum = 0;
            for (int64_t l = 0; l < args->k; l++)
                sum += (__int128)a[i * args->k + l] * b[j * args->k + l];
            results[i * args->n + j] = (double)sum;
        }
    free(a);
    free(b);
}

static void store(const struct xg_triangle *wanted, double *c, int64_t i, int64_t j, double product,
                  double beta)
{
    if (fake_wants(wanted, XG_TYPE_D, i, j))
        *c = beta == 0 ? product : fma(beta, *c, product);
}

static void combine(const struct fake_launch *launch)
{
    const struct xg_residue_combine_args *args = (const void *)launch->parameter;
    if (!serves(&args->pair))
        return;
    const int32_t *a = (const int32_t *)(uintptr_t)args->a_exponents;
    const int32_t *b = (const int32_t *)(uintptr_t)args->b_exponents;
    const double *results = (const double *)(uintptr_t)args->results;
    for (int64_t i = 0; i < args->m; i++)
        for (int64_t j = 0; j < args->n; j++)
            store(&args->wanted, (double *)(uintptr_t)args->c + i * args->ldc + j, i, j,
                  args->alpha * ldexp(results[i * args->n + j], -(a[i] + b[j])), args->beta);
    fake_result_flip((void *)(uintptr_t)args->c, args->m, args->n, args->ldc, true);
}

static void multiply_native(const struct fake_launch *launch)
{
    const struct xg_residue_native_args *args = (const void *)launch->parameter;
    const struct xg_dgemm_args *p = &args->product;
    if (serves(&args->pair))
        return;
    const double *a = (const double *)(uintptr_t)p->a, *b = (const double *)(uintptr_t)p->b;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum = fma(a[p->transa ? l * p->lda + i : i * p->lda + l],
                          b[p->transb ? j * p->ldb + l : l * p->ldb + j], sum);
            store(&p->wanted, (double *)(uintptr_t)p->c + i * p->ldc + j, i, j, p->alpha * sum,
                  p->beta);
        }
    fake_result_flip((void *)(uintptr_t)p->c, p->m, p->n, p->ldc, true);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static const struct fake_role expand_role = {sizeof(struct xg_residue_expand_args), THREADS, allows,
                                             resolve_expand, expand},
                              split_role = {sizeof(struct xg_residue_split_args), THREADS, allows,
                                            resolve_split, split},
                              product_role = {sizeof(struct xg_residue_product_args), THREADS,
                                              allows, resolve_product, multiply},
                              wgmma_role = {sizeof(struct xg_residue_product_args), WGMMA_THREADS,
                                            allows, resolve_wgmma, multiply},
                              combine_role = {sizeof(struct xg_residue_combine_args), THREADS,
                                              allows, resolve_combine, combine},
                              native_role = {sizeof(struct xg_residue_native_args), THREADS, allows,
                                             resolve_native, multiply_native},
                              dmma_role = {sizeof(struct xg_residue_native_args), THREADS, allows,
                                           resolve_dmma, multiply_native};

/* extent: rows or threads of a tile. */
const struct fake_kernel fake_residue_kernels[] = {
    {"xg_residue_expand_sm80", &expand_role, EXPAND, XG_RESIDUE_EXPAND_SIDE},
    {"xg_residue_split_sm80", &split_role, SPLIT, 16},
    {"xg_residue_product_sm80_128x256x64", &product_role, PRODUCT, 128},
    {"xg_residue_product_sm90_128x256x128", &wgmma_role, WGMMA, 128},
    {"xg_residue_combine_sm80", &combine_role, COMBINE, THREADS},
    {"xg_residue_native_sm80", &native_role, NATIVE, 32},
    {"xg_residue_dmma_sm80_128x128x16_nn", &dmma_role, DMMA, 128},
    {"xg_residue_dmma_sm80_128x128x16_nt", &dmma_role, DMMA, 128},
    {"xg_residue_dmma_sm80_128x128x16_tn", &dmma_role, DMMA, 128},
    {"xg_residue_dmma_sm80_128x128x16_tt", &dmma_role, DMMA, 128},
    {0},
};
