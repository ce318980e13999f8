/* SPDX-License-Identifier: MIT */
/* The arguments of one call: as they arrived, checked as BLAS checks them, and normalised. */
#ifndef SHIM_ARGS_H
#define SHIM_ARGS_H

#include <stdint.h>

#include "../src/xg.h"
#include "symbols.h"

/*
 * Every integer of a C call is taken as 64 bits, whatever the caller passed: in the 64-bit Linux
 * ABIs an int argument fills a whole register or stack slot, so that these values, passed on
 * unchanged, are right for a library of either width. Bits above an int are undefined: look at them
 * only through shim_args_read.
 */
_Static_assert(sizeof(void *) == 8, "an int argument must fill a slot as wide as int64_t");
/* Fortran's integers come by address: those made here serve a library of either width. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "an int64_t must begin with its low half");

struct shim_cblas_args {
    int order, transa, transb;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
};

/* The lengths of the two strings are what Fortran compilers append; garbage when C called. */
struct shim_fortran_args {
    const char *transa, *transb;
    const void *m, *n, *k;
    const float *alpha, *a;
    const void *lda;
    const float *b;
    const void *ldb;
    const float *beta;
    float *c;
    const void *ldc;
    size_t transa_length, transb_length;
};

struct shim_call {
    const struct shim_symbol *symbol;
    union {
        struct shim_cblas_args cblas;     /* symbol->kind == SHIM_CBLAS */
        struct shim_fortran_args fortran; /* symbol->kind == SHIM_FORTRAN */
    };
};

struct shim_args {
    struct xg_sgemm product; /* valid when illegal == 0 */
    int illegal;             /* number of the first argument that the BLAS standard refuses, or 0 */
    bool extension;          /* R or 114 (conjugate, not transposed): some libraries refuse it */
};

/* The dimensions of the normalised product, unchecked, from integers of int_bytes (4 or 8). */
void shim_args_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                    int64_t *k);

/* Reads the call with integers of int_bytes (4 or 8) into *args. Follows no matrix pointer. */
void shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);

#endif
