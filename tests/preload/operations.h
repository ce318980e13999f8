/* SPDX-License-Identifier: MIT */
/*
 * The definitions of the Level 3 operations: the forms of a call, its operands, and whether its
 * result is right. To define before: what calls.h names.
 */
#ifndef PRELOAD_OPERATIONS_H
#define PRELOAD_OPERATIONS_H

#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

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

/* Whether the operation has two operands with a transpose each. */
static int has_transb(const struct call *p)
{
    return p->op == GEMM || p->op == GEMMT;
}

/* Whether the operation's rows are rows of memory. */
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
    return p->trans == 111 ? extent_of(p, p->m, p->k) : extent_of(p, p->k, p->m);
}

static struct extent extent_b(const struct call *p)
{
    if (has_transb(p))
        return p->transb == 111 ? extent_of(p, p->k, p->n) : extent_of(p, p->n, p->k);
    return has_side(p) ? extent_of(p, p->m, p->n) : extent_a(p);
}

static struct extent extent_c(const struct call *p)
{
    return extent_of(p, p->m, p->n);
}

/* Counts from the first element to the last one, with the padding between rows. */
static inline int elements_of(struct extent extent, integer ld)
{
    return extent.rows && extent.columns ? (int)((extent.rows - 1) * ld + extent.columns) : 0;
}

/* Sets the sizes that the operation has, of m, n and k, and the leading dimensions. */
static void set_size(struct call *p, integer m, integer n, integer k, integer pad)
{
    p->m = has_side(p) || p->op == GEMM ? m : n;
    p->n = n;
    p->k = !has_side(p) ? k : p->side == 141 ? m : n;
    p->pad = pad;
    p->lda = extent_a(p).columns + pad;
    p->ldb = extent_b(p).columns + pad;
    p->ldc = extent_c(p).columns + pad;
    p->lda += !p->lda, p->ldb += !p->ldb, p->ldc += !p->ldc;
}

/* Sets the scalars: real where the operation's are, and 0 for a beta that it does not have. */
static void set_scalars(struct call *p, double complex alpha, double complex beta)
{
    p->alpha = is_complex(p) && p->op != HERK ? alpha : creal(alpha);
    p->beta = is_complex(p) && (!is_hermitian(p) || has_side(p)) ? beta : creal(beta);
    if (is_triangular(p))
        p->beta = 0;
}

/* Whether the form is a call. Of several forms that mean the same call only one is. */
static inline int is_call(const struct call *p)
{
    if (is_hermitian(p) && !is_complex(p))
        return 0;
    if (!is_triangular(p) && p->diag != 131)
        return 0;
    if (!has_transb(p) && p->transb != 111)
        return 0;
    if (has_side(p))
        return is_triangular(p) || p->trans == 111;
    if (has_transb(p))
        return p->side == 141 && (p->op == GEMMT || p->uplo == 121);
    return p->side == 141 && !(is_complex(p) && p->trans == (is_hermitian(p) ? 112 : 113));
}

/* Whether the program can call the function. */
static inline int is_called(const struct call *p)
{
#ifdef WITH_STRUCTURED
    if (p->op < GEMM)
        return 1;
#endif
#ifdef WITH_PRODUCTS
    if (p->op == GEMM || p->op == SYRK)
        return WITH_FORTRAN || p->order;
#endif
#ifdef WITH_GEMMT
    if (p->op == GEMMT)
        return 1;
#endif
    return 0;
}

/* The numbers of all combinations of operation, type, order, side, triangle, transpose and
 * diagonal, of which is_call() tells the real ones. */
enum { FORMS = OPERATIONS * TYPES * 3 * 24 * 3 };

