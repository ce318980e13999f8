/* SPDX-License-Identifier: MIT */
/* One call of a Level 3 routine through its Fortran name, cuBLASXt or cuBLAS.
 */
#ifndef BENCH_BLAS_H
#define BENCH_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* The arguments of a routine. */
enum blas_family {
    BLAS_GEMM,  /* transa transb m n k alpha a lda b ldb beta c ldc */
    BLAS_SYRK,  /* uplo trans n k alpha a lda beta c ldc */
    BLAS_SYR2K, /* uplo trans n k alpha a lda b ldb beta c ldc */
    BLAS_SYMM,  /* side uplo m n alpha a lda b ldb beta c ldc */
    BLAS_TRMM,  /* side uplo transa diag m n alpha a lda b ldb, in place; cuBLAS has a separate
                 * result */
    BLAS_TRSM,  /* side uplo transa diag m n alpha a lda b ldb, in place */
};

struct blas_routine {
    const char *name; /* without its type: gemm */
    const char *types;
    enum blas_family family;
    const char *letters; /* default character arguments */
    const char *first;   /* the allowed letters of each; the index is cuBLAS's value: */
    const char *second, *third, *fourth;
};

/* Column-major, operands without padding. Matrices are in host memory or, for cuBLAS, in device
 * memory. */
struct blas_call {
    const struct blas_routine *routine;
    char type;       /* s d c z */
    char letters[5]; /* the character arguments, lower case, ended by 0 */
    int m, n, k;     /* gemm: all; syrk, syr2k: n and k; the others: m and n */
    const void *a, *b;
    void *c; /* the result; B of trmm and trsm */
};

/* Parses a call: dgemm:4096, ssyrk:8192x512:lt, strsm:1000x2000:lunn. A single size is used for all
 * extents. False if the text is invalid. */
bool blas_parse(struct blas_call *call, const char *text);

size_t blas_elem_bytes(char type);

/* Rows and columns of an operand; columns 0: the routine has no such operand. */
struct blas_extent {
    int rows, columns;
};
struct blas_extent blas_a(const struct blas_call *call);
struct blas_extent blas_b(const struct blas_call *call);
struct blas_extent blas_c(const struct blas_call *call);

/* Whether the routine computes this element of C. */
bool blas_computes(const struct blas_call *call, int row, int column);

/* Floating-point operations, as LAPACK counts them; a complex product counts four times a real one.
 */
double blas_flops(const struct blas_call *call);

/* Bytes that must go to a device, and that must come back; beta is 0. */
double blas_bytes_up(const struct blas_call *call);
double blas_bytes_down(const struct blas_call *call);

/* The names: dgemm_, cublasXtDgemm, cublasDgemm_v2. */
enum blas_spelling { BLAS_FORTRAN, BLAS_CUBLASXT, BLAS_CUBLAS, BLAS_SPELLINGS };
void blas_name(const struct blas_call *call, enum blas_spelling spelling, char *name, size_t size);

/*
 * Calls the function with the call's name in that spelling, with alpha 1 and beta 0. handle: of
 * cuBLAS or cuBLASXt; unused for Fortran. Returns 0 or the function's status.
 */
int blas_run(const struct blas_call *call, enum blas_spelling spelling, void *function,
             void *handle);

#endif
