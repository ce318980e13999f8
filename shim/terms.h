/* SPDX-License-Identifier: MIT */
/*
 * A call in the terms of the BLAS standard, for both interfaces: letters are letters, integers are
 * numbers, and scalars lie at an address. Checks nothing.
 */
#ifndef SHIM_TERMS_H
#define SHIM_TERMS_H

#include "args.h"

/* Upper case; '\0' for a number of the C interface without a meaning. */
static inline char shim_terms_trans(int number)
{
    return number >= 111 && number <= 114 ? "NTCR"[number - 111] : '\0';
}

static inline char shim_terms_uplo(int number)
{
    return number == 121 ? 'U' : number == 122 ? 'L' : '\0';
}

static inline char shim_terms_side(int number)
{
    return number == 141 ? 'L' : number == 142 ? 'R' : '\0';
}

static inline char shim_terms_diag(int number)
{
    return number == 131 ? 'N' : number == 132 ? 'U' : '\0';
}

static inline char shim_terms_letter(const char *letter)
{
    return *letter >= 'a' && *letter <= 'z' ? (char)(*letter - 'a' + 'A') : *letter;
}

/* An integer of a Fortran call at its address, and of a C call in its slot. */
static inline int64_t shim_terms_int(const void *value, int int_bytes)
{
    return int_bytes == 8 ? *(const int64_t *)value : *(const int32_t *)value;
}

static inline int64_t shim_terms_slot(int64_t value, int int_bytes)
{
    return int_bytes == 8 ? value : (int32_t)value;
}

/* Element of an array of letters (numbers in the C interface), and of an array of integers. */
static inline char shim_terms_trans_at(const void *array, bool cblas, int64_t index)
{
    return cblas ? shim_terms_trans(((const int *)array)[index])
                 : shim_terms_letter((const char *)array + index);
}

static inline int64_t shim_terms_int_at(const void *array, int int_bytes, int64_t index)
{
    return shim_terms_int((const char *)array + index * int_bytes, int_bytes);
}

/* struct shim_gemm_terms and shim_gemm_terms_read, and so on for each operation. The functions are
 * inlined, so that a caller that needs only three dimensions reads only three integers. */
#define SHIM_TERMS(op, OP, context)                                                                \
    struct shim_##op##_terms {                                                                     \
        enum xg_type type;                                                                         \
        bool cblas; /* order was passed, and counts as the first argument */                       \
        int order;                                                                                 \
        SHIM_EACH(OP, SHIM_TERM)                                                                   \
    };                                                                                             \
    static inline __attribute__((always_inline, unused)) void shim_##op##_terms_read(              \
        const struct shim_call *call, int int_bytes, struct shim_##op##_terms *t)                  \
    {                                                                                              \
        t->type = call->symbol->type;                                                              \
        t->cblas = call->symbol->interface == SHIM_CBLAS;                                          \
        if (t->cblas) {                                                                            \
            const struct shim_##op##_cblas *c = &call->op##_cblas;                                 \
            t->order = c->order;                                                                   \
            SHIM_EACH(OP, SHIM_TERM_CBLAS);                                                        \
        } else {                                                                                   \
            const struct shim_##op##_fortran *f = &call->op##_fortran;                             \
            t->order = 102;                                                                        \
            SHIM_EACH(OP, SHIM_TERM_FORTRAN);                                                      \
        }                                                                                          \
    }

#define SHIM_TERM(role, name) SHIM_TERM_##role name;
#define SHIM_TERM_SIDE char
#define SHIM_TERM_UPLO char
#define SHIM_TERM_TRANS char
#define SHIM_TERM_DIAG char
#define SHIM_TERM_INTEGER int64_t
#define SHIM_TERM_SCALAR const void *
#define SHIM_TERM_REAL const void *
#define SHIM_TERM_MATRIX const void *
#define SHIM_TERM_RESULT void *
#define SHIM_TERM_TRANSES const void *
#define SHIM_TERM_INTEGERS const void *
#define SHIM_TERM_SCALARS const void *
#define SHIM_TERM_MATRICES const void *const *
#define SHIM_TERM_RESULTS void *const *

