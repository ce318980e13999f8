/* SPDX-License-Identifier: MIT */
/* The kernels that there are: a row each, in the order of the ladder. */
#include "table.h"

#include "images.h"

/* The symbols that images.S defines: one pair an image. */
#define XG_DECLARE(name) extern const unsigned char xg_image_##name[], xg_image_##name##_end[];
XG_IMAGES(XG_DECLARE)

#define XG_INDEX(name) IMAGE_##name,
enum { XG_IMAGES(XG_INDEX) IMAGE_COUNT };

#define XG_ROW(name) {#name, xg_image_##name, xg_image_##name##_end},
const struct xg_image xg_image_table[] = {XG_IMAGES(XG_ROW)};
const size_t xg_image_count = IMAGE_COUNT;

/* A row of ours; the tile is in the entry's name. file: sgemm_<file>_sm75.cu, see images.h. */
#define ROW(row, method, file, m, n, k, x, y, flag_bits, fraction)                                 \
    {                                                                                              \
        .name = row, .entry = "xg_sgemm_" #method "_sm75_" #m "x" #n "x" #k,                       \
        .image = &xg_image_table[IMAGE_sgemm_##file##_sm75], .sm_min = 75, .bm = m, .bn = n,       \
        .bk = k, .threads_x = x, .threads_y = y, .flags = flag_bits, .efficiency = fraction        \
    }

/* Products of pieces: the tile of a cluster. */
#define PIECES(row, fraction)                                                                      \
    {                                                                                              \
        .name = row, .sm_min = 90, .bm = 256, .bn = 192, .bk = 64, .threads_x = 384,               \
        .threads_y = 1, .flags = XG_KERNEL_PIECES, .efficiency = fraction                          \
    }

enum { ONE_BLOCK = XG_KERNEL_ONE_BLOCK, VEC4 = XG_KERNEL_VEC4 | XG_KERNEL_PER_TRANS };

const struct xg_kernel xg_kernel_table[] = {
    /* clang-format off: columns */
    /*  name                  method        file          bm   bn  bk     x   y  flags efficiency */
    ROW("uncoalesced", uncoalesced, element, 32, 32, 1, 32, 32, 0, 0.0075),
    ROW("coalesced", coalesced, element, 32, 32, 1, 32, 32, 0, 0.085),
    ROW("single_block", single_block, single_block, 64, 64, 64, 1024, 1, ONE_BLOCK, 0.2),
    ROW("tiled", tiled, tiled, 32, 32, 32, 32, 32, 0, 0.097),
    ROW("corner_turn", corner_turn, tiled, 32, 32, 32, 32, 32, 0, 0.096),
    ROW("coarse_1d", coarse_1d, coarse, 64, 64, 8, 512, 1, 0, 0.19),
    ROW("coarse_2d", coarse_2d, coarse, 128, 128, 8, 256, 1, 0, 0.45),
    ROW("vectorized", vectorized, vectorized, 128, 128, 8, 256, 1, VEC4, 0.71),
    ROW("vectorized_64x64", vectorized, vectorized, 64, 64, 16, 128, 1, VEC4, 0.64),
    ROW("vectorized_32x32", vectorized, vectorized, 32, 32, 16, 64, 1, VEC4, 0.48),
    PIECES("fp16x3", 2.95),
    PIECES("bf16x6", 1.6),
    {.name = "cublas", .flags = XG_KERNEL_CUBLAS, .efficiency = 0.76},
    {.name = "cublas_tf32", .flags = XG_KERNEL_CUBLAS | XG_KERNEL_TF32, .efficiency = 6.0},
    /* clang-format on */
};
const size_t xg_kernel_count = sizeof xg_kernel_table / sizeof xg_kernel_table[0];
