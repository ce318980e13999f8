/* SPDX-License-Identifier: MIT */
/* A Level 3 problem as data: operation, type, operands and scalars, in one normal form. */
#ifndef XG_PROBLEM_H
#define XG_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/integers.h"

/* The operations of Level 3 BLAS that the engine computes; problem.c has a row of traits for
 * each. */
enum xg_op {
    XG_OP_GEMM,  /* C = alpha op(A) op(B) + beta C */
    XG_OP_SYRK,  /* C = alpha op(A) op(A)ᵀ + beta C, one triangle of a symmetric C */
    XG_OP_HERK,  /* C = alpha op(A) op(A)ᴴ + beta C, one triangle of a Hermitian C */
    XG_OP_SYMM,  /* like GEMM, A or B symmetric and stored as one triangle */
    XG_OP_HEMM,  /* the same, Hermitian */
    XG_OP_SYR2K, /* C = alpha op(A) op(B) + alpha (op(A) op(B))ᵀ + beta C, one triangle of it */
    XG_OP_HER2K, /* the same with the conjugate transpose, and its alpha's conjugate */
    XG_OP_TRMM,  /* C = alpha op(A) C or alpha C op(B), A or B triangular */
    XG_OP_TRSM,  /* op(A) X = alpha C or X op(B) = alpha C, solved into C */
    XG_OP_GEMMT, /* like GEMM, one triangle of a square C */
    XG_OP_GEMV,  /* like GEMM, B or A and with it C a vector */
    XG_OP_GEMM_BATCH,         /* many GEMMs of one shape, with matrices anywhere */
    XG_OP_GEMM_BATCH_STRIDED, /* the same, with matrices at a constant distance */
    XG_OP_COUNT
};

/* BLAS's four types, in its order: float, double, and complex numbers of them. */
enum xg_type { XG_TYPE_S, XG_TYPE_D, XG_TYPE_C, XG_TYPE_Z, XG_TYPE_COUNT };

/* The effect of op(); the first two may be used as false and true. */
enum xg_trans { XG_NO_TRANS, XG_TRANS, XG_CONJ_TRANS };

/* BLAS's letter for op(): N, T, C. */
static inline char xg_trans_letter(enum xg_trans trans)
{
    return "NTC"[trans];
}

/* The stored elements of a matrix: all, or those of one triangle with the diagonal. */
enum xg_uplo { XG_FULL, XG_UPPER, XG_LOWER };

/*
 * The instances of a batch. If there is no array of addresses, an instance's matrix lies `stride`
 * elements after the previous one; the problem has the first one's address.
 */
struct xg_batch {
    int64_t count; /* at least 1 */
    const void *const *a, *const *b;
    void *const *c;
    int64_t stride_a, stride_b, stride_c;
};

/* The structured operand, of which only one triangle is stored. */
enum xg_operand { XG_NO_OPERAND, XG_OPERAND_A, XG_OPERAND_B };

/*
 * Row-major, in host memory:
 *
 *   op(A) is (m,k): a is (m,k) with lda >= k, or (k,m) with lda >= m when transa.
 *   op(B) is (k,n): b is (k,n) with ldb >= n, or (n,k) with ldb >= k when transb.
 *   c     is (m,n) with ldc >= n; with XG_UPPER or XG_LOWER m == n, and elements of the other
 *         triangle are neither read nor written.
 *
 * Leading dimensions are in elements. A column-major problem arrives here as its transpose
 * (Cᵀ = op(B)ᵀ op(A)ᵀ): the shim swaps operands and triangles. beta == 0: c is never read. alpha ==
 * 0 or k == 0: a and b are never read. Dimensions are >= 0, and the arguments have been checked as
 * the BLAS standard requires. The imaginary parts of the scalars are 0 for real types; for S and C
 * all parts are numbers of single precision.
 *
 * SYRK is the GEMM whose B is A: b == a, ldb == lda, and transb is the opposite of transa. Code for
 * GEMM can therefore compute any part of it. HERK is the same with conjugate transposes. Its
 * scalars and C's diagonal are real; the diagonal's imaginary parts are not read, and written as 0.
 *
 * SYR2K and HER2K add to the GEMM's product, in which transb is the opposite of transa, the product
 * of the exchanged operands (xg_problem_exchanged). HER2K's beta and C's diagonal are as HERK's.
 *
 * TRMM and TRSM have one operand of their own, which is structured: op(A), m == k, or op(B), n ==
 * k, is triangular. Only the triangle `stored` of A or B in memory is read, without its diagonal if
 * that is ones (unit). The other operand is C itself (b == c and ldb == ldc, or a == c and lda ==
 * ldc), and beta is 0.
 *
 * SYMM and HEMM are the GEMM in which A (XG_OPERAND_A, k == m) or B (XG_OPERAND_B, k == n), not
 * transposed, is completed from its triangle `stored`; the other triangle, and the imaginary parts
 * of a Hermitian diagonal, are not read.
 *
 * GEMMT is a GEMM that writes only one triangle of C, m == n: A and B are any two matrices.
 *
 * GEMV is a GEMM with m == 1, in which A is the vector, or with n == 1, in which B is the vector. A
 * vector with a stride is a matrix of one column.
 *
 * A batch consists of its instances' matrices, one below the other: m counts the rows of all C, and
 * each instance has m / batch->count of them, its own A and its own B of k by n. a, b and c are the
 * first instance's; the leading dimensions and scalars apply to all (xg_problem_instance).
 */
