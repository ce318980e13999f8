/* SPDX-License-Identifier: MIT */
/* Embeds the fatbins of images.h; without CUDA every image is empty. Assembled in the build folder. */
#include "images.h"

#define XG_STRING(text) #text
#ifdef XG_CUDA
#define XG_INCBIN(folder, name) .incbin XG_STRING(kernels/folder/name.fatbin)
#else
#define XG_INCBIN(folder, name)
#endif

#define XG_IMAGE(folder, name)                                                                     \
    .balign 64;                                                                                    \
    .globl xg_image_##name;                                                                        \
    .hidden xg_image_##name;                                                                       \
    .type xg_image_##name, %object;                                                                \
    xg_image_##name:                                                                               \
    XG_INCBIN(folder, name);                                                                       \
    .size xg_image_##name, . - xg_image_##name;                                                    \
    .globl xg_image_##name##_end;                                                                  \
    .hidden xg_image_##name##_end;                                                                 \
    .type xg_image_##name##_end, %object;                                                          \
    xg_image_##name##_end:                                                                         \
    .byte 0;

    .section .rodata.xg_images, "a", %progbits
XG_IMAGES(XG_IMAGE)

    .section .note.GNU-stack, "", %progbits
