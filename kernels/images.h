/* SPDX-License-Identifier: MIT */
/* The list of device-code images: the only place that names the .cu files of these folders. */
#ifndef XG_IMAGES_H
#define XG_IMAGES_H

#define XG_IMAGES_NAME_BYTES 48 /* size of a name in the index of images.S */

/*
 * X(folder, name): kernels/folder/name.cu, compiled to folder/name.fatbin and embedded by images.S
 * between the symbols xg_image_name and xg_image_name_end. To add a .cu file, add its line here:
 * the Makefile reads the names from this list (one X(...) a line); images.S, embedded.c and table.c
 * expand it.
 */
#define XG_IMAGES(X)                                                                               \
    X(ladder, sgemm_element_sm75)                                                                  \
    X(ladder, sgemm_single_block_sm75)                                                             \
    X(ladder, sgemm_tiled_sm75)                                                                    \
    X(ladder, sgemm_coarse_sm75)                                                                   \
    X(ladder, sgemm_vectorized_sm75)                                                               \
    X(fp32, sgemm_pipelined_sm80)                                                                  \
    X(fp32, sgemm_pipelined_scalar_sm80)                                                           \
    X(fp32, sgemm_outer_sm80)                                                                      \
    X(emulated, sgemm_fp16x3_sm90)                                                                 \
    X(emulated, sgemm_bf16x6_sm90)                                                                 \
    X(emulated, sgemm_fp16x3_sm80)                                                                 \
    X(emulated, sgemm_bf16x6_sm80)                                                                 \
    X(emulated, residue_expand_sm80)                                                               \
    X(emulated, residue_split_sm80)                                                                \
    X(emulated, dgemm_residue_sm80)                                                                \
    X(emulated, dgemm_residue_sm90)                                                                \
    X(emulated, residue_dmma_sm80)                                                                 \
    X(emulated, split_ffma_sm80)                                                                   \
    X(emulated, split_sm80)                                                                        \
    X(fp32, sgemm_gemv_sm75)                                                                       \
    X(fp32, sgemm_dot_sm75)                                                                        \
    X(fp32, sgemm_splitk_sm80)                                                                     \
    X(fp32, sgemm_deep_sm80)                                                                       \
    X(fp32, sgemm_deep_scalar_sm80)                                                                \
    X(fp32, sgemm_skinny_sm80)                                                                     \
    X(fp64, dgemm_dmma_sm80)                                                                       \
    X(lapack, lu_panel_sm90)                                                                       \
    X(lapack, lu_apply_sm90)                                                                       \
    X(lapack, qr_panel_sm90)                                                                       \
    X(lapack, qr_apply_sm90)                                                                       \
    X(lapack, mirror_sm75)                                                                         \
    X(lapack, cast_sm75)

#endif
