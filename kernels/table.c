/* SPDX-License-Identifier: MIT */
/* All kernels: one row each, in the order of the ladder. */
#include "table.h"

#include "images.h"
#include "tiles.h"

#define XG_INDEX(folder, name) IMAGE_##name,
enum { XG_IMAGES(XG_INDEX) IMAGE_COUNT };

#define XG_ROW(folder, name) {#name},
const struct xg_image xg_image_table[] = {XG_IMAGES(XG_ROW)};
const size_t xg_image_count = IMAGE_COUNT;

/* The fields of every kernel of this library; file: the .cu file without its suffix, see
 * images.h. */
#define ENTRY(row, prefix, method, file, sm, m, n, k)                                              \
    .name = row, .entry = prefix #method "_sm" #sm "_" #m "x" #n "x" #k,                           \
    .image = &xg_image_table[IMAGE_##file##_sm##sm], .sm_min = sm, .bm = m, .bn = n, .bk = k

/* The same for a tile in tiles.h. */
#define LISTED(row, prefix, method, file, sm, m, n, k)                                             \
    ENTRY(row, prefix, method, file, sm, m, n, k),                                                 \
        .threads_y = 1, .threads_x = XG_TILES_NAME(method, m, n, k, THREADS)
#define STAGES(method, m, n, k) XG_TILES_NAME(method, m, n, k, STAGES)
#define GROUPS(method, m, n, k) XG_TILES_NAME(method, m, n, k, GROUPS)

/* A rung of the ladder with one tile; file: sgemm_<file>_sm75.cu. */
#define ROW(row, method, file, m, n, k, x, y, per_sm, flag_bits, fraction)                         \
    {                                                                                              \
        ENTRY(row, "xg_sgemm_", method, sgemm_##file, 75, m, n, k),                                \
            .threads_x = x, .threads_y = y, .blocks = per_sm, .flags = flag_bits,                  \
            .efficiency = fraction                                                                 \
    }

/* Operands pass through registers into static shared memory. */
#define VECTORIZED(row, m, n, k, per_sm, fraction)                                                 \
    {                                                                                              \
        LISTED(row, "xg_sgemm_", vectorized, sgemm_vectorized, 75, m, n, k),                       \
            .blocks = per_sm, .flags = VEC4, .efficiency = fraction                                \
    }

/* A row for products with a vector: m or n results per block; all transposes share one entry. */
#define VECTOR(row, method, m, n, k, per_sm, fraction)                                             \
    {                                                                                              \
        LISTED(row, "xg_sgemm_", method, sgemm_##method, 75, m, n, k),                             \
            .blocks = per_sm, .flags = XG_KERNEL_VECTOR | XG_KERNEL_SPLIT, .efficiency = fraction  \
    }

/* A row on sliced.cuh; file: sgemm_<method>_sm80.cu. */
#define SLICED(row, method, m, n, k, per_sm, fraction)                                             \
    {                                                                                              \
        LISTED(row, "xg_sgemm_", method, sgemm_##method, 80, m, n, k),                             \
            .blocks = per_sm, .groups = GROUPS(method, m, n, k),                                   \
            .smem_bytes =                                                                          \
                XG_TILES_SLICED_BYTES(m, n, k, STAGES(method, m, n, k), GROUPS(method, m, n, k)),  \
            .flags = XG_KERNEL_PER_TRANS | XG_KERNEL_SPLIT, .efficiency = fraction                 \
    }

/* A row on pipeline.cuh; file: sgemm_<method>_sm80.cu. */
#define ASYNC(row, method, m, n, k, per_sm, flag_bits, fraction)                                   \
    {                                                                                              \
        LISTED(row, "xg_sgemm_", method, sgemm_##method, 80, m, n, k),                             \
            .blocks = per_sm,                                                                      \
            .smem_bytes = XG_TILES_PIPELINE_BYTES(m, n, k, STAGES(method, m, n, k)),               \
            .flags = flag_bits, .efficiency = fraction                                             \
    }

/* A row for a short k. */
#define OUTER(row, m, n, k, per_sm, fraction)                                                      \
    {                                                                                              \
        LISTED(row, "xg_sgemm_", outer, sgemm_outer, 80, m, n, k),                                 \
            .blocks = per_sm, .flags = XG_KERNEL_PER_TRANS | XG_KERNEL_ONE_STEP,                   \
            .efficiency = fraction                                                                 \
    }

/* A row on FP64 tensor cores. */
#define DMMA(row, method, m, n, k, per_sm, flag_bits, fraction)                                    \
    {                                                                                              \
        LISTED(row, "xg_dgemm_", method, dgemm_dmma, 80, m, n, k),                                 \
            .blocks = per_sm, .type = XG_KERNEL_TYPE_D,                                            \
            .smem_bytes = XG_TILES_DMMA_BYTES(m, n, k, STAGES(method, m, n, k)),                   \
            .flags = flag_bits, .efficiency = fraction                                             \
    }

/* Products of pieces or residues. The entries are those of src/compute/split.c and residue.c; the
 * tile of wgmma is that of a cluster. */
#define EMULATED(row, letter, sm, m, n, k, x, flag_bits, fraction)                                 \
    {                                                                                              \
        .name = row, .type = letter, .sm_min = sm, .bm = m, .bn = n, .bk = k, .threads_x = x,      \
        .threads_y = 1, .flags = flag_bits, .efficiency = fraction                                 \
    }

enum {
    ONE_BLOCK = XG_KERNEL_ONE_BLOCK,
    VEC4 = XG_KERNEL_VEC4 | XG_KERNEL_PER_TRANS,
    DEEP = VEC4 | XG_KERNEL_SPLIT,
    SCALAR = XG_KERNEL_PER_TRANS | XG_KERNEL_SCALAR,
    PIECES = XG_KERNEL_PIECES,
    RESIDUES = XG_KERNEL_RESIDUES,
    NAMED = XG_KERNEL_NAMED
};

const struct xg_kernel xg_kernel_table[] = {
    /* clang-format off: columns */
    /*  name                  method        file          bm   bn  bk     x   y blocks flags
       efficiency */
    ROW("uncoalesced", uncoalesced, element, 32, 32, 1, 32, 32, 0, 0, 0.0075),
    ROW("coalesced", coalesced, element, 32, 32, 1, 32, 32, 0, 0, 0.085),
    ROW("single_block", single_block, single_block, 64, 64, 64, 1024, 1, 0, ONE_BLOCK, 0.2),
    ROW("tiled", tiled, tiled, 32, 32, 32, 32, 32, 0, 0, 0.097),
    ROW("corner_turn", corner_turn, tiled, 32, 32, 32, 32, 32, 0, 0, 0.096),
    ROW("coarse_1d", coarse_1d, coarse, 64, 64, 8, 512, 1, 0, 0, 0.19),
    ROW("coarse_2d", coarse_2d, coarse, 128, 128, 8, 256, 1, 0, 0, 0.45),
    VECTORIZED("vectorized", 128, 128, 8, 2, 0.76),
    VECTORIZED("vectorized_64x64", 64, 64, 16, 4, 0.655),
    VECTORIZED("vectorized_32x32", 32, 32, 16, 8, 0.37),
    /*    name               method     bm   bn  bk blocks flags efficiency */
    ASYNC("pipelined", pipelined, 128, 128, 16, 2, VEC4, 0.88),
    ASYNC("pipelined_64x128", pipelined, 64, 128, 16, 3, VEC4, 0.80),
    ASYNC("pipelined_64x64", pipelined, 64, 64, 16, 4, VEC4, 0.66),
    ASYNC("pipelined_scalar", pipelined_scalar, 128, 128, 16, 2, SCALAR, 0.73),
    ASYNC("pipelined_scalar_64x64", pipelined_scalar, 64, 64, 16, 4, SCALAR, 0.60),
    OUTER("outer", 128, 128, 16, 4, 0.9),
    OUTER("outer_64x128", 64, 128, 16, 3, 0.9),
    EMULATED("fp16x3", 0, 90, 256, 192, 32, 384, PIECES | XG_KERNEL_WGMMA, 3.2),
    EMULATED("fp16x3_mma", 0, 80, 128, 192, 32, 256, PIECES | NAMED, 0.6),
    /*     name        method bm  bn  bk blocks efficiency */
    VECTOR("gemv_1x128", gemv, 1, 128, 4, 3, 0.035),
    VECTOR("gemv_1x32", gemv, 1, 32, 4, 4, 0.043),
    VECTOR("gemv_128x1", gemv, 128, 1, 4, 3, 0.035),
    VECTOR("gemv_32x1", gemv, 32, 1, 4, 4, 0.043),
    VECTOR("dot_4x1", dot, 4, 1, 2048, 1, 0.05),
    VECTOR("dot_1x4", dot, 1, 4, 2048, 1, 0.05),
    /*     name              method   bm   bn  bk blocks efficiency */
    SLICED("skinny_8x128", skinny, 8, 128, 32, 4, 0.26),
    SLICED("skinny_128x8", skinny, 128, 8, 32, 4, 0.26),
    SLICED("skinny_16x128", skinny, 16, 128, 32, 3, 0.41),
    SLICED("skinny_128x16", skinny, 128, 16, 32, 3, 0.38),
    SLICED("splitk_32x32", splitk, 32, 32, 32, 5, 0.44),
    SLICED("splitk_32x64", splitk, 32, 64, 32, 4, 0.51),
    SLICED("splitk_64x32", splitk, 64, 32, 32, 4, 0.49),
    SLICED("splitk_32x64x64", splitk, 32, 64, 64, 2, 0.44),
    SLICED("splitk_64x64", splitk, 64, 64, 16, 4, 0.555),
    SLICED("splitk_64x64x32", splitk, 64, 64, 32, 2, 0.525),
    SLICED("splitk_64x128", splitk, 64, 128, 16, 4, 0.62),
    SLICED("splitk_128x64", splitk, 128, 64, 16, 4, 0.62),
    SLICED("splitk", splitk, 128, 128, 16, 2, 0.685),
    /*    name        method  bm   bn  bk blocks flags efficiency */
    ASYNC("deep", deep, 128, 128, 16, 1, DEEP, 0.81),
    ASYNC("deep_256x64", deep, 256, 64, 16, 1, DEEP, 0.81),
    ASYNC("deep_64x256", deep, 64, 256, 16, 1, DEEP, 0.81),
    ASYNC("deep_256x32", deep, 256, 32, 16, 3, DEEP, 0.53),
    ASYNC("deep_32x256", deep, 32, 256, 16, 3, DEEP, 0.53),
    ASYNC("deep_scalar", deep_scalar, 128, 128, 16, 1, SCALAR | XG_KERNEL_SPLIT, 0.71),
    /*   name                     method     bm   bn  bk blocks flags efficiency */
    DMMA("dmma_128x128x16", dmma, 128, 128, 16, 1, VEC4, 1.056),
    DMMA("dmma_split_128x128x16", dmma_split, 128, 128, 16, 1, DEEP, 1.01),
    DMMA("dmma_split_64x64x16", dmma_split, 64, 64, 16, 3, DEEP, 1.13),
    EMULATED("ozaki2", XG_KERNEL_TYPE_D, 90, 256, 256, 128, 384, RESIDUES | XG_KERNEL_WGMMA | NAMED,
             1.09),
    EMULATED("ozaki2_mma", XG_KERNEL_TYPE_D, 80, 128, 256, 64, 256, RESIDUES, 0.45),
    {.name = "cublas", .flags = XG_KERNEL_CUBLAS, .efficiency = 0.76},
    {.name = "cublas_tf32", .flags = XG_KERNEL_CUBLAS | XG_KERNEL_TF32, .efficiency = 6.0},
    /* clang-format on */
};
const size_t xg_kernel_count = sizeof xg_kernel_table / sizeof xg_kernel_table[0];
