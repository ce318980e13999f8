/* SPDX-License-Identifier: MIT */
/* The table of kernels as data: name, entry points, tile, constraints. Selection reads nothing
 * else. */
#ifndef XG_TABLE_H
#define XG_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    XG_KERNEL_PER_TRANS = 1 << 0, /* four entries: <entry>_nn, _nt, _tn, _tt (A's letter first) */
    XG_KERNEL_VEC4 = 1 << 1,      /* 16-byte alignment, multiples of 4, zero padding: see kabi.h */
    XG_KERNEL_ONE_BLOCK = 1 << 2, /* one block computes all of C: m <= bm, n <= bn, k <= bk */
    XG_KERNEL_CUBLAS = 1 << 3, /* not ours: cublasSgemm from the dlopened library; entry is NULL */
    XG_KERNEL_VECTOR = 1 << 4, /* m is 1 where bm is 1, n is 1 where bn is 1 */
    XG_KERNEL_SPLIT = 1 << 5,  /* k may be shared out among blocks: kabi.h */
    XG_KERNEL_SLICES = 1 << 6, /* no product: adds what slices of k left in the scratch */
    /* Operands are split into 16-bit pieces first, and what they hold decides what multiplies them:
     * several kernels (src/compute/split.h); entry is NULL, and efficiency that of the product
     * alone. */
    XG_KERNEL_PIECES = 1 << 7,
    XG_KERNEL_TF32 = 1 << 8,      /* factors are rounded to 11 bits: XG_MATH_TF32 alone admits it */
    XG_KERNEL_REPACKED = 1 << 9,  /* operands are copied first where need be: kabi.h */
    XG_KERNEL_COPIES = 1 << 10,   /* no product: makes those copies */
    XG_KERNEL_ONE_STEP = 1 << 11, /* k <= bk */
    XG_KERNEL_SHARE = 1 << 12, /* blocks take even shares of all steps of k of all tiles: kabi.h */
    XG_KERNEL_SCALAR =
        1 << 13, /* operands are copied a float at a time, whatever their alignment */
};

/* Of xg_kernel.type. */
enum { XG_KERNEL_TYPE_D = 1 };

/* What nvcc made of one .cu file, by the file's name without its suffix: "sgemm_tiled_sm75". */
struct xg_image {
    const char *name;
};

/* A fatbin in memory, for every architecture configured, for as long as the process lives. */
struct xg_fatbin {
    const void *begin;
    size_t bytes; /* 0: a build without CUDA, or of a program, no library beside it */
};

struct xg_kernel {
    const char *name;             /* what XGEMM_KERNEL and the benchmark call it: "vectorized" */
    const char *entry;            /* extern "C" name: "xg_sgemm_vectorized_sm75_128x128x16" */
    const struct xg_image *image; /* where the entry lives; NULL for XG_KERNEL_CUBLAS */
    int sm_min;                   /* least compute capability, 10 * major + minor */
    int bm, bn, bk; /* tile of C a block computes (rows, columns), and its step along k */
    int threads_x, threads_y;
    int smem_bytes; /* dynamic shared memory; above 48 KiB the launcher raises the limit */
    int blocks;     /* how many an SM holds at a time; 0: as its registers and warps allow */
    int type; /* enum xg_type of its numbers: 0, which is S, or XG_KERNEL_TYPE_D; cuBLAS has all */
    int groups; /* of warps that share out k within a block; 0 or 1: none */
    unsigned flags;
    /* Fraction of the device's peak (of FP32's FFMA, of FP64's tensor cores) that a full SM reaches
     * on sm_90, as selection's model has it (src/decide/select.c), which adds what blocks, memory
     * and slices cost, and what too few warps do: in excess for FP64's tensor cores, which 8 warps
     * keep busy, so that it may be above 1. 0: not measured; the row serves where it is named, and
     * is never selected. */
    double efficiency;
};

/*
 * Grid: one block a tile of C, gridDim.x = ceil(m / bm) * ceil(n / bn), times the slices
 * of k (XG_KERNEL_SPLIT), or as many blocks as share the work (XG_KERNEL_SHARE); y and z are 1; a
 * block finds its tile from blockIdx.x (tile row = blockIdx.x / tiles_n, or any order that the
 * kernel likes). Blocks whose tile holds nothing that is wanted (kabi.h) may end at once.
 */

/* The rows, in the order of the ladder. Selection finds them by name or by constraint, never by
 * index. */
extern const struct xg_kernel xg_kernel_table[];
extern const size_t xg_kernel_count;

/* The images, so that a loader can keep one module an image. xg_kernel_table[i].image points here.
 */
extern const struct xg_image xg_image_table[];
extern const size_t xg_image_count;

/* That of xg_image_table: embedded (embedded.c), or the library's, of the programs that stand
 * beside it (tools/images.c). */
struct xg_fatbin xg_image_fatbin(const struct xg_image *image);

#endif
