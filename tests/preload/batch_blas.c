/* SPDX-License-Identifier: MIT */
/*
 * A BLAS of plain loops with GEMM and its batches. It prints the calls that it refuses and, with
 * BATCH_BLAS_LOG, every call. Compiled by the preload tests, with CALL_INT; WITHOUT_BATCH leaves
 * GEMM alone, WITH_GEMMT=gemmt or =gemmtr adds that routine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "numbers.h"

struct product {
    int type, order, transa, transb;
    long m, n, k, lda, ldb, ldc;
    const void *alpha, *beta;
    int uplo; /* as the C interface counts; 0: all of C */
};

static void tell(const char *name, long count)
{
    if (getenv("BATCH_BLAS_LOG"))
        printf("blas: %s of %ld\n", name, count);
}

/* The C interface's number for a letter, or 0. */
static int number_of_letter(char letter)
{
    static const char letters[] = "NTCRntcr";
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? 111 + (int)(found - letters) % 4 : 0;
}

static int is_transposed(int trans)
{
    return trans == 112 || trans == 113;
}

/* The wrong argument, numbered as GEMM's without the order; -1: the order, 0: none. */
static int refused(const struct product *p)
{
    int row = p->order == 101, ta = is_transposed(p->transa), tb = is_transposed(p->transb);
    if (p->order != 101 && p->order != 102)
        return -1;
    if (p->transa < 111 || p->transa > 114)
        return 1;
    if (p->transb < 111 || p->transb > 114)
        return 2;
    if (p->m < 0 || p->n < 0 || p->k < 0)
        return p->m < 0 ? 3 : p->n < 0 ? 4 : 5;
    if (p->lda < 1 || p->lda < (row != ta ? p->k : p->m))
        return 8;
    if (p->ldb < 1 || p->ldb < (row != tb ? p->n : p->k))
        return 10;
    return p->ldc < 1 || p->ldc < (row ? p->n : p->m) ? 13 : 0;
}

/* Prints a refusal; the C interface counts the order as its first argument. */
static int says(const char *name, int argument)
{
    int is_c = !strncmp(name, "cblas", 5);
    if (argument)
        printf("blas: %s refuses argument %d\n", name, argument < 0 ? 1 : argument + is_c);
    return argument;
}

static double complex element(const struct product *p, const void *matrix, int trans, long i,
                              long j, long ld)
{
    long row = is_transposed(trans) ? j : i, column = is_transposed(trans) ? i : j;
    double complex x =
        get(p->type, matrix, (int)(p->order == 101 ? row * ld + column : column * ld + row));
    return trans >= 113 ? conj(x) : x;
}

static void multiply(const struct product *p, const void *a, const void *b, void *c)
{
    double complex alpha = get(p->type, p->alpha, 0), beta = get(p->type, p->beta, 0);
    for (long i = 0; i < p->m; i++)
        for (long j = 0; j < p->n; j++) {
            if (p->uplo && (p->uplo == 121 ? i > j : i < j))
                continue;
            int at = (int)(p->order == 101 ? i * p->ldc + j : j * p->ldc + i);
            double complex sum = 0;
            for (long l = 0; l < p->k && alpha != 0; l++)
                sum +=
                    element(p, a, p->transa, i, l, p->lda) * element(p, b, p->transb, l, j, p->ldb);
            sum = alpha != 0 ? alpha * sum : 0;
            set(p->type, c, at, beta != 0 ? sum + beta * get(p->type, c, at) : sum);
        }
}

static void one(const char *name, const struct product *p, const void *a, const void *b, void *c)
{
    tell(name, 1);
    if (!says(name, refused(p)))
        multiply(p, a, b, c);
}

#define NUMBER_OF(array, i) number_of_letter((array)[i])
#define ITSELF_OF(array, i) ((array)[i])
#define PRODUCT(at, trans, type)                                                                   \
    {                                                                                              \
        type, order, trans(transa, at), trans(transb, at), (long)m[at], (long)n[at], (long)k[at],  \
            (long)lda[at], (long)ldb[at], (long)ldc[at],                                           \
            (const char *)alpha + (size_t)(at)*type_bytes[type],                                   \
            (const char *)beta + (size_t)(at)*type_bytes[type], 0                                  \
    }

