/* SPDX-License-Identifier: MIT */
/* A Level 3 problem as data: operation, type, operands and scalars, in one normal form. */
#ifndef XG_PROBLEM_H
#define XG_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operations of Level 3 BLAS that the engine computes; problem.c has a row of traits for each.
 */
enum xg_op {
    XG_OP_GEMM,  /* C = alpha op(A) op(B) + beta C */
    XG_OP_SYRK,  /* C = alpha op(A) op(A)ᵀ + beta C, of a symmetric C one triangle */
    XG_OP_HERK,  /* C = alpha op(A) op(A)ᴴ + beta C, of a Hermitian C one triangle */
    XG_OP_SYMM,  /* GEMM's, A or B symmetric, and one triangle of it stored */
    XG_OP_HEMM,  /* the same, Hermitian */
    XG_OP_SYR2K, /* C = alpha op(A) op(B) + alpha (op(A) op(B))ᵀ + beta C, one triangle of it */
    XG_OP_HER2K, /* the same with the conjugate transpose, and its alpha's conjugate */
    XG_OP_TRMM,  /* C = alpha op(A) C or alpha C op(B), A or B triangular */
    XG_OP_TRSM,  /* op(A) X = alpha C or X op(B) = alpha C, solved into C */
    XG_OP_GEMMT, /* GEMM's, of a square C one triangle */
    XG_OP_GEMM_BATCH,         /* many GEMMs of one shape, their matrices anywhere */
    XG_OP_GEMM_BATCH_STRIDED, /* the same, each matrix as far behind the one before */
    XG_OP_COUNT
};

/* BLAS's four types, in its order: float, double, and complex numbers of them. */
enum xg_type { XG_TYPE_S, XG_TYPE_D, XG_TYPE_C, XG_TYPE_Z, XG_TYPE_COUNT };

/* What op() does; the first two may be used as false and true. */
enum xg_trans { XG_NO_TRANS, XG_TRANS, XG_CONJ_TRANS };

/* BLAS's letter for it: N, T, C. */
static inline char xg_trans_letter(enum xg_trans trans)
{
    return "NTC"[trans];
}

/* Which elements of a matrix there are: all, or those of one triangle with the diagonal. */
enum xg_uplo { XG_FULL, XG_UPPER, XG_LOWER };

/*
 * The instances of a batch. Where there is no array of addresses a matrix lies `stride` elements
 * behind the one of the instance before, the first one where the problem says.
 */
struct xg_batch {
    int64_t count; /* at least 1 */
    const void *const *a, *const *b;
    void *const *c;
    int64_t stride_a, stride_b, stride_c;
};

/* Which operand has a structure, so that one triangle of it is all there is. */
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
 * 0 or k == 0: a and b are never read. Dimensions are >= 0 and the arguments already checked as the
 * BLAS standard says. The imaginary parts of the scalars are 0 for real types; for S and C all
 * parts are numbers of single precision.
 *
 * SYRK is the GEMM whose B is A: b == a, ldb == lda and transb is what transa is not, so that
 * whoever knows GEMM can compute any part of it. So is HERK, with conjugate transposes; its scalars
 * are real, and so is C's diagonal, whose imaginary parts are not read, and written as 0.
 *
 * SYR2K and HER2K add to the GEMM's product, of which transb is what transa is not, that of its
 * operands exchanged (xg_problem_exchanged). HER2K's beta is real, and C's diagonal is as HERK's.
 *
 * TRMM and TRSM have one operand of their own, which is structured: op(A), m == k, or op(B), n ==
 * k, is triangular; of A or B as it lies in memory the triangle `stored` is read, without its
 * diagonal where that is ones (unit). The other operand is C itself (b == c and ldb == ldc, or a ==
 * c and lda == ldc), and beta is 0.
 *
 * SYMM and HEMM are the GEMM of which A (XG_OPERAND_A, k == m) or B (XG_OPERAND_B, k == n), not
 * transposed, is made whole from its triangle `stored`; the other one, and the imaginary parts of a
 * Hermitian diagonal, are not read.
 *
 * GEMMT is the GEMM of which C has a triangle, m == n, and no more: A and B are any two matrices.
 *
 * A batch is its instances' matrices, one below the other: m counts the rows of all C, each has
 * m / batch->count of them, its own A and its own B of k by n. a, b and c are the first instance's;
 * the leading dimensions and scalars are those of all (xg_problem_instance).
 */