#define SHIM_TERM_CBLAS(role, name) t->name = SHIM_FROM_CBLAS_##role(c->name);
#define SHIM_FROM_CBLAS_SIDE(value) shim_terms_side(value)
#define SHIM_FROM_CBLAS_UPLO(value) shim_terms_uplo(value)
#define SHIM_FROM_CBLAS_TRANS(value) shim_terms_trans(value)
#define SHIM_FROM_CBLAS_DIAG(value) shim_terms_diag(value)
#define SHIM_FROM_CBLAS_INTEGER(value) shim_terms_slot(value, int_bytes)
#define SHIM_FROM_CBLAS_SCALAR(value) xg_type_is_complex(t->type) ? value.c : &value
#define SHIM_FROM_CBLAS_REAL(value) &value
#define SHIM_FROM_CBLAS_MATRIX(value) value
#define SHIM_FROM_CBLAS_RESULT(value) value
#define SHIM_FROM_CBLAS_TRANSES(value) value
#define SHIM_FROM_CBLAS_INTEGERS(value) value
#define SHIM_FROM_CBLAS_SCALARS(value) value
#define SHIM_FROM_CBLAS_MATRICES(value) value
#define SHIM_FROM_CBLAS_RESULTS(value) value

#define SHIM_TERM_FORTRAN(role, name) t->name = SHIM_FROM_FORTRAN_##role(f->name);
#define SHIM_FROM_FORTRAN_SIDE(value) shim_terms_letter(value)
#define SHIM_FROM_FORTRAN_UPLO(value) shim_terms_letter(value)
#define SHIM_FROM_FORTRAN_TRANS(value) shim_terms_letter(value)
#define SHIM_FROM_FORTRAN_DIAG(value) shim_terms_letter(value)
#define SHIM_FROM_FORTRAN_INTEGER(value) shim_terms_int(value, int_bytes)
#define SHIM_FROM_FORTRAN_SCALAR(value) value
#define SHIM_FROM_FORTRAN_REAL(value) value
#define SHIM_FROM_FORTRAN_MATRIX(value) value
#define SHIM_FROM_FORTRAN_RESULT(value) value
#define SHIM_FROM_FORTRAN_TRANSES(value) value
#define SHIM_FROM_FORTRAN_INTEGERS(value) value
#define SHIM_FROM_FORTRAN_SCALARS(value) value
#define SHIM_FROM_FORTRAN_MATRICES(value) value
#define SHIM_FROM_FORTRAN_RESULTS(value) value

SHIM_OPERATIONS(SHIM_TERMS, )

/* The number of the first illegal argument, from its number without the order. */
static inline int shim_terms_illegal(bool cblas, int order, int illegal)
{
    if (cblas && order != 101 && order != 102)
        return 1;
    return illegal ? illegal + cblas : 0;
}

/* Reads a scalar at an address. */
static inline void shim_terms_scalar(enum xg_type type, const void *at, double *re, double *im)
{
    const float *single = at;
    const double *twice = at;
    bool is_double = xg_type_is_double(type), is_complex = xg_type_is_complex(type);
    *re = is_double ? twice[0] : (double)single[0];
    *im = !is_complex ? 0 : is_double ? twice[1] : (double)single[1];
}

/* The meaning of a letter as an enum xg_trans; -1: it has none. For real numbers a conjugate is the
 * matrix itself. Some libraries accept R, a conjugate that is not transposed. */
static inline int shim_terms_meaning(enum xg_type type, char letter, bool *extension)
{
    bool is_complex = xg_type_is_complex(type);
    switch (letter) {
    case 'R':
        *extension = !is_complex;
        return is_complex ? -1 : XG_NO_TRANS;
    case 'N':
        return XG_NO_TRANS;
    case 'T':
        return XG_TRANS;
    case 'C':
        return is_complex ? XG_CONJ_TRANS : XG_TRANS;
    default:
        return -1;
    }
}

/* A number as the C interface takes it: by value if it is real. */
static inline union shim_scalar shim_terms_pass(enum xg_type type, const union shim_number *number)
{
    switch (type) {
    case XG_TYPE_S:
        return (union shim_scalar){.s = number->s};
    case XG_TYPE_D:
        return (union shim_scalar){.d = number->d};
    default:
        return (union shim_scalar){.c = number};
    }
}

/* The letter, and the number of the C interface, for a transpose. */
static inline const char *shim_terms_trans_letter(enum xg_trans trans)
{
    return trans == XG_NO_TRANS ? "N" : trans == XG_TRANS ? "T" : "C";
}

static inline int shim_terms_trans_number(enum xg_trans trans)
{
    return 111 + (int)trans;
}

#endif
