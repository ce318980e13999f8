/* SPDX-License-Identifier: MIT */
/*
 * Embeds the fatbins of images.h; without CUDA every image is empty. Assembled in the build folder.
 *
 * They are in a separate section with an index at its start, so that programs beside the library
 * read them from its file (tools/library.c) and need no copy. The index has the version, and for each
 * image its name, its offset in the section, and its bytes.
 */
#include "images.h"

#define XG_STRING(text) #text
#ifdef XG_CUDA
#define XG_INCBIN(folder, name) .incbin XG_STRING(kernels/folder/name.fatbin)
#else
#define XG_INCBIN(folder, name)
#endif

#define XG_ENTRY(folder, name)                                                                     \
    1: .asciz XG_STRING(name);                                                                     \
    .org 1b + XG_IMAGES_NAME_BYTES;                                                                \
    .quad xg_image_##name - xg_images_begin;                                                       \
    .quad xg_image_##name##_end - xg_image_##name;

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

    .section xg_images, "a", %progbits
    .balign 64
xg_images_begin:
    .asciz PACKAGE_VERSION
    .org xg_images_begin + XG_IMAGES_NAME_BYTES
XG_IMAGES(XG_ENTRY)
XG_IMAGES(XG_IMAGE)

    .section .note.GNU-stack, "", %progbits