struct xg_problem {
    enum xg_op op;
    enum xg_type type;
    enum xg_uplo uplo;
    enum xg_operand structured;
    enum xg_uplo stored; /* of that operand */
    bool unit;           /* its diagonal is ones, whatever lies there */
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
    const struct xg_batch *batch; /* NULL: there is one */
};

/*
 * One operation of one type, as a number below XG_KIND_COUNT: what tables are indexed by. To an
 * operation's own number here its type is added. Those that a conjugate alone tells from another
 * are there in complex types only, and count no others.
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
    XG_KIND_GEMM_BATCH = XG_KIND_GEMMT + XG_TYPE_COUNT,
    XG_KIND_GEMM_BATCH_STRIDED = XG_KIND_GEMM_BATCH + XG_TYPE_COUNT,
    XG_KIND_COUNT = XG_KIND_GEMM_BATCH_STRIDED + XG_TYPE_COUNT,
    XG_KIND_SGEMM = XG_KIND_GEMM + XG_TYPE_S
};
_Static_assert(XG_KIND_COUNT < 64, "a bit each must fit a word");
static const uint64_t XG_KINDS_ALL = ((uint64_t)1 << XG_KIND_COUNT) - 1;

/* Where a set of kinds is a word. */
static inline uint64_t xg_kind_bit(int kind)
{
    return (uint64_t)1 << kind;
}

static inline int xg_kind(enum xg_op op, enum xg_type type)
{
    static const signed char of_op[XG_OP_COUNT] = {
        XG_KIND_GEMM, XG_KIND_SYRK,  XG_KIND_HERK,       XG_KIND_SYMM,
        XG_KIND_HEMM, XG_KIND_SYR2K, XG_KIND_HER2K,      XG_KIND_TRMM,
        XG_KIND_TRSM, XG_KIND_GEMMT, XG_KIND_GEMM_BATCH, XG_KIND_GEMM_BATCH_STRIDED};
    return of_op[op] + (int)type;
}

static inline int xg_problem_kind(const struct xg_problem *p)
{
    return xg_kind(p->op, p->type);
}

/* What a kind is made of. */
enum xg_op xg_kind_op(int kind);
enum xg_type xg_kind_type(int kind);

/* BLAS's name without its interface's marks: "sgemm"; a static string. */
const char *xg_kind_name(int kind);

/* Of an element. */
static inline size_t xg_type_bytes(enum xg_type type)
{
    return type == XG_TYPE_S ? 4 : type == XG_TYPE_Z ? 16 : 8;
}

static inline bool xg_type_is_complex(enum xg_type type)
{
    return type == XG_TYPE_C || type == XG_TYPE_Z;
}

/* Whether its numbers, or their parts, are of double precision. */
static inline bool xg_type_is_double(enum xg_type type)
{
    return type == XG_TYPE_D || type == XG_TYPE_Z;
}

/* Of its numbers' parts. */
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

/* Whether one operand travels for both. */
bool xg_problem_b_is_a(const struct xg_problem *p);

/* Whether C is Hermitian: its diagonal is real, and so is beta. */
static inline bool xg_problem_is_hermitian(const struct xg_problem *p)
{
    return p->op == XG_OP_HERK || p->op == XG_OP_HER2K;
}

/* Whether C is an operand as well. */
static inline bool xg_problem_is_in_place(const struct xg_problem *p)
{
    return p->op == XG_OP_TRMM || p->op == XG_OP_TRSM;
}

/* In place: whether op() of the triangular operand is lower triangular. */
static inline bool xg_problem_is_lower(const struct xg_problem *p)
{
    bool trans = p->structured == XG_OPERAND_A ? p->transa : p->transb;
    return (p->stored == XG_LOWER) != trans;
}

/*
 * In place: whether rows of C need rows above them, so that they are written from the last one up:
 * what is not written yet can then be computed from itself alone, whenever the others fail to come.
 */
static inline bool xg_problem_ascends(const struct xg_problem *p)
{
    return xg_problem_is_in_place(p) && p->structured == XG_OPERAND_A && xg_problem_is_lower(p);
}

