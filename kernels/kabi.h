/* SPDX-License-Identifier: MIT */
/* The kernel ABI: the parameter structs that host code (C11) and device code (CUDA) share. */
#ifndef XG_KABI_H
#define XG_KABI_H

#include <stdint.h>

/*
 * The elements of C that are wanted: all of them, or, where C is a tile of a matrix of which BLAS
 * stores a triangle, those (i,j) of the tile with j - i >= diagonal (the upper one) or
 * j - i <= diagonal (the lower one). Of a launch the others may be computed too, or be left as they
 * are: a block whose tile has none that are wanted may end at once, and all of its cluster with it.
 * So nobody may read them: one slice of k may have been added and another not, and where beta is
 * not 0 it was added to whatever was there. All zeros: all of C.
 */
struct xg_triangle {
    int64_t diagonal;
    int32_t kind; /* XG_TRIANGLE_ALL and so on */
};

enum { XG_TRIANGLE_ALL, XG_TRIANGLE_UPPER, XG_TRIANGLE_LOWER };

static inline int xg_triangle_wants(const struct xg_triangle *wanted, int64_t i, int64_t j)
{
    return wanted->kind == XG_TRIANGLE_ALL ||
           (wanted->kind == XG_TRIANGLE_UPPER ? j - i >= wanted->diagonal
                                              : j - i <= wanted->diagonal);
}

/*
 * The single parameter, passed by value, of every SGEMM kernel in the table (table.h).
 *
 * C = alpha * op(A) * op(B) + beta * C, row-major, all addresses in device memory:
 *   op(A) is (m,k): a is (m,k) with lda >= k, or (k,m) with lda >= m when transa != 0.
 *   op(B) is (k,n): b is (k,n) with ldb >= n, or (n,k) with ldb >= k when transb != 0.
 *   c     is (m,n) with ldc >= n.
 *
 * m, n, k >= 1. Leading dimensions are in elements; ld * dim may exceed 2^31 (use 64-bit offsets).
 * beta == 0: C is never read (it may hold NaN). Elements of C outside (m,n) are never written.
 *
 * A row of the table with XG_KERNEL_VEC4 additionally requires of the caller: a, b, c are 16-byte
 * aligned; lda, ldb, ldc are multiples of 4; and where an operand's contiguous extent is no
 * multiple of 4, the elements up to the next multiple of 4 are zero (the host pipeline's staging
 * pads so).
 *
 * A row with XG_KERNEL_SPLIT has `split` blocks a tile, next to each other in the grid, each for a
 * slice of k. With scratch 0 they are one cluster, which writes C. Else slice s writes its sums to
 * the s-th of `split` matrices (m, n rounded up to 4) that lie behind each other in the scratch,
 * and sgemm_slices_sm75.cu makes C of them.
 *
 * A row with XG_KERNEL_SHARE has `split` blocks in all, which share out the steps of all tiles
 * (share.cuh); as many blocks as tiles need no scratch, others leave 2 * split tiles there, which
 * an entry of its own adds.
 *
 * What a caller leaves here is that scratch: device
 * memory that nothing else uses meanwhile, 16-byte aligned, or 0 where selection was told of none
 * (select.h).
 *
 * A row with XG_KERNEL_REPACKED takes any operands: those that are not contiguous along m or n, or
 * not as XG_KERNEL_VEC4 asks, sgemm_repack_sm75.cu copies to the scratch first, A before B, each
 * (k, extent rounded up to XG_COPY_MULTIPLE). Its kernel then finds A transposed and B as it is.
 */
struct xg_sgemm_args {
    uint64_t a, b, c; /* device addresses of float */
    int64_t lda, ldb, ldc;
    int64_t m, n, k;
    float alpha, beta;
    int32_t transa, transb; /* kernels with one entry a transpose ignore these: the entry says it */
    struct xg_triangle wanted; /* all where slices go to the scratch: set by the launcher */
    uint64_t scratch;          /* see above; 0: none */
    int32_t split;             /* slices of k, >= 1; set by the launcher */
    int32_t copies; /* XG_COPY_A, XG_COPY_B: of the repacking kernel; set by the launcher */
};

enum { XG_COPY_A = 1, XG_COPY_B = 2, XG_COPY_MULTIPLE = 32 };

/* The leading dimension of an operand's copy. */
#define XG_COPY_LD(extent) (((extent) + XG_COPY_MULTIPLE - 1) / XG_COPY_MULTIPLE * XG_COPY_MULTIPLE)

/*
 * The single parameter of every DGEMM kernel: the same product, of double. All their rows have
 * XG_KERNEL_VEC4, with what is said above: 16-byte alignment, multiples of 4, zeros. k may be 0.
 * Slices of k meet in a cluster, never in a scratch.
 */
struct xg_dgemm_args {
    uint64_t a, b, c; /* device addresses of double */
    int64_t lda, ldb, ldc;
    int64_t m, n, k;
    double alpha, beta;
    struct xg_triangle wanted;
    int32_t transa, transb; /* which entry is launched */
    int32_t split;          /* slices of k, >= 1, of a cluster; set by the launcher */
};

#endif
