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

/* What every row of ours has in common. */
#define OURS(method, tile, file)                                                                   \
    .entry = "xg_sgemm_" method "_sm75_" tile,                                                     \
    .image = &xg_image_table[IMAGE_sgemm_##file##_sm75], .sm_min = 75

const struct xg_kernel xg_kernel_table[] = {
    {.name = "uncoalesced",
     OURS("uncoalesced", "32x32x1", element),
     .bm = 32,
     .bn = 32,
     .bk = 1,
     .threads_x = 32,
     .threads_y = 32,
     .efficiency = 0.0075},
    {.name = "coalesced",
     OURS("coalesced", "32x32x1", element),
     .bm = 32,
     .bn = 32,
     .bk = 1,
     .threads_x = 32,
     .threads_y = 32,
     .efficiency = 0.09},
    {.name = "single_block",
     OURS("single_block", "64x64x64", single_block),
     .bm = 64,
     .bn = 64,
     .bk = 64,
     .threads_x = 1024,
     .threads_y = 1,
     .flags = XG_KERNEL_ONE_BLOCK,
     .efficiency = 0.2},
    {.name = "tiled",
     OURS("tiled", "32x32x32", tiled),
     .bm = 32,
     .bn = 32,
     .bk = 32,
     .threads_x = 32,
     .threads_y = 32,
     .efficiency = 0.1},
    {.name = "corner_turn",
     OURS("corner_turn", "32x32x32", tiled),
     .bm = 32,
     .bn = 32,
     .bk = 32,
     .threads_x = 32,
     .threads_y = 32,
     .efficiency = 0.1},
    {.name = "coarse_1d",
     OURS("coarse_1d", "64x64x8", coarse),
     .bm = 64,
     .bn = 64,
     .bk = 8,
     .threads_x = 512,
     .threads_y = 1,
     .efficiency = 0.18},
    {.name = "coarse_2d",
     OURS("coarse_2d", "128x128x8", coarse),
     .bm = 128,
     .bn = 128,
     .bk = 8,
     .threads_x = 256,
     .threads_y = 1,
     .efficiency = 0.4},
    {.name = "vectorized",
     OURS("vectorized", "128x128x8", vectorized),
     .bm = 128,
     .bn = 128,
     .bk = 8,
     .threads_x = 256,
     .threads_y = 1,
     .flags = XG_KERNEL_PER_TRANS | XG_KERNEL_VEC4,
     .efficiency = 0.68},
    {.name = "vectorized_128x256",
     OURS("vectorized", "128x256x8", vectorized),
     .bm = 128,
     .bn = 256,
     .bk = 8,
     .threads_x = 256,
     .threads_y = 1,
     .flags = XG_KERNEL_PER_TRANS | XG_KERNEL_VEC4,
     .efficiency = 0.7},
    {.name = "vectorized_64x64",
     OURS("vectorized", "64x64x16", vectorized),
     .bm = 64,
     .bn = 64,
     .bk = 16,
     .threads_x = 128,
     .threads_y = 1,
     .flags = XG_KERNEL_PER_TRANS | XG_KERNEL_VEC4,
     .efficiency = 0.55},
    {.name = "vectorized_32x32",
     OURS("vectorized", "32x32x16", vectorized),
     .bm = 32,
     .bn = 32,
     .bk = 16,
     .threads_x = 64,
     .threads_y = 1,
     .flags = XG_KERNEL_PER_TRANS | XG_KERNEL_VEC4,
     .efficiency = 0.35},
    {.name = "cublas", .flags = XG_KERNEL_CUBLAS, .efficiency = 0.76},
};
const size_t xg_kernel_count = sizeof xg_kernel_table / sizeof xg_kernel_table[0];
