/* SPDX-License-Identifier: MIT */
/*
 * Calls the Level 3 operations of every type, in any form. To define before: CALL_INT;
 * CBLAS_NAME(name) and FORTRAN_NAME(name) where names are spelled otherwise; WITH_FORTRAN=0 for a
 * BLAS that has only the C interface; for a BLAS without some operations, those that are called:
 * WITH_PRODUCTS (GEMM and SYRK), WITH_GEMMT=gemmt or =gemmtr, WITH_STRUCTURED (the others; the
 * default).
 */
#ifndef PRELOAD_CALLS_H
#define PRELOAD_CALLS_H

#include "numbers.h"
#include "tests/support/xt.h"

typedef CALL_INT integer;

#ifndef CBLAS_NAME
#define CBLAS_NAME(name) cblas_##name
#define FORTRAN_NAME(name) name##_
#endif
#ifndef WITH_FORTRAN
#define WITH_FORTRAN 1
#endif
#if !defined WITH_PRODUCTS && !defined WITH_GEMMT
#define WITH_STRUCTURED
#endif
/* The function that is called for a name. */
#ifndef CALLED
#define CALLED(name) name
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
#define DECLARE_GEMM(name, scalar)                                                                 \
    void CBLAS_NAME(name)(int order, int transa, int transb, integer m, integer n, integer k,      \
                          scalar alpha, const void *a, integer lda, const void *b, integer ldb,    \
                          scalar beta, void *c, integer ldc);                                      \
    void FORTRAN_NAME(name)(const char *transa, const char *transb, const integer *m,              \
                            const integer *n, const integer *k, const void *alpha, const void *a,  \
                            const integer *lda, const void *b, const integer *ldb,                 \
                            const void *beta, void *c, const integer *ldc, size_t transa_length,   \
                            size_t transb_length);
#define DECLARE_GEMMT(name, scalar)                                                                \
    void CBLAS_NAME(name)(int order, int uplo, int transa, int transb, integer n, integer k,       \
                          scalar alpha, const void *a, integer lda, const void *b, integer ldb,    \
                          scalar beta, void *c, integer ldc);                                      \
    void FORTRAN_NAME(name)(const char *uplo, const char *transa, const char *transb,              \
                            const integer *n, const integer *k, const void *alpha, const void *a,  \
                            const integer *lda, const void *b, const integer *ldb,                 \
                            const void *beta, void *c, const integer *ldc, size_t uplo_length,     \
                            size_t transa_length, size_t transb_length);
#define DECLARE_STRIDED(name, scalar)                                                              \
    void CBLAS_NAME(name)(int order, int transa, int transb, integer m, integer n, integer k,      \
                          scalar alpha, const void *a, integer lda, integer stridea,               \
                          const void *b, integer ldb, integer strideb, scalar beta, void *c,       \
                          integer ldc, integer stridec, integer count);                            \
    void FORTRAN_NAME(name)(const char *transa, const char *transb, const integer *m,              \
                            const integer *n, const integer *k, const void *alpha, const void *a,  \
                            const integer *lda, const integer *stridea, const void *b,             \
                            const integer *ldb, const integer *strideb, const void *beta, void *c, \
                            const integer *ldc, const integer *stridec, const integer *count,      \
                            size_t transa_length, size_t transb_length);
#define DECLARE_BATCH(name)                                                                        \
    void CBLAS_NAME(name)(int order, const int *transa, const int *transb, const integer *m,       \
                          const integer *n, const integer *k, const void *alpha,                   \
                          const void *const *a, const integer *lda, const void *const *b,          \
                          const integer *ldb, const void *beta, void *const *c,                    \
                          const integer *ldc, integer groups, const integer *size);                \
    void FORTRAN_NAME(name)(const char *transa, const char *transb, const integer *m,              \
                            const integer *n, const integer *k, const void *alpha,                 \
                            const void *const *a, const integer *lda, const void *const *b,        \
                            const integer *ldb, const void *beta, void *const *c,                  \
                            const integer *ldc, const integer *groups, const integer *size,        \
                            size_t transa_length, size_t transb_length);
