/* SPDX-License-Identifier: MIT */
/* The list of device-code images: the one place that names the .cu files of this folder. */
#ifndef XG_IMAGES_H
#define XG_IMAGES_H

/*
 * X(name): kernels/name.cu, compiled to name.fatbin and embedded by images.S between the symbols
 * xg_image_name and xg_image_name_end. To add a .cu file, add its line here: the Makefile reads the
 * names from this list (one X(...) a line), images.S and table.c expand it.
 */
#define XG_IMAGES(X)                                                                               \
    X(sgemm_element_sm75)                                                                          \
    X(sgemm_single_block_sm75)                                                                     \
    X(sgemm_tiled_sm75)                                                                            \
    X(sgemm_coarse_sm75)                                                                           \
    X(sgemm_vectorized_sm75)                                                                       \
    X(sgemm_pipelined_sm80)                                                                        \
    X(sgemm_pipelined_scalar_sm80)                                                                 \
    X(sgemm_repacked_sm80)                                                                         \
    X(sgemm_outer_sm80)                                                                            \
    X(sgemm_fp16x3_sm90)                                                                           \
    X(sgemm_bf16x6_sm90)                                                                           \
    X(split_ffma_sm90)                                                                             \
    X(split_sm90)                                                                                  \
    X(sgemm_gemv_sm75)                                                                             \
    X(sgemm_dot_sm75)                                                                              \
    X(sgemm_slices_sm75)                                                                           \
    X(sgemm_repack_sm75)                                                                           \
    X(sgemm_splitk_sm80)                                                                           \
    X(sgemm_deep_sm80)                                                                             \
    X(sgemm_deep_scalar_sm80)                                                                      \
    X(sgemm_share_sm80)                                                                            \
    X(sgemm_share_scalar_sm80)                                                                     \
    X(sgemm_skinny_sm80)                                                                           \
    X(dgemm_dmma_sm80)

#endif