struct xg_problem {
    enum xg_op op;
    enum xg_type type;
    enum xg_uplo uplo;
    enum xg_operand structured;
    enum xg_uplo stored; /* the stored triangle of that operand */
    bool unit;           /* its diagonal is ones, whatever is stored there */
    enum xg_trans transa, transb;
    int64_t m, n, k;
    double alpha, alpha_im;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    double beta, beta_im;
    void *c;
    int64_t ldc;
    const struct xg_batch *batch; /* NULL: no batch */
    double held[2]; /* elements of A and of B that need not travel, because the device has them */
    struct xg_resident_call *resident; /* the operands that stay there (resident/); NULL: none */
    /* Of that call's A and B: in how many uses up to this one they were unchanged, 0 if in too few;
     * and the credit that is left if this use takes them to the device to stay, negative: too
     * little, -INFINITY: they cannot. loan_s: the credit that may still be lent. */
    int unchanged[2];
    double spare_s[2], loan_s;
};

/*
 * One operation of one type, as a number below XG_KIND_COUNT that indexes tables: an operation's
 * number here plus its type. Operations that differ from another only by a conjugate exist in
 * complex types only, and have no other numbers.
 */
enum {
    XG_KIND_GEMM = 0,
    XG_KIND_SYRK = XG_KIND_GEMM + XG_TYPE_COUNT,
    XG_KIND_HERK = XG_KIND_SYRK + XG_TYPE_COUNT - XG_TYPE_C,
    XG_KIND_SYMM = XG_KIND_HERK + XG_TYPE_COUNT,
    XG_KIND_HEMM = XG_KIND_SYMM + XG_TYPE_COUNT - XG_TYPE_C,
    XG_KIND_SYR2K = XG_KIND_HEMM + XG_TYPE_COUNT,
    XG_KIND_HER2K = XG_KIND_SYR2K + XG_TYPE_COUNT - XG_TYPE_C,
    XG_KIND_TRMM = XG_KIND_HER2K + XG_TYPE_COUNT,
    XG_KIND_TRSM = XG_KIND_TRMM + XG_TYPE_COUNT,
    XG_KIND_GEMMT = XG_KIND_TRSM + XG_TYPE_COUNT,
    XG_KIND_GEMV = XG_KIND_GEMMT + XG_TYPE_COUNT,
    XG_KIND_GEMM_BATCH = XG_KIND_GEMV + XG_TYPE_COUNT,
    XG_KIND_GEMM_BATCH_STRIDED = XG_KIND_GEMM_BATCH + XG_TYPE_COUNT,
    XG_KIND_COUNT = XG_KIND_GEMM_BATCH_STRIDED + XG_TYPE_COUNT,
    XG_KIND_SGEMM = XG_KIND_GEMM + XG_TYPE_S
};
_Static_assert(XG_KIND_COUNT < 64, "a bit each must fit a word");
static const uint64_t XG_KINDS_ALL = ((uint64_t)1 << XG_KIND_COUNT) - 1;

/* The bit of a kind in a word that holds a set of kinds. */
static inline uint64_t xg_kind_bit(int kind)
{
    return (uint64_t)1 << kind;
}

static inline int xg_kind(enum xg_op op, enum xg_type type)
{
    static const signed char of_op[XG_OP_COUNT] = {
        XG_KIND_GEMM,
        XG_KIND_SYRK,
        XG_KIND_HERK,
        XG_KIND_SYMM,
        XG_KIND_HEMM,
        XG_KIND_SYR2K,
        XG_KIND_HER2K,
        XG_KIND_TRMM,
        XG_KIND_TRSM,
        XG_KIND_GEMMT,
        XG_KIND_GEMV,
        XG_KIND_GEMM_BATCH,
        XG_KIND_GEMM_BATCH_STRIDED,
    };
    return of_op[op] + (int)type;
}