/* SYR2K's arguments have SYMM's types: uplo and trans for side and uplo, n and k for m and n. */
#define DECLARE_ALL(t, scalar)                                                                     \
    DECLARE_PRODUCT(t##symm, scalar, scalar)                                                       \
    DECLARE_PRODUCT(t##syr2k, scalar, scalar)                                                      \
    DECLARE_TRIANGULAR(t##trmm, scalar)                                                            \
    DECLARE_TRIANGULAR(t##trsm, scalar)                                                            \
    DECLARE_GEMM(t##gemm, scalar)                                                                  \
    DECLARE_RANK_K(t##syrk, scalar)                                                                \
    DECLARE_GEMMT(t##gemmt, scalar)                                                                \
    DECLARE_GEMMT(t##gemmtr, scalar)                                                               \
    DECLARE_STRIDED(t##gemm_batch_strided, scalar)                                                 \
    DECLARE_BATCH(t##gemm_batch)
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

enum { HERK, SYMM, HEMM, SYR2K, HER2K, TRMM, TRSM, GEMM, SYRK, GEMMT, OPERATIONS };

static const char *const names[] = {"herk", "symm", "hemm", "syr2k", "her2k",
                                    "trmm", "trsm", "gemm", "syrk",  "gemmt"};

/* The operands, and C before the call, in the type that is called, with the number of elements that
 * a call may touch. */
struct matrix {
    char *at;
    int elements;
};
static struct matrix matrix_a, matrix_b, matrix_c, matrix_old;

struct call {
    int op, type;
    int order;                                            /* 101, 102; 0: Fortran, column-major */
    int side, uplo, trans, transb, diag;                  /* in the C interface's numbers */
    const char *spelled, *spelled_trans, *spelled_transb; /* Fortran's; NULL: the letter */
    integer m, n, k, lda, ldb, ldc, pad;
    double complex alpha, beta;
};

/* Fortran's letter for a number of the C interface; for an invalid number, an invalid letter. */
static const char *letter(int number)
{
    static const char *const letters[][3] = {
        {"N", "t", "C"}, {"U", "l", "X"}, {"N", "u", "X"}, {"L", "r", "X"}};
    int group = (number - 111) / 10, at = (number - 111) % 10;
    return number >= 111 && group < 4 && at < 3 ? letters[group][at] : "X";
}

/* Calls the C interface if p has an order, else Fortran's. */
#define CALL_EITHER(name, cblas, fortran)                                                          \
    do {                                                                                           \
        if (p->order)                                                                              \
            CALLED(CBLAS_NAME(name)) cblas;                                                        \
        else if (WITH_FORTRAN)                                                                     \
            CALLED(FORTRAN_NAME(name)) fortran;                                                    \
    } while (0)
#define CALL_PRODUCT(name, first, second, rows, columns, by, add)                                  \
    CALL_EITHER(                                                                                   \
        name, (p->order, first, second, rows, columns, by, a, p->lda, b, p->ldb, add, c, p->ldc),  \
        (letter(first), letter(second), &rows, &columns, &alpha, a, &p->lda, b, &p->ldb, &beta, c, \
         &p->ldc, 1, 1))
#define CALL_SIDED(name, by, add) CALL_PRODUCT(name, p->side, p->uplo, p->m, p->n, by, add)
#define CALL_RANK_2K(name, by, add) CALL_PRODUCT(name, p->uplo, p->trans, p->n, p->k, by, add)
#define CALL_RANK_K(name, by, add)                                                                 \
    CALL_EITHER(name, (p->order, p->uplo, p->trans, p->n, p->k, by, a, p->lda, add, c, p->ldc),    \
                (uplo, trans, &p->n, &p->k, &alpha, a, &p->lda, &beta, c, &p->ldc, strlen(uplo),   \
                 strlen(trans)))
#define CALL_TRIANGULAR(name, by, add)                                                             \
    CALL_EITHER(                                                                                   \
        name,                                                                                      \
        (p->order, p->side, p->uplo, p->trans, p->diag, p->m, p->n, by, a, p->lda, c, p->ldc),     \
        (letter(p->side), uplo, trans, letter(p->diag), &p->m, &p->n, &alpha, a, &p->lda, c,       \
         &p->ldc, 1, 1, 1, 1))
#define CALL_GEMM(name, by, add)                                                                   \
    CALL_EITHER(name,                                                                              \
                (p->order, p->trans, p->transb, p->m, p->n, p->k, by, a, p->lda, b, p->ldb, add,   \
                 c, p->ldc),                                                                       \
                (trans, transb, &p->m, &p->n, &p->k, &alpha, a, &p->lda, b, &p->ldb, &beta, c,     \
                 &p->ldc, strlen(trans), strlen(transb)))
#define CALL_GEMMT(name, by, add)                                                                  \
    CALL_EITHER(name,                                                                              \
                (p->order, p->uplo, p->trans, p->transb, p->n, p->k, by, a, p->lda, b, p->ldb,     \
                 add, c, p->ldc),                                                                  \
                (uplo, trans, transb, &p->n, &p->k, &alpha, a, &p->lda, b, &p->ldb, &beta, c,      \
                 &p->ldc, strlen(uplo), strlen(trans), strlen(transb)))

#define CALL_TYPE(name, how)                                                                       \
    if (p->type == TYPE_S)                                                                         \
        how(s##name, alpha.s, beta.s);                                                             \
    else if (p->type == TYPE_D)                                                                    \
        how(d##name, alpha.d, beta.d);                                                             \
    else if (p->type == TYPE_C)                                                                    \
        how(c##name, &alpha, &beta);                                                               \
    else                                                                                           \
        how(z##name, &alpha, &beta)
#define CALL_TYPE_OF(name, how) CALL_TYPE(name, how)

static inline void call(const struct call *p)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    const char *uplo = p->spelled ? p->spelled : letter(p->uplo);
    const char *trans = p->spelled_trans ? p->spelled_trans : letter(p->trans);
    const char *transb = p->spelled_transb ? p->spelled_transb : letter(p->transb);
    const void *a = matrix_a.at, *b = matrix_b.at;
    void *c = matrix_c.at;
    (void)uplo, (void)trans, (void)transb, (void)b;
    switch (p->op) {
#ifdef WITH_STRUCTURED
    case SYMM:
        CALL_TYPE(symm, CALL_SIDED);
        break;
    case SYR2K:
        CALL_TYPE(syr2k, CALL_RANK_2K);
        break;
    case TRMM:
        CALL_TYPE(trmm, CALL_TRIANGULAR);
        break;
    case TRSM:
        CALL_TYPE(trsm, CALL_TRIANGULAR);
        break;
    case HEMM:
        if (p->type == TYPE_C)
            CALL_SIDED(chemm, &alpha, &beta);
        else
            CALL_SIDED(zhemm, &alpha, &beta);
        break;
    case HERK:
        if (p->type == TYPE_C)
            CALL_RANK_K(cherk, alpha.s, beta.s);
        else
            CALL_RANK_K(zherk, alpha.d, beta.d);
        break;
    case HER2K:
        if (p->type == TYPE_C)
            CALL_RANK_2K(cher2k, &alpha, beta.s);
        else
            CALL_RANK_2K(zher2k, &alpha, beta.d);
        break;
#endif
#ifdef WITH_PRODUCTS
    case GEMM:
        CALL_TYPE(gemm, CALL_GEMM);
        break;
    case SYRK:
        CALL_TYPE(syrk, CALL_RANK_K);
        break;
#endif
#ifdef WITH_GEMMT
    case GEMMT:
        CALL_TYPE_OF(WITH_GEMMT, CALL_GEMMT);
        break;
#endif
    default:
        exit(XT_HARD);
    }
}

#endif
