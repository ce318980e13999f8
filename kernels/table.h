/* SPDX-License-Identifier: MIT */
/* The table of kernels as data: name, entry points, tile, constraints. Selection uses only this
 * table. */
#ifndef XG_TABLE_H
#define XG_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    XG_KERNEL_PER_TRANS = 1 << 0, /* four entries: <entry>_nn, _nt, _tn, _tt (A's transpose
                                   * first) */
    XG_KERNEL_VEC4 = 1 << 1,      /* 16-byte alignment, multiples of 4, zero padding: see kabi.h */
    XG_KERNEL_ONE_BLOCK = 1 << 2, /* one block computes all of C: m <= bm, n <= bn, k <= bk */
    XG_KERNEL_CUBLAS = 1 << 3,    /* cuBLAS, opened with dlopen; entry is NULL */
    XG_KERNEL_VECTOR = 1 << 4,    /* m is 1 where bm is 1, n is 1 where bn is 1 */
    XG_KERNEL_SPLIT = 1 << 5,     /* k may be distributed over the blocks of a cluster: kabi.h */
    /* Operands are split into 16-bit pieces first, and their numbers decide which of several
     * kernels multiplies them (src/compute/split.h). entry is NULL; efficiency is that of the
     * product without the split. */
    XG_KERNEL_PIECES = 1 << 6,
    XG_KERNEL_TF32 = 1 << 7,     /* factors are rounded to 11 bits: only XG_MATH_TF32 admits it */
    XG_KERNEL_ONE_STEP = 1 << 8, /* k <= bk */
    XG_KERNEL_SCALAR = 1 << 9,   /* operands are copied float by float, with any alignment */
    XG_KERNEL_WGMMA = 1 << 10,   /* code of sm_90a, which runs on compute capability 9.0 alone */
    /* Doubles are scaled to integers, of which residues are multiplied (src/compute/residue.h).
     * entry is NULL. */
    XG_KERNEL_RESIDUES = 1 << 11,
    XG_KERNEL_NAMED = 1 << 12, /* used only if it is named (NOTES.md says why) */
};

/* A value of xg_kernel.type. */
enum { XG_KERNEL_TYPE_D = 1 };

/* The image that nvcc made of one .cu file, with the file's name without suffix:
 * "sgemm_tiled_sm75". */
struct xg_image {
    const char *name;
};

/* A fatbin in memory for all configured architectures, valid until the process ends. */
struct xg_fatbin {
    const void *begin;
    size_t bytes; /* 0: a build without CUDA, or a program without the library beside it */
};

struct xg_kernel {
    const char *name;             /* the name for XGEMM_KERNEL and the benchmark: "vectorized" */
    const char *entry;            /* extern "C" name: "xg_sgemm_vectorized_sm75_128x128x8" */
    const struct xg_image *image; /* the image with the entry; NULL if entry is */
    int sm_min;                   /* lowest compute capability, 10 * major + minor */
    int bm, bn, bk;               /* a block's tile of C (rows, columns) and its step along k */
    int threads_x, threads_y;
    int smem_bytes; /* dynamic shared memory; above 48 KiB the launcher raises the limit */
    int blocks;     /* blocks that an SM holds at once; 0: as registers and warps allow */
    int type;   /* enum xg_type of its numbers: 0 (S) or XG_KERNEL_TYPE_D; cuBLAS supports all */
    int groups; /* groups of warps that divide k within a block; 0 or 1: none */
    unsigned flags;
    /* Fraction of the device's peak (FFMA for FP32, tensor cores for FP64) that a full SM reaches
     * on sm_90 (products of pieces by mma.sync: of a third of the FP16 rate, and of residues: of a
     * 16th of the INT8 rate; generation.h), in selection's model (src/decide/select.c). The model
     * adds the costs of blocks, memory, slices and too few warps. It overestimates the last for
     * FP64's tensor cores, which 8 warps keep busy, so the fraction may exceed 1. */
    double efficiency;
};

/*
 * Grid: one block per tile of C, gridDim.x = ceil(m / bm) * ceil(n / bn), times the slices of k
 * (XG_KERNEL_SPLIT); y and z are 1. A block derives its tile from blockIdx.x (tile row = blockIdx.x
 * / tiles_n, or another order). Blocks whose tile has no wanted element (kabi.h) may end at once.
 */

/* The rows, in the order of the ladder. Selection finds them by name or by constraint, never by
 * index. */
extern const struct xg_kernel xg_kernel_table[];
extern const size_t xg_kernel_count;

/* The images, so that a loader can keep one module per image. xg_kernel_table[i].image points here.
 */
extern const struct xg_image xg_image_table[];
extern const size_t xg_image_count;

/* The fatbin of an image: embedded (embedded.c), or, in programs beside the library, read from the
 * library's file (tools/library.c). */
struct xg_fatbin xg_image_fatbin(const struct xg_image *image);

#endif
