/* SPDX-License-Identifier: MIT */
/* The kernel ABI of emulated DGEMM, shared by host code (C11) and device code. */
#ifndef XG_RESIDUE_KABI_H
#define XG_RESIDUE_KABI_H

#include "split_kabi.h"

/*
 * An operand is stored as its rows along k (rows of op(A), columns of op(B)). The residues of a
 * row's scaled integers are int8_t: residues[modulus][row][k], k padded with zeros to a multiple of
 * XG_RESIDUE_BLOCK. Those of the product are uint8_t: results[modulus][m][n], n padded to a
 * multiple of XG_RESIDUE_QUAD.
 */
enum { XG_RESIDUE_MODULI_COUNT = 16, XG_RESIDUE_BLOCK = 64, XG_RESIDUE_QUAD = 4 };

/* The deepest product: a sum of products of two residues is below 2^31. */
enum { XG_RESIDUE_DEPTH_MAX = 65536 };

enum { XG_RESIDUE_COUNTS = 3 };

/* The statistics of an operand: maxima over its rows that are not all zeros. Zeroed before the
 * split. */
struct xg_residue_stats {
    uint32_t not_finite;                   /* 1: there is an infinity or a NaN */
    uint32_t small_max[XG_RESIDUE_COUNTS]; /* of a row: numbers below 2^-h of the mean square */
};

/* The single parameter of the split of an operand. Device addresses; extents and strides in
 * elements. One of the strides is 1. */
struct xg_residue_split_args {
    uint64_t data;      /* double: element (row, l) is data[row * row_stride + l * k_stride] */
    uint64_t residues;  /* int8_t, of the first row, 16-byte aligned */
    uint64_t exponents; /* int32_t per row: the scale is 2 to this power */
    uint64_t stats;     /* struct xg_residue_stats of this panel */
    int64_t row_stride, k_stride;
    int64_t rows, k;
    int64_t plane_bytes; /* from one modulus to the next */
};

/* Doubles from one row of an expanded operand to the next, for rows of k doubles. */
#define XG_RESIDUE_EXPANDED_LD(k) (((k) + 3) / 4 * 4)

/*
 * The single parameter of the expansion of a complex operand to a real one. Element (row, l) of the
 * operand becomes two doubles of `to`: in a row of op(A) its real and its imaginary part; a column
 * of op(B) becomes two rows, in which it is (real, -imaginary) and (imaginary, real). The real
 * product has m rows, 2 n columns and is 2 k deep, and is C as it lies in memory. The strides are
 * in complex numbers, one of them is 1; the addresses are multiples of 16.
 */
struct xg_residue_expand_args {
    uint64_t from; /* double complex: element (row, l) is from[row * row_stride + l * k_stride] */
    uint64_t to;   /* double: rows of XG_RESIDUE_EXPANDED_LD(2 k), which end in zeros */
    int64_t row_stride, k_stride;
    int64_t rows, k;
    int32_t of_b;      /* 1: columns of op(B); 0: rows of op(A) */
    int32_t conjugate; /* 1: the operand is conjugated */
};

/* The side of a block's tile in the expansion, in complex numbers. */
enum { XG_RESIDUE_EXPAND_SIDE = 32 };

/* The single parameter of the product of residues. */
struct xg_residue_product_args {
    struct xg_tensor_map a_map, b_map; /* for the tensor copies of sm_90: k, rows, moduli */
    uint64_t a, b;    /* the same memory, int8_t: residues of the first row of A and column of B */
    uint64_t results; /* uint8_t, 4-byte aligned */
    int64_t a_plane_bytes, b_plane_bytes; /* from one modulus to the next */
    struct xg_split_pair pair;
    int64_t m, n, k;
    struct xg_triangle wanted;
};

/* The single parameter of the last step: C = alpha * (the integers, scaled back) + beta * C. */
struct xg_residue_combine_args {
    uint64_t results, c;               /* c: double */
    uint64_t a_exponents, b_exponents; /* m and n numbers of int32_t */
    struct xg_split_pair pair;
    int64_t ldc, m, n;
    double alpha, beta;
    struct xg_triangle wanted;
};

/* The single parameter of the product in double precision of operands that no integers serve. */
struct xg_residue_native_args {
    struct xg_dgemm_args product;
    struct xg_split_pair pair;
};

#endif
