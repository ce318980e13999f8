/* SPDX-License-Identifier: MIT */
/*
 * A call in the terms of the BLAS standard, made from the lists of arguments (operations.h): read
 * from either interface, checked, and turned to the engine's normal form.
 */
#ifndef SHIM_TERMS_H
#define SHIM_TERMS_H

#include <string.h>

#include "args.h"

/* The numbers of the C interface and the letters that they stand for. */
#define SHIM_LETTERS_trans 111, "NTCR"
#define SHIM_LETTERS_transa SHIM_LETTERS_trans
#define SHIM_LETTERS_transb SHIM_LETTERS_trans
#define SHIM_LETTERS_uplo 121, "UL"
#define SHIM_LETTERS_diag 131, "NU"
#define SHIM_LETTERS_side 141, "LR"

/* Upper case; '\0' for a number without a meaning. */
static inline char shim_terms_letter_of(int number, int first, const char *letters)
{
    const unsigned index = (unsigned)number - (unsigned)first;
    return index < strlen(letters) ? letters[index] : '\0';
}

static inline char shim_terms_letter(const char *letter)
{
    return *letter >= 'a' && *letter <= 'z' ? (char)(*letter - 'a' + 'A') : *letter;
}

/* The number of a letter that has one. */
static inline int shim_terms_number_of(char letter, int first, const char *letters)
{
    return first + (int)(strchr(letters, letter) - letters);
}

/* An integer of a Fortran call at its address, and of a C call in its slot. */
static inline int64_t shim_terms_int(const void *value, int int_bytes)
{
    return int_bytes == 8 ? *(const int64_t *)value : *(const int32_t *)value;
}

/* Writes an element of an array of integers. */
static inline void shim_terms_put_int(void *at, int int_bytes, int64_t index, int64_t value)
{
    if (int_bytes == 8)
        ((int64_t *)at)[index] = value;
    else
        ((int32_t *)at)[index] = (int32_t)value;
}

static inline int64_t shim_terms_slot(int64_t value, int int_bytes)
{
    return int_bytes == 8 ? value : (int32_t)value;
}

/* shim_gemm_terms_read and so on for each operation. The functions are inlined, so that a caller
 * that needs only three dimensions reads only three integers. */
#define SHIM_TERMS_READ(op_, OP, context)                                                          \
    static inline __attribute__((always_inline, unused)) void shim_##op_##_terms_read(             \
        const struct shim_call *call, int int_bytes, struct shim_terms *t)                         \
    {                                                                                              \
        *t = (struct shim_terms){.op = XG_OP_##OP,                                                 \
                                 .type = call->symbol->type,                                       \
                                 .cblas = call->symbol->interface == SHIM_CBLAS,                   \
                                 .order = 102};                                                    \
        if (t->cblas) {                                                                            \
            const struct shim_##op_##_cblas *c = &call->op_##_cblas;                               \
            t->order = c->order;                                                                   \
            SHIM_EACH(OP, SHIM_TERM_CBLAS)                                                         \
        } else {                                                                                   \
            const struct shim_##op_##_fortran *f = &call->op_##_fortran;                           \
            SHIM_EACH(OP, SHIM_TERM_FORTRAN)                                                       \
        }                                                                                          \
    }

#define SHIM_TERM_CBLAS(role, name) t->name = SHIM_FROM_CBLAS_##role(c->name, name);
#define SHIM_FROM_CBLAS_LETTER(value, name) shim_terms_letter_of(value, SHIM_LETTERS_##name)
#define SHIM_FROM_CBLAS_INTEGER(value, name) shim_terms_slot(value, int_bytes)
#define SHIM_FROM_CBLAS_SCALAR(value, name)                                                        \
    ((struct shim_scalar_at){xg_type_is_complex(t->type) ? value.c : &value, t->type})
#define SHIM_FROM_CBLAS_REAL(value, name) ((struct shim_scalar_at){&value, xg_type_real(t->type)})
#define SHIM_FROM_CBLAS_MATRIX(value, name) value
#define SHIM_FROM_CBLAS_RESULT(value, name) (t->result = value)
#define SHIM_FROM_CBLAS_LETTERS(value, name) value
#define SHIM_FROM_CBLAS_INTEGERS(value, name) value
#define SHIM_FROM_CBLAS_SCALARS(value, name) value
#define SHIM_FROM_CBLAS_MATRICES(value, name) value
#define SHIM_FROM_CBLAS_RESULTS(value, name) value

#define SHIM_TERM_FORTRAN(role, name) t->name = SHIM_FROM_FORTRAN_##role(f->name);
#define SHIM_FROM_FORTRAN_LETTER(value) shim_terms_letter(value)
#define SHIM_FROM_FORTRAN_INTEGER(value) shim_terms_int(value, int_bytes)
#define SHIM_FROM_FORTRAN_SCALAR(value) ((struct shim_scalar_at){value, t->type})
#define SHIM_FROM_FORTRAN_REAL(value) ((struct shim_scalar_at){value, xg_type_real(t->type)})
#define SHIM_FROM_FORTRAN_MATRIX(value) value
#define SHIM_FROM_FORTRAN_RESULT(value) (t->result = value)
#define SHIM_FROM_FORTRAN_LETTERS(value) value
#define SHIM_FROM_FORTRAN_INTEGERS(value) value
#define SHIM_FROM_FORTRAN_SCALARS(value) value
#define SHIM_FROM_FORTRAN_MATRICES(value) value
#define SHIM_FROM_FORTRAN_RESULTS(value) value

SHIM_OPERATIONS(SHIM_TERMS_READ, )

static inline bool shim_terms_order_legal(const struct shim_terms *t)
{
    return !t->cblas || t->order == 101 || t->order == 102;
}

/* True if an int64_t can count the rows of `count` instances of m rows; no memory holds more. */
static inline bool shim_terms_count_legal(int64_t count, int64_t m)
{
    return count >= 0 && !__builtin_mul_overflow(count, m, &m);
}

/* True if a transpose is R, which only some libraries accept. */
static inline bool shim_terms_extended(const struct shim_terms *t)
{
    return !xg_type_is_complex(t->type) && (t->transa == 'R' || t->transb == 'R');
}

/*
 * The number of the first argument that the standard forbids, or 0. Some libraries accept more
 * (OpenBLAS takes lda = 0 for an empty matrix), so a call that is illegal here still goes to the
 * library, which decides. For a call of several groups, *t holds the arguments of one.
 */
int shim_terms_illegal(const struct shim_terms *t);

/* The number of the argument that has this offset in the terms. */
int shim_terms_position(const struct shim_terms *t, size_t argument);

/* The normal form of legal arguments; for a batch, that of its first product. */
void shim_terms_problem(const struct shim_terms *t, struct xg_problem *problem);

#endif
