/* SPDX-License-Identifier: MIT */
/*
 * HERK, SYMM, HEMM, SYR2K, HER2K, TRMM and TRSM of every type as a program calls them, and each
 * one's definition: what programs that call them in every form share. Before: CALL_INT, and where
 * the names are spelled otherwise, CBLAS_NAME(name) and FORTRAN_NAME(name).
 */
#ifndef PRELOAD_OPERATIONS_H
#define PRELOAD_OPERATIONS_H

#include <math.h>
#include <sys/mman.h>

#include "numbers.h"
#include "tests/support/xt.h"

typedef CALL_INT integer;

#ifndef CBLAS_NAME
#define CBLAS_NAME(name) cblas_##name
#define FORTRAN_NAME(name) name##_
#endif

/* scalar, real: how the C interface passes alpha, and beta. */
#define DECLARE_PRODUCT(name, scalar, real)                                                        \
    void CBLAS_NAME(name)(int order, int side, int uplo, integer m, integer n, scalar alpha,       \
                          const void *a, integer lda, const void *b, integer ldb, real beta,       \
                          void *c, integer ldc);                                                   \
    void FORTRAN_NAME(name)(                                                                       \
        const char *side, const char *uplo, const integer *m, const integer *n, const void *alpha, \
        const void *a, const integer *lda, const void *b, const integer *ldb, const void *beta,    \
        void *c, const integer *ldc, size_t side_length, size_t uplo_length);
#define DECLARE_TRIANGULAR(name, scalar)                                                           \
    void CBLAS_NAME(name)(int order, int side, int uplo, int trans, int diag, integer m,           \
                          integer n, scalar alpha, const void *a, integer lda, void *b,            \
                          integer ldb);                                                            \
    void FORTRAN_NAME(name)(const char *side, const char *uplo, const char *trans,                 \
                            const char *diag, const integer *m, const integer *n,                  \
                            const void *alpha, const void *a, const integer *lda, void *b,         \
                            const integer *ldb, size_t side_length, size_t uplo_length,            \
                            size_t trans_length, size_t diag_length);
#define DECLARE_RANK_K(name, real)                                                                 \
    void CBLAS_NAME(name)(int order, int uplo, int trans, integer n, integer k, real alpha,        \
                          const void *a, integer lda, real beta, void *c, integer ldc);            \
    void FORTRAN_NAME(name)(const char *uplo, const char *trans, const integer *n,                 \
                            const integer *k, const void *alpha, const void *a,                    \
                            const integer *lda, const void *beta, void *c, const integer *ldc,     \
                            size_t uplo_length, size_t trans_length);