/* GEMM's Fortran arguments; the type of a scalar in the C interface, and its address. */
#define FORTRAN_GEMM                                                                               \
    const char *transa, const char *transb, const CALL_INT *m, const CALL_INT *n,                  \
        const CALL_INT *k, const void *alpha, const void *a, const CALL_INT *lda
#define SCALAR_s float
#define SCALAR_d double
#define SCALAR_c const void *
#define SCALAR_z const void *
#define ADDRESS_s(x) &x
#define ADDRESS_d(x) &x
#define ADDRESS_c(x) x
#define ADDRESS_z(x) x

/* The C interface's arguments. */
#define PASSED(t, T)                                                                               \
    {                                                                                              \
        T, order, transa, transb, m, n, k, lda, ldb, ldc, ADDRESS_##t(alpha), ADDRESS_##t(beta), 0 \
    }
#define GEMM(t, T)                                                                                 \
    void cblas_##t##gemm(int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k,    \
                         SCALAR_##t alpha, const void *a, CALL_INT lda, const void *b,             \
                         CALL_INT ldb, SCALAR_##t beta, void *c, CALL_INT ldc)                     \
    {                                                                                              \
        const struct product p = PASSED(t, T);                                                     \
        one("cblas_" #t "gemm", &p, a, b, c);                                                      \
    }                                                                                              \
    void t##gemm_(FORTRAN_GEMM, const void *b, const CALL_INT *ldb, const void *beta, void *c,     \
                  const CALL_INT *ldc)                                                             \
    {                                                                                              \
        const int order = 102;                                                                     \
        const struct product p = PRODUCT(0, NUMBER_OF, T);                                         \
        one(#t "gemm_", &p, a, b, c);                                                              \
    }
GEMM(s, TYPE_S)
GEMM(d, TYPE_D)
GEMM(c, TYPE_C)
GEMM(z, TYPE_Z)

#ifndef WITHOUT_BATCH
static void strided(const char *name, const struct product *p, const void *a, long stridea,
                    const void *b, long strideb, void *c, long stridec, long count)
{
    long bytes = (long)type_bytes[p->type];
    int argument = refused(p);
    tell(name, count);
    if (says(name, argument > 0             ? argument + (argument > 8) + (argument > 10)
                   : !argument && count < 0 ? 17
                                            : argument))
        return;
    for (long i = 0; i < count; i++)
        multiply(p, (const char *)a + i * stridea * bytes, (const char *)b + i * strideb * bytes,
                 (char *)c + i * stridec * bytes);
}

/* Checks the arguments of all groups, then computes. */
#define BATCH_BODY(name, trans, T, groups)                                                         \
    {                                                                                              \
        long first = 0;                                                                            \
        tell(name, groups);                                                                        \
        if ((groups) < 0) {                                                                        \
            says(name, 14);                                                                        \
            return;                                                                                \
        }                                                                                          \
        for (long at = 0; at < (groups); at++) {                                                   \
            const struct product p = PRODUCT(at, trans, T);                                        \
            int argument = refused(&p);                                                            \
            if (says(name, !argument && size[at] < 0 ? 15 : argument))                             \
                return;                                                                            \
        }                                                                                          \
        for (long at = 0; at < (groups); first += size[at], at++) {                                \
            const struct product p = PRODUCT(at, trans, T);                                        \
            for (long i = first; p.m && p.n && i < first + size[at]; i++)                          \
                multiply(&p, a[i], b[i], c[i]);                                                    \
        }                                                                                          \
    }

#define FORTRAN_BATCH                                                                              \
    const char *transa, const char *transb, const CALL_INT *m, const CALL_INT *n,                  \
        const CALL_INT *k, const void *alpha, const void *const *a, const CALL_INT *lda,           \
        const void *const *b, const CALL_INT *ldb, const void *beta, void *const *c,               \
        const CALL_INT *ldc, const CALL_INT *groups, const CALL_INT *size
#define CBLAS_BATCH                                                                                \
    int order, const int *transa, const int *transb, const CALL_INT *m, const CALL_INT *n,         \
        const CALL_INT *k, const void *alpha, const void *const *a, const CALL_INT *lda,           \
        const void *const *b, const CALL_INT *ldb, const void *beta, void *const *c,               \
        const CALL_INT *ldc, CALL_INT groups, const CALL_INT *size
#define FORTRAN_STRIDED                                                                            \
    FORTRAN_GEMM, const CALL_INT *stridea, const void *b, const CALL_INT *ldb,                     \
        const CALL_INT *strideb, const void *beta, void *c, const CALL_INT *ldc,                   \
        const CALL_INT *stridec, const CALL_INT *count
#define CBLAS_STRIDED(t)                                                                           \
    int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k, SCALAR_##t alpha,       \
        const void *a, CALL_INT lda, CALL_INT stridea, const void *b, CALL_INT ldb,                \
        CALL_INT strideb, SCALAR_##t beta, void *c, CALL_INT ldc, CALL_INT stridec, CALL_INT count

#define BATCH(t, T)                                                                                \
    void cblas_##t##gemm_batch(CBLAS_BATCH) BATCH_BODY("cblas_" #t "gemm_batch", ITSELF_OF, T,     \
                                                       groups) void t##gemm_batch_(FORTRAN_BATCH)  \
    {                                                                                              \
        const int order = 102;                                                                     \
        BATCH_BODY(#t "gemm_batch_", NUMBER_OF, T, *groups)                                        \
    }                                                                                              \
    void cblas_##t##gemm_batch_strided(CBLAS_STRIDED(t))                                           \
    {                                                                                              \
        const struct product p = PASSED(t, T);                                                     \
        strided("cblas_" #t "gemm_batch_strided", &p, a, stridea, b, strideb, c, stridec, count);  \
    }                                                                                              \
    void t##gemm_batch_strided_(FORTRAN_STRIDED)                                                   \
    {                                                                                              \
        const int order = 102;                                                                     \
        const struct product p = PRODUCT(0, NUMBER_OF, T);                                         \
        strided(#t "gemm_batch_strided_", &p, a, *stridea, b, *strideb, c, *stridec, *count);      \
    }
BATCH(s, TYPE_S)
BATCH(d, TYPE_D)
BATCH(c, TYPE_C)
BATCH(z, TYPE_Z)
#endif

#ifdef WITH_GEMMT
/* Like GEMM, with uplo in front and n for both m and n. */
static void triangle(const char *name, int uplo, struct product p, const void *a, const void *b,
                     void *c)
{
    int argument = refused(&p);
    tell(name, 1);
    if (argument >= 0 && uplo != 121 && uplo != 122)
        argument = 1;
    else if (argument > 0 && argument < 4)
        argument++;
    p.uplo = uplo;
    if (!says(name, argument))
        multiply(&p, a, b, c);
}

static int uplo_of_letter(char letter)
{
    return letter == 'U' || letter == 'u' ? 121 : letter == 'L' || letter == 'l' ? 122 : 0;
}

#define CBLAS_GEMMT(t)                                                                             \
    int order, int uplo, int transa, int transb, CALL_INT n, CALL_INT k, SCALAR_##t alpha,         \
        const void *a, CALL_INT lda, const void *b, CALL_INT ldb, SCALAR_##t beta, void *c,        \
        CALL_INT ldc
#define FORTRAN_GEMMT                                                                              \
    const char *uplo, const char *transa, const char *transb, const CALL_INT *n,                   \
        const CALL_INT *k, const void *alpha, const void *a, const CALL_INT *lda, const void *b,   \
        const CALL_INT *ldb, const void *beta, void *c, const CALL_INT *ldc
#define GEMMT(t, T, name)                                                                          \
    void cblas_##t##name(CBLAS_GEMMT(t))                                                           \
    {                                                                                              \
        const CALL_INT m = n;                                                                      \
        const struct product p = PASSED(t, T);                                                     \
        triangle("cblas_" #t #name, uplo, p, a, b, c);                                             \
    }                                                                                              \
    void t##name##_(FORTRAN_GEMMT)                                                                 \
    {                                                                                              \
        const int order = 102;                                                                     \
        const CALL_INT *const m = n;                                                               \
        const struct product p = PRODUCT(0, NUMBER_OF, T);                                         \
        triangle(#t #name "_", uplo_of_letter(*uplo), p, a, b, c);                                 \
    }
#define ALL_GEMMT(name)                                                                            \
    GEMMT(s, TYPE_S, name) GEMMT(d, TYPE_D, name) GEMMT(c, TYPE_C, name) GEMMT(z, TYPE_Z, name)
ALL_GEMMT(WITH_GEMMT)
#endif
