/* SPDX-License-Identifier: MIT */
/* The kernel ABI: the parameter structs that host code (C11) and device code (CUDA) share. */
#ifndef XG_KABI_H
#define XG_KABI_H

#include <stdint.h>

/*
 * The wanted elements of C: all of them, or, if C is a tile of a matrix of which BLAS stores a
 * triangle, those (i,j) of the tile with j - i >= diagonal (upper) or j - i <= diagonal (lower). A
 * launch may also compute the others or leave them unchanged: a block whose tile has no wanted
 * element may end at once, with all of its cluster. So the others must not be read: some slices of
 * k may be added and others not, and with nonzero beta they were added to undefined values. All
 * zeros: all of C.
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
 * beta == 0: C is never read (it may contain NaN). Elements of C outside (m,n) are never written.
 *
 * A row of the table with XG_KERNEL_VEC4 also requires that a, b, c are 16-byte aligned; that lda,
 * ldb, ldc are multiples of 4; and that, if an operand's contiguous extent is not a multiple of 4,
 * the elements up to the next multiple of 4 are zero (as after the host pipeline's staging).
 *
 * A row with XG_KERNEL_SPLIT has `split` blocks per tile, adjacent in the grid, each for a slice of
 * k. They are one cluster, which adds their sums.
 */
struct xg_sgemm_args {
    uint64_t a, b, c; /* device addresses of float */
    int64_t lda, ldb, ldc;
    int64_t m, n, k;
    float alpha, beta;
    int32_t transa, transb; /* kernels with one entry per transpose ignore these */
    struct xg_triangle wanted;
    int32_t split; /* slices of k, >= 1; set by the launcher */
};

/*
 * The single parameter of every DGEMM kernel: the same product in double. All rows have
 * XG_KERNEL_VEC4, with its requirements above: 16-byte alignment, multiples of 4, zeros. k may be
 * 0.
 */
struct xg_dgemm_args {
    uint64_t a, b, c; /* device addresses of double */
    int64_t lda, ldb, ldc;
    int64_t m, n, k;
    double alpha, beta;
    struct xg_triangle wanted;
    int32_t transa, transb; /* select the entry */
    int32_t split;          /* slices of k, >= 1, of a cluster; set by the launcher */
};

#endif