/* Whether two products are added up, the second one with the operands exchanged. */
static inline bool xg_problem_is_rank_2k(const struct xg_problem *p)
{
    return p->op == XG_OP_SYR2K || p->op == XG_OP_HER2K;
}

/* That second one: as the operands are stored alike, with the same transposes. */
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

/* How many products a problem is, and how many rows of C each has. */
static inline int64_t xg_problem_instances(const struct xg_problem *p)
{
    return p->batch ? p->batch->count : 1;
}

static inline int64_t xg_problem_instance_rows(const struct xg_problem *p)
{
    return p->batch ? p->m / p->batch->count : p->m;
}

/* An operand as it is stored; of a batch, an instance's. */
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

/* One of them as a problem of its own: of a batch a GEMM. */
struct xg_problem xg_problem_instance(const struct xg_problem *p, int64_t index);

/* Puts strides in the place of arrays whose matrices lie evenly; of elements of elem_bytes. */
void xg_batch_settle(struct xg_batch *batch, int64_t elem_bytes);

/*
 * Leading dimensions that separate no two rows become the length of a row: those of matrices that
 * have one row or are not read, where the standard lets them be any number, however large. Those of
 * one-row matrices that a batch has `stride` elements apart become that stride: one below the other
 * they are the rows of a matrix.
 */
void xg_problem_settle(struct xg_problem *p);

/* Whether a batch's matrices of ld, each with as many rows as its C, are one matrix in memory. */
static inline bool xg_problem_follow(const struct xg_problem *p, int64_t ld, int64_t stride)
{
    int64_t elems;
    return !__builtin_mul_overflow(xg_problem_instance_rows(p), ld, &elems) && stride == elems;
}

/* Whether C's rows are a matrix of ldc in memory, too. */
static inline bool xg_problem_c_is_whole(const struct xg_problem *p)
{
    const struct xg_batch *batch = p->batch;
    return !batch || (!batch->c && xg_problem_follow(p, p->ldc, batch->stride_c));
}

/*
 * Whether a batch is one GEMM of all its rows: its instances share B, and the rows of A and of C
 * follow each other from each to the next. Then *gemm is that.
 */
bool xg_problem_is_stacked(const struct xg_problem *p, struct xg_problem *gemm);

/* What travels, in elements: A and B up (A alone where B is A), and C down. */
double xg_problem_up_elems(const struct xg_problem *p);
double xg_problem_down_elems(const struct xg_problem *p);

/* Multiplications of elements, each with an addition. */
double xg_problem_products(const struct xg_problem *p);

/* Multiplications and additions of real numbers. */
double xg_problem_flops(const struct xg_problem *p);

/* The element at `elems` of a matrix of p's type. As addresses, which may wrap around: the strides
 * of a call are the program's. */
static inline const void *xg_problem_at(const struct xg_problem *p, const void *matrix,
                                        int64_t elems)
{
    return (const void *)((uintptr_t)matrix + (uintptr_t)elems * xg_problem_elem_bytes(p));
}

/* C's element, wherever its instance lies. */
static inline void *xg_problem_c_at(const struct xg_problem *p, int64_t row, int64_t column)
{
    if (p->batch) {
        const struct xg_problem instance =
            xg_problem_instance(p, row / xg_problem_instance_rows(p));
        return xg_problem_c_at(&instance, row % instance.m, column);
    }
    return (char *)p->c + (row * p->ldc + column) * (int64_t)xg_problem_elem_bytes(p);
}

/* The columns [*begin, *end) of C's row that there are, of those in [first, last). Empty: *begin ==
 * *end. */
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
 * What there is of C's rows [row, row + rows) and columns [column, column + columns), as problems
 * of their own, to be computed in this order: a GEMM, or of a triangle a square on the diagonal,
 * which is p's operation, and a GEMM beside and above or below it (of SYR2K two each); of SYMM a
 * GEMM for what is stored of the operand's rows or columns, SYMM for the square on its diagonal,
 * and a GEMM for what is there transposed. Of TRMM and TRSM all columns are to be asked for, and
 * where A is triangular the first rows or the last, which depend on no others: they are a problem
 * of the same kind. Not of a batch, whose instances are asked for. Returns how many there are.
 */
enum { XG_PROBLEM_PARTS = 5 };
int xg_problem_parts(const struct xg_problem *p, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, struct xg_problem parts[XG_PROBLEM_PARTS]);

#endif
