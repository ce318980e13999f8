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
    XG_OP_GEMM, /* C = alpha op(A) op(B) + beta C */
    XG_OP_SYRK, /* C = alpha op(A) op(A)ᵀ + beta C, of a symmetric C one triangle */
    XG_OP_COUNT
};

/* BLAS's four types, in its order: float, double, and complex numbers of them. */
enum xg_type { XG_TYPE_S, XG_TYPE_D, XG_TYPE_C, XG_TYPE_Z, XG_TYPE_COUNT };

/* What op() does; the first two may be used as false and true. */
enum xg_trans { XG_NO_TRANS, XG_TRANS, XG_CONJ_TRANS };

/* Which elements of C there are: all, or those of one triangle with the diagonal. */
enum xg_uplo { XG_FULL, XG_UPPER, XG_LOWER };

/*
 * Row-major, in host memory:
 *
 *   op(A) is (m,k): a is (m,k) with lda >= k, or (k,m) with lda >= m when transa.
 *   op(B) is (k,n): b is (k,n) with ldb >= n, or (n,k) with ldb >= k when transb.
 *   c     is (m,n) with ldc >= n; with XG_UPPER or XG_LOWER m == n, and elements of the other
 *         triangle are neither read nor written.
 *
 * Leading dimensions are in elements. A column-major problem arrives here as its transpose
 * (Cᵀ = op(B)ᵀ op(A)ᵀ): the shim swaps operands and triangles. SYRK is the GEMM whose B is A: b ==
 * a, ldb == lda and transb is what transa is not, so that whoever knows GEMM can compute any part
 * of it. beta == 0: c is never read. alpha == 0 or k == 0: a and b are never read. Dimensions are
 * >= 0 and the arguments already checked as the BLAS standard says. The imaginary parts of the
 * scalars are 0 for real types; for S and C all parts are numbers of single precision.
 */
struct xg_problem {
    enum xg_op op;
    enum xg_type type;
    enum xg_uplo uplo;
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
};

/* One operation of one type, as a number below XG_KIND_COUNT: what tables are indexed by. */
enum { XG_KIND_COUNT = XG_OP_COUNT * XG_TYPE_COUNT, XG_KIND_SGEMM = 0 };
_Static_assert(XG_KIND_COUNT <= 32, "a bit each must fit a word");
static const uint32_t XG_KINDS_ALL = (uint32_t)(((uint64_t)1 << XG_KIND_COUNT) - 1);

static inline int xg_kind(enum xg_op op, enum xg_type type)
{
    return (int)op * XG_TYPE_COUNT + (int)type;
}

static inline int xg_problem_kind(const struct xg_problem *p)
{
    return xg_kind(p->op, p->type);
}

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

/* What travels, in elements: A and B up (A alone where B is A), and C down. */
double xg_problem_up_elems(const struct xg_problem *p);
double xg_problem_down_elems(const struct xg_problem *p);

/* Multiplications and additions of real numbers. */
double xg_problem_flops(const struct xg_problem *p);

/* The element at `elems` of a matrix of p's type. */
static inline const void *xg_problem_at(const struct xg_problem *p, const void *matrix,
                                        int64_t elems)
{
    return (const char *)matrix + elems * (int64_t)xg_problem_elem_bytes(p);
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
 * of their own that do not meet: a GEMM, or of a triangle a square on the diagonal, which is p's
 * operation, and a GEMM beside and above or below it. Returns how many there are.
 */
enum { XG_PROBLEM_PARTS = 3 };
int xg_problem_parts(const struct xg_problem *p, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, struct xg_problem parts[XG_PROBLEM_PARTS]);

#endif