static inline int xg_problem_kind(const struct xg_problem *p)
{
    return xg_kind(p->op, p->type);
}

/* The operation and the type of a kind. */
enum xg_op xg_kind_op(int kind);
enum xg_type xg_kind_type(int kind);

/* BLAS's name without the interface's prefix or suffix, such as "sgemm"; a static string. */
const char *xg_kind_name(int kind);

/* Bytes of an element. */
static inline size_t xg_type_bytes(enum xg_type type)
{
    return type == XG_TYPE_S ? 4 : type == XG_TYPE_Z ? 16 : 8;
}

static inline bool xg_type_is_complex(enum xg_type type)
{
    return type == XG_TYPE_C || type == XG_TYPE_Z;
}

/* The real numbers that one of its numbers consists of. */
static inline int64_t xg_type_parts(enum xg_type type)
{
    return xg_type_is_complex(type) ? 2 : 1;
}

/* True if its numbers, or their parts, have double precision. */
static inline bool xg_type_is_double(enum xg_type type)
{
    return type == XG_TYPE_D || type == XG_TYPE_Z;
}

/* A real number, or a part of a complex one, of an array. */
static inline double xg_type_real_at(enum xg_type type, const void *at, int64_t index)
{
    return xg_type_is_double(type) ? ((const double *)at)[index] : ((const float *)at)[index];
}

/* The type of its numbers' parts. */
static inline enum xg_type xg_type_real(enum xg_type type)
{
    return xg_type_is_double(type) ? XG_TYPE_D : XG_TYPE_S;
}

static inline size_t xg_problem_elem_bytes(const struct xg_problem *p)
{
    return xg_type_bytes(p->type);
}

static inline bool xg_problem_alpha_zero(const struct xg_problem *p)
{
    return p->alpha == 0 && p->alpha_im == 0;
}

static inline bool xg_problem_beta_zero(const struct xg_problem *p)
{
    return p->beta == 0 && p->beta_im == 0;
}

/* True if B is A: one upload serves both operands. */
bool xg_problem_b_is_a(const struct xg_problem *p);

/* True if C is Hermitian: its diagonal is real, and so is beta. */
static inline bool xg_problem_is_hermitian(const struct xg_problem *p)
{
    return p->op == XG_OP_HERK || p->op == XG_OP_HER2K;
}

/* True if C is also an operand. */
static inline bool xg_problem_is_in_place(const struct xg_problem *p)
{
    return p->op == XG_OP_TRMM || p->op == XG_OP_TRSM;
}

/* In place: true if op() of the triangular operand is lower triangular. */
static inline bool xg_problem_is_lower(const struct xg_problem *p)
{
    bool trans = p->structured == XG_OPERAND_A ? p->transa : p->transb;
    return (p->stored == XG_LOWER) != trans;
}

/*
 * In place: true if rows of C need the rows above them. Rows are then written from the last one up.
 * If the device fails, the CPU can compute the rows not yet written, because they need no others.
 */
static inline bool xg_problem_ascends(const struct xg_problem *p)
{
    return xg_problem_is_in_place(p) && p->structured == XG_OPERAND_A && xg_problem_is_lower(p);
}

/* True if two products are added, the second one with exchanged operands. */
static inline bool xg_problem_is_rank_2k(const struct xg_problem *p)
{
    return p->op == XG_OP_SYR2K || p->op == XG_OP_HER2K;
}

/* That second product. Both operands are stored alike, so the transposes are the same. */
static inline struct xg_problem xg_problem_exchanged(const struct xg_problem *p)
{
    struct xg_problem q = *p;
    q.a = p->b;
    q.lda = p->ldb;
    q.b = p->a;
    q.ldb = p->lda;
    q.alpha_im = p->op == XG_OP_HER2K ? -p->alpha_im : p->alpha_im;
    return q;
}

/* The number of products in a problem, and the rows of C in each. */
static inline int64_t xg_problem_instances(const struct xg_problem *p)
{
    return p->batch ? p->batch->count : 1;
}

static inline int64_t xg_problem_instance_rows(const struct xg_problem *p)
{
    return p->batch ? p->m / p->batch->count : p->m;
}

/* The stored size of an operand; in a batch, of one instance. */
struct xg_extent {
    int64_t rows, columns;
};

static inline struct xg_extent xg_problem_stored(const struct xg_problem *p, bool b)
{
    const int64_t m = xg_problem_instance_rows(p);
    const int64_t rows = b ? p->k : m, columns = b ? p->n : p->k;
    return (b ? p->transb : p->transa) ? (struct xg_extent){columns, rows}
                                       : (struct xg_extent){rows, columns};
}