static inline struct call form_of(int form)
{
    static const int orders[] = {0, 101, 102};
    return (struct call){.op = form % OPERATIONS,
                         .type = form / OPERATIONS % TYPES,
                         .order = orders[form / OPERATIONS / TYPES % 3],
                         .side = 141 + form / OPERATIONS / TYPES / 3 % 2,
                         .uplo = 121 + form / OPERATIONS / TYPES / 6 % 2,
                         .trans = 111 + form / OPERATIONS / TYPES / 12 % 3,
                         .diag = 131 + form / OPERATIONS / TYPES / 36 % 2,
                         .transb = 111 + form / OPERATIONS / TYPES / 72};
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

/* Sets to NaN the padding, the triangle that is not stored, a unit diagonal, and the imaginary part
 * of a Hermitian one. A dominant diagonal keeps solutions bounded. */
static inline void fill(const struct call *p)
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

/* Element (i,j) of op(A) for a structured operand (k,k). */
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

/* Element (i,l) of op(X) for an operand without structure. */
static double complex plain(const struct call *p, int trans, const void *matrix, integer ld, int i,
                            int l)
{
    double complex x = get(p->type, matrix, trans == 111 ? place(p, i, l, ld) : place(p, l, i, ld));
    return trans == 113 ? conj(x) : x;
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

/* The exact C[i,j]; for TRSM the residual, which should be 0. */
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
    const int hermitian = is_hermitian(p), is_rank_k = p->op == HERK || p->op == SYRK;
    const struct matrix *second = is_rank_k ? &matrix_a : &matrix_b;
    const integer second_ld = is_rank_k ? p->lda : p->ldb;
    for (int l = 0; l < p->k && !has_side(p); l++) {
        add(&sum, alpha * plain(p, p->trans, matrix_a.at, p->lda, i, l),
            has_transb(p) ? plain(p, p->transb, second->at, second_ld, l, j)
                          : conj_if(hermitian, plain(p, p->trans, second->at, second_ld, j, l)));
        if (p->op == SYR2K || p->op == HER2K)
            add(&sum, conj_if(hermitian, alpha) * plain(p, p->trans, matrix_b.at, p->ldb, i, l),
                conj_if(hermitian, plain(p, p->trans, matrix_a.at, p->lda, j, l)));
    }
    double complex old = get(p->type, matrix_old.at, place(p, i, j, p->ldc));
    if (p->op == TRSM)
        add(&sum, -p->alpha, old);
    else if (p->beta != 0)
        add(&sum, p->beta, i == j && hermitian && !has_side(p) ? creal(old) : old);
    return sum;
}

/* Above this many multiplications only every step-th element is checked. */
enum { JUDGED = 1 << 19 };

/* True when every element of C is right, and everything else is unchanged. */
static int is_right(const struct call *p)
{
    /* BLAS may return at once, and leave imaginary parts of a Hermitian diagonal. */
    const int nothing = p->beta == 1 && (p->alpha == 0 || p->k == 0);
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    const size_t bytes = type_bytes[p->type];
    const int step = (int)((double)p->m * (double)p->n * (double)p->k / JUDGED) | 1;
    const double roundings = (double)(p->op < GEMM ? 2 * p->k : p->k) + 4;
    for (int at = 0; at < matrix_c.elements; at++) {
        int i = (int)(by_rows(p) ? at / p->ldc : at % p->ldc);
        int j = (int)(by_rows(p) ? at % p->ldc : at / p->ldc);
        int there = i < p->m && j < p->n && (has_side(p) || p->op == GEMM || is_stored(p, i, j));
        int kept =
            !memcmp(matrix_c.at + (size_t)at * bytes, matrix_old.at + (size_t)at * bytes, bytes);
        if (!there && !kept)
            return 0;
        if (!there || (nothing && kept) || at % step)
            continue;
        struct sum sum = exact(p, i, j);
        double complex got = get(p->type, matrix_c.at, at);
        double off = cabs(p->op == TRSM ? sum.value : got - sum.value);
        if (!(off <= roundings * unit * sum.size))
            return 0;
        if (i == j && is_hermitian(p) && !has_side(p) && cimag(got) != 0)
            return 0;
    }
    return 1;
}

static inline void print_call(const struct call *p)
{
    printf("%c%s ", "sdcz"[p->type], names[p->op]);
    if (p->op < GEMM)
        printf("order %d side %d uplo %d trans %d diag %d", p->order, p->side, p->uplo, p->trans,
               p->diag);
    else if (p->order || !p->spelled)
        printf("order %d uplo %d trans %d %d", p->order, p->uplo, p->trans, p->transb);
    else
        printf("Fortran uplo %s trans %s %s", p->spelled, p->spelled_trans, p->spelled_transb);
    printf(" size %d %d %d ld %d %d %d", (int)p->m, (int)p->n, (int)p->k, (int)p->lda, (int)p->ldb,
           (int)p->ldc);
}

/* Checks the result of the call, and prints a hash of C. */
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

/* Makes a call in a child, because a BLAS may end the process, and prints the result. C's memory is
 * shared_memory(). */
static inline void call_in_child(const struct call *p)
{
    const size_t bytes = (size_t)matrix_c.elements * type_bytes[p->type];
    int result;
    memcpy(matrix_c.at, matrix_old.at, bytes);
    print_call(p);
    printf("\n");
    pid_t child = fork();
    if (child == 0) {
        call(p);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &result, 0) != child)
        exit(XT_HARD);
    printf("C %s, wait status %d\n",
           memcmp(matrix_c.at, matrix_old.at, bytes) ? "computed" : "untouched", result);
    xt_checks++;
}

/* Memory shared with child processes. */
static inline char *shared_memory(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(XT_HARD);
    return memory;
}

#endif