/* SYR2K's arguments are of SYMM's types: uplo and trans for side and uplo, n and k for m and n. */
#define DECLARE_ALL(t, scalar)                                                                     \
    DECLARE_PRODUCT(t##symm, scalar, scalar)                                                       \
    DECLARE_PRODUCT(t##syr2k, scalar, scalar)                                                      \
    DECLARE_TRIANGULAR(t##trmm, scalar)                                                            \
    DECLARE_TRIANGULAR(t##trsm, scalar)
#define DECLARE_HERMITIAN(t, real)                                                                 \
    DECLARE_PRODUCT(t##hemm, const void *, const void *)                                           \
    DECLARE_PRODUCT(t##her2k, const void *, real)                                                  \
    DECLARE_RANK_K(t##herk, real)
DECLARE_ALL(s, float)
DECLARE_ALL(d, double)
DECLARE_ALL(c, const void *)
DECLARE_ALL(z, const void *)
DECLARE_HERMITIAN(c, float)
DECLARE_HERMITIAN(z, double)

enum { HERK, SYMM, HEMM, SYR2K, HER2K, TRMM, TRSM, OPERATIONS };

static const char *const names[] = {"herk", "symm", "hemm", "syr2k", "her2k", "trmm", "trsm"};

/* The operands, and what C held before the call, of the type that is called; as many elements as
 * may be touched. */
struct matrix {
    char *at;
    int elements;
};
static struct matrix matrix_a, matrix_b, matrix_c, matrix_old;

struct call {
    int op, type;
    int order;                   /* 101, 102; 0: Fortran, column-major */
    int side, uplo, trans, diag; /* as the C interface counts */
    integer m, n, k, lda, ldb, ldc, pad;
    double complex alpha, beta;
};

static int is_complex(const struct call *p)
{
    return p->type == TYPE_C || p->type == TYPE_Z;
}

static int is_hermitian(const struct call *p)
{
    return p->op == HERK || p->op == HEMM || p->op == HER2K;
}

static int is_triangular(const struct call *p)
{
    return p->op == TRMM || p->op == TRSM;
}

static int has_side(const struct call *p)
{
    return p->op == SYMM || p->op == HEMM || is_triangular(p);
}

/* Of a number that the C interface has not: one that Fortran's has not either. */
static const char *letter(int number)
{
    static const char *const letters[][3] = {
        {"N", "t", "C"}, {"U", "l", "X"}, {"N", "u", "X"}, {"L", "r", "X"}};
    int group = (number - 111) / 10, at = (number - 111) % 10;
    return number >= 111 && group < 4 && at < 3 ? letters[group][at] : "X";
}

#define CBLAS_PRODUCT(name, first, second, rows, columns, by, add)                                 \
    CBLAS_NAME(name)                                                                               \
    (p->order, first, second, rows, columns, by, matrix_a.at, p->lda, matrix_b.at, p->ldb, add,    \
     matrix_c.at, p->ldc)
#define FORTRAN_PRODUCT(name, first, second, rows, columns)                                        \
    FORTRAN_NAME(name)                                                                             \
    (letter(first), letter(second), &rows, &columns, &alpha, matrix_a.at, &p->lda, matrix_b.at,    \
     &p->ldb, &beta, matrix_c.at, &p->ldc, 1, 1)
#define TRIANGULAR(name, by)                                                                       \
    if (p->order)                                                                                  \
        CBLAS_NAME(name)                                                                           \
    (p->order, p->side, p->uplo, p->trans, p->diag, p->m, p->n, by, matrix_a.at, p->lda,           \
     matrix_c.at, p->ldc);                                                                         \
    else FORTRAN_NAME(name)(letter(p->side), letter(p->uplo), letter(p->trans), letter(p->diag),   \
                            &p->m, &p->n, &alpha, matrix_a.at, &p->lda, matrix_c.at, &p->ldc, 1,   \
                            1, 1, 1)

#define CALL_ALL(t, by, add)                                                                       \
    do {                                                                                           \
        if (p->op == TRMM) {                                                                       \
            TRIANGULAR(t##trmm, by);                                                               \
        } else if (p->op == TRSM) {                                                                \
            TRIANGULAR(t##trsm, by);                                                               \
        } else if (p->op == SYMM) {                                                                \
            if (p->order)                                                                          \
                CBLAS_PRODUCT(t##symm, p->side, p->uplo, p->m, p->n, by, add);                     \
            else                                                                                   \
                FORTRAN_PRODUCT(t##symm, p->side, p->uplo, p->m, p->n);                            \
        } else if (p->order) {                                                                     \
            CBLAS_PRODUCT(t##syr2k, p->uplo, p->trans, p->n, p->k, by, add);                       \
        } else {                                                                                   \
            FORTRAN_PRODUCT(t##syr2k, p->uplo, p->trans, p->n, p->k);                              \
        }                                                                                          \
    } while (0)

#define CALL_HERMITIAN(t, real)                                                                    \
    do {                                                                                           \
        if (p->op == HERK) {                                                                       \
            if (p->order)                                                                          \
                CBLAS_NAME(t##herk)                                                                \
            (p->order, p->uplo, p->trans, p->n, p->k, alpha.real, matrix_a.at, p->lda, beta.real,  \
             matrix_c.at, p->ldc);                                                                 \
            else FORTRAN_NAME(t##herk)(letter(p->uplo), letter(p->trans), &p->n, &p->k, &alpha,    \
                                       matrix_a.at, &p->lda, &beta, matrix_c.at, &p->ldc, 1, 1);   \
        } else if (p->op == HEMM) {                                                                \
            if (p->order)                                                                          \
                CBLAS_PRODUCT(t##hemm, p->side, p->uplo, p->m, p->n, &alpha, &beta);               \
            else                                                                                   \
                FORTRAN_PRODUCT(t##hemm, p->side, p->uplo, p->m, p->n);                            \
        } else if (p->order) {                                                                     \
            CBLAS_PRODUCT(t##her2k, p->uplo, p->trans, p->n, p->k, &alpha, beta.real);             \
        } else {                                                                                   \
            FORTRAN_PRODUCT(t##her2k, p->uplo, p->trans, p->n, p->k);                              \
        }                                                                                          \
    } while (0)

static void call(const struct call *p)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    switch (p->type + (is_hermitian(p) ? TYPES : 0)) {
    case TYPE_S:
        CALL_ALL(s, alpha.s, beta.s);
        break;
    case TYPE_D:
        CALL_ALL(d, alpha.d, beta.d);
        break;
    case TYPE_C:
        CALL_ALL(c, &alpha, &beta);
        break;
    case TYPE_Z:
        CALL_ALL(z, &alpha, &beta);
        break;
    case TYPES + TYPE_C:
        CALL_HERMITIAN(c, s);
        break;
    default:
        CALL_HERMITIAN(z, d);
    }
}

/* Whether a matrix's rows, as the operation counts them, are rows of memory. */
static int by_rows(const struct call *p)
{
    return p->order == 101;
}

/* --- Operands ------------------------------------------------------------------------------- */

/* Rows and columns of a matrix, as they lie in memory. */
struct extent {
    integer rows, columns;
};

static struct extent extent_of(const struct call *p, integer rows, integer columns)
{
    return by_rows(p) ? (struct extent){rows, columns} : (struct extent){columns, rows};
}

static struct extent extent_a(const struct call *p)
{
    if (has_side(p))
        return (struct extent){p->k, p->k};
    return p->trans == 111 ? extent_of(p, p->n, p->k) : extent_of(p, p->k, p->n);
}

static struct extent extent_b(const struct call *p)
{
    return has_side(p) ? extent_of(p, p->m, p->n) : extent_a(p);
}

static struct extent extent_c(const struct call *p)
{
    return extent_of(p, p->m, p->n);
}

/* From the first element to the last one. */
static int elements_of(struct extent extent, integer ld)
{
    return extent.rows && extent.columns ? (int)((extent.rows - 1) * ld + extent.columns) : 0;
}

/* Of sizes m, n and k what the operation has, and leading dimensions. */
static void set_size(struct call *p, integer m, integer n, integer k, integer pad)
{
    p->m = has_side(p) ? m : n;
    p->n = n;
    p->k = !has_side(p) ? k : p->side == 141 ? m : n;
    p->pad = pad;
    p->lda = extent_a(p).columns + pad;
    p->ldb = extent_b(p).columns + pad;
    p->ldc = extent_c(p).columns + pad;
    p->lda += !p->lda, p->ldb += !p->ldb, p->ldc += !p->ldc;
}

/* The scalars, as far as the operation has them. */
static void set_scalars(struct call *p, double complex alpha, double complex beta)
{
    p->alpha = is_complex(p) && p->op != HERK ? alpha : creal(alpha);
    p->beta = is_complex(p) && (!is_hermitian(p) || has_side(p)) ? beta : creal(beta);
    if (is_triangular(p))
        p->beta = 0;
}

/* Whether there is such a call, and no other number says the same. */
static int is_call(const struct call *p)
{
    if (is_hermitian(p) && !is_complex(p))
        return 0;
    if (!is_triangular(p) && p->diag != 131)
        return 0;
    if (has_side(p))
        return is_triangular(p) || p->trans == 111;
    return p->side == 141 && !(is_complex(p) && p->trans == (is_hermitian(p) ? 112 : 113));
}

/* One of FORMS in which each operation, type, order, side, triangle, transpose and diagonal come
 * together, is_call() or not. */
enum { FORMS = OPERATIONS * TYPES * 3 * 24 };

static struct call form_of(int form)
{
    static const int orders[] = {0, 101, 102};
    return (struct call){.op = form % OPERATIONS,
                         .type = form / OPERATIONS % TYPES,
                         .order = orders[form / OPERATIONS / TYPES % 3],
                         .side = 141 + form / OPERATIONS / TYPES / 3 % 2,
                         .uplo = 121 + form / OPERATIONS / TYPES / 6 % 2,
                         .trans = 111 + form / OPERATIONS / TYPES / 12 % 3,
                         .diag = 131 + form / OPERATIONS / TYPES / 36};
}

/* Where element (i,j) of a matrix lies. */
static int place(const struct call *p, int i, int j, integer ld)
{
    return (int)(by_rows(p) ? i * ld + j : j * ld + i);
}

static int is_stored(const struct call *p, int i, int j)
{
    return p->uplo == 121 ? i <= j : i >= j;
}

static void fill_plain(const struct call *p, const struct matrix *matrix, integer ld,
                       uint64_t *seed)
{
    for (int i = 0; i < matrix->elements; i++) {
        double re = (double)xt_random(seed), im = (double)xt_random(seed);
        int padding = i % ld >= ld - p->pad;
        set(p->type, matrix->at, i, padding ? CMPLX(NAN, NAN) : CMPLX(re, im));
    }
}

/* Padding, the triangle that is not stored, and a diagonal of ones, are NaN; one that is real in
 * its imaginary part. What is solved does not grow without bounds. */
static void fill(const struct call *p)
{
    uint64_t seed = 1;
    fill_plain(p, &matrix_a, p->lda, &seed);
    fill_plain(p, &matrix_b, p->ldb, &seed);
    fill_plain(p, &matrix_old, p->ldc, &seed);
    for (int i = 0; i < matrix_old.elements && p->beta == 0 && !is_triangular(p); i++)
        set(p->type, matrix_old.at, i, CMPLX(NAN, NAN));
    for (int i = 0; i < p->k && has_side(p); i++)
        for (int j = 0; j < p->k; j++) {
            const int at = place(p, i, j, p->lda), diagonal = i == j;
            double complex x = get(p->type, matrix_a.at, at);
            if (is_triangular(p))
                x = diagonal ? CMPLX(4 + 0.5 * (double)p->k, 1) : x * 64 / (64 + (double)p->k);
            if (p->op == HEMM && diagonal)
                x = CMPLX(creal(x), NAN);
            if (!is_stored(p, i, j) || (diagonal && is_triangular(p) && p->diag == 132))
                x = CMPLX(NAN, NAN);
            set(p->type, matrix_a.at, at, x);
        }
    memcpy(matrix_c.at, matrix_old.at, (size_t)matrix_c.elements * type_bytes[p->type]);
}

/* --- The definition -------------------------------------------------------------------------- */

/* Of the operand that has a structure, (k,k), element (i,j) of op(A). */
static double complex structured(const struct call *p, int i, int j)
{
    int row = is_triangular(p) && p->trans != 111 ? j : i, column = row == i ? j : i;
    int stored = is_stored(p, row, column);
    if (is_triangular(p) && row == column && p->diag == 132)
        return 1;
    if (is_triangular(p) && !stored)
        return 0;
    double complex x = stored ? get(p->type, matrix_a.at, place(p, row, column, p->lda))
                              : get(p->type, matrix_a.at, place(p, column, row, p->lda));
    if (p->op == HEMM)
        return row == column ? creal(x) : stored ? x : conj(x);
    return is_triangular(p) && p->trans == 113 ? conj(x) : x;
}

/* Element (i,l) of op(X), of an operand that has none. */
static double complex plain(const struct call *p, const void *matrix, integer ld, int i, int l)
{
    double complex x =
        get(p->type, matrix, p->trans == 111 ? place(p, i, l, ld) : place(p, l, i, ld));
    return p->trans == 113 ? conj(x) : x;
}

struct sum {
    double complex value;
    double size;
};

static void add(struct sum *sum, double complex x, double complex y)
{
    sum->value += x * y;
    sum->size += magnitude(x) * magnitude(y);
}

static double complex conj_if(int yes, double complex x)
{
    return yes ? conj(x) : x;
}

/* What C[i,j] is to be; of TRSM, what is to be 0. */
static struct sum exact(const struct call *p, int i, int j)
{
    struct sum sum = {0, 0};
    const char *other = p->op == TRSM ? matrix_c.at : p->op == TRMM ? matrix_old.at : matrix_b.at;
    integer ld = is_triangular(p) ? p->ldc : p->ldb;
    double complex alpha = p->op == TRSM ? 1 : p->alpha;
    for (int l = 0; l < p->k && has_side(p); l++)
        if (p->side == 141)
            add(&sum, alpha * structured(p, i, l), get(p->type, other, place(p, l, j, ld)));
        else
            add(&sum, alpha * get(p->type, other, place(p, i, l, ld)), structured(p, l, j));
    int hermitian = is_hermitian(p);
    for (int l = 0; l < p->k && !has_side(p); l++) {
        const char *second = p->op == HERK ? matrix_a.at : matrix_b.at;
        integer ld2 = p->op == HERK ? p->lda : p->ldb;
        add(&sum, alpha * plain(p, matrix_a.at, p->lda, i, l),
            conj_if(hermitian, plain(p, second, ld2, j, l)));
        if (p->op != HERK)
            add(&sum, conj_if(hermitian, alpha) * plain(p, matrix_b.at, p->ldb, i, l),
                conj_if(hermitian, plain(p, matrix_a.at, p->lda, j, l)));
    }
    double complex old = get(p->type, matrix_old.at, place(p, i, j, p->ldc));
    if (p->op == TRSM)
        add(&sum, -p->alpha, old);
    else if (p->beta != 0)
        add(&sum, p->beta, i == j && hermitian && !has_side(p) ? creal(old) : old);
    return sum;
}

/* Of larger problems one element in so many is judged. */
enum { JUDGED = 1 << 19 };

/* True when every element of C is right, and everything else is as it was. */
static int is_right(const struct call *p)
{
    /* BLAS may return at once, and leave imaginary parts of a Hermitian diagonal. */
    const int nothing = p->beta == 1 && (p->alpha == 0 || p->k == 0);
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    const size_t bytes = type_bytes[p->type];
    const int step = (int)((double)p->m * (double)p->n * (double)p->k / JUDGED) | 1;
    for (int at = 0; at < matrix_c.elements; at++) {
        int i = (int)(by_rows(p) ? at / p->ldc : at % p->ldc);
        int j = (int)(by_rows(p) ? at % p->ldc : at / p->ldc);
        int there = i < p->m && j < p->n && (has_side(p) || is_stored(p, i, j));
        int kept =
            !memcmp(matrix_c.at + (size_t)at * bytes, matrix_old.at + (size_t)at * bytes, bytes);
        if (!there && !kept)
            return 0;
        if (!there || (nothing && kept) || at % step)
            continue;
        struct sum sum = exact(p, i, j);
        double complex got = get(p->type, matrix_c.at, at);
        double off = cabs(p->op == TRSM ? sum.value : got - sum.value);
        if (!(off <= (double)(2 * p->k + 4) * unit * sum.size))
            return 0;
        if (i == j && is_hermitian(p) && !has_side(p) && cimag(got) != 0)
            return 0;
    }
    return 1;
}

static inline void print_call(const struct call *p)
{
    const char *name = names[p->op];
    const char type = "sdcz"[p->type];
    printf("%c%s order %d side %d uplo %d trans %d diag %d size %d %d %d ld %d %d %d", type, name,
           p->order, p->side, p->uplo, p->trans, p->diag, (int)p->m, (int)p->n, (int)p->k,
           (int)p->lda, (int)p->ldb, (int)p->ldc);
}

/* Judges what came of the call, and prints a hash of C. */
static inline void judge_call(const struct call *p)
{
    unsigned hash = 2166136261u;
    int right = is_right(p);
    for (size_t i = 0; i < (size_t)matrix_c.elements * type_bytes[p->type]; i++)
        hash = (hash ^ ((unsigned char *)matrix_c.at)[i]) * 16777619u;
    print_call(p);
    printf(" alpha %g beta %g %s %08x\n", creal(p->alpha), creal(p->beta),
           right ? "right" : "WRONG", hash);
    XT_CHECK(right, "%c%s", "sdcz"[p->type], names[p->op]);
}

#endif