/* One instance as a separate problem; an instance of a batch is a GEMM. */
struct xg_problem xg_problem_instance(const struct xg_problem *p, int64_t index);

/* The first of `rows` rows from `row` on that lie in one instance. Rows are counted over all
 * instances, which have `each` rows. */
struct xg_instance_rows {
    int64_t instance, row, rows;
};

static inline struct xg_instance_rows xg_instance_rows(int64_t row, int64_t rows, int64_t each)
{
    return (struct xg_instance_rows){row / each, row % each, xg_min_i64(rows, each - row % each)};
}

/* Replaces arrays of evenly spaced matrices by strides; elements have elem_bytes. */
void xg_batch_settle(struct xg_batch *batch, int64_t elem_bytes);

/*
 * Normalises leading dimensions that separate no two rows, because the matrix has one row or is not
 * read; the standard allows any number there. They become the length of a row or, for one-row
 * matrices of a batch that lie `stride` elements apart, that stride: the matrices are then the rows
 * of one matrix.
 */
void xg_problem_settle(struct xg_problem *p);

/* True if a batch's matrices, each with as many rows as its C, form one matrix of ld in memory. */
static inline bool xg_problem_follow(const struct xg_problem *p, int64_t ld, int64_t stride)
{
    int64_t elems;
    return !__builtin_mul_overflow(xg_problem_instance_rows(p), ld, &elems) && stride == elems;
}

/* True if all rows of C form one matrix of ldc in memory. */
static inline bool xg_problem_c_is_whole(const struct xg_problem *p)
{
    const struct xg_batch *batch = p->batch;
    return !batch || (!batch->c && xg_problem_follow(p, p->ldc, batch->stride_c));
}

/*
 * True if a batch is one GEMM of all its rows: its instances share B, and the rows of A and of C
 * continue from one instance to the next. Then *gemm is that GEMM.
 */
bool xg_problem_is_stacked(const struct xg_problem *p, struct xg_problem *gemm);

/* The elements that move over the link: A and B up (only A if B is A), and C down. */
double xg_problem_up_elems(const struct xg_problem *p);
/* Those of A (b: of B, none if B is A) that the device does not hold yet. */
double xg_problem_travel_elems(const struct xg_problem *p, bool b);
double xg_problem_down_elems(const struct xg_problem *p);

/* Multiplications of elements, each with an addition. */
double xg_problem_products(const struct xg_problem *p);

/* Multiplications and additions of real numbers. */
double xg_problem_flops(const struct xg_problem *p);

/* The address of element `elems` of a matrix of p's type. It is computed on integers that may wrap
 * around, because the program chooses the strides. */
static inline const void *xg_problem_at(const struct xg_problem *p, const void *matrix,
                                        int64_t elems)
{
    return (const void *)((uintptr_t)matrix + (uintptr_t)elems * xg_problem_elem_bytes(p));
}

/* The address of C's element, in whichever instance it lies. */
static inline void *xg_problem_c_at(const struct xg_problem *p, int64_t row, int64_t column)
{
    if (p->batch) {
        const struct xg_problem instance =
            xg_problem_instance(p, row / xg_problem_instance_rows(p));
        return xg_problem_c_at(&instance, row % instance.m, column);
    }
    return (char *)p->c + (row * p->ldc + column) * (int64_t)xg_problem_elem_bytes(p);
}

/* The stored columns [*begin, *end) of C's row, out of [first, last). Empty: *begin == *end. */
static inline void xg_problem_row(const struct xg_problem *p, int64_t row, int64_t first,
                                  int64_t last, int64_t *begin, int64_t *end)
{
    *begin = p->uplo == XG_UPPER && row > first ? row : first;
    *end = p->uplo == XG_LOWER && row + 1 < last ? row + 1 : last;
    if (*begin > last)
        *begin = last;
    if (*end < *begin)
        *end = *begin;
}

/*
 * Splits the stored part of C's rows [row, row + rows) and columns [column, column + columns) into
 * separate problems, to be computed in this order. A full C gives one GEMM. A triangle gives a
 * square on the diagonal, which has p's operation, a GEMM beside the square and one above or below
 * it (two each for SYR2K). SYMM gives a GEMM for the stored part of the operand's rows or columns,
 * a SYMM for the square on its diagonal, and a GEMM for the transposed part. For TRMM and TRSM,
 * pass all columns and, if A is triangular, the first or the last rows, which depend on no others;
 * the part is a problem of the same kind. Pass the instances of a batch, not the batch. Returns the
 * number of parts.
 */
enum { XG_PROBLEM_PARTS = 5 };
int xg_problem_parts(const struct xg_problem *p, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, struct xg_problem parts[XG_PROBLEM_PARTS]);

#endif
