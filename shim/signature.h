/* SPDX-License-Identifier: MIT */
/* The signatures of the functions, made from the lists of arguments (operations.h, routines.h). */
#ifndef SHIM_SIGNATURE_H
#define SHIM_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "operations.h"

/*
 * Every integer of a C call is taken as 64 bits, whatever the caller passed. In the 64-bit Linux
 * ABIs an int argument fills a whole register or stack slot, so these values are right for a
 * library of either width when passed on unchanged. Bits above an int are undefined: read these
 * values only through shim_args_read.
 */
_Static_assert(sizeof(void *) == 8, "an int argument must fill a slot as wide as int64_t");

/* X(role, name) for each argument of an operation. */
#define SHIM_EACH(OP, X) SHIM_##OP##_ARGUMENTS(X, X)

/* C types of the roles; scalar: the operation's own type, real: the type of its real part. */
#define SHIM_CBLAS_LETTER(scalar, real) int
#define SHIM_CBLAS_INTEGER(scalar, real) int64_t
#define SHIM_CBLAS_SCALAR(scalar, real) scalar
#define SHIM_CBLAS_REAL(scalar, real) real
#define SHIM_CBLAS_MATRIX(scalar, real) const void *
#define SHIM_CBLAS_RESULT(scalar, real) void *
#define SHIM_CBLAS_LETTERS(scalar, real) const int *
#define SHIM_CBLAS_INTEGERS(scalar, real) const void *
#define SHIM_CBLAS_SCALARS(scalar, real) const void *
#define SHIM_CBLAS_MATRICES(scalar, real) const void *const *
#define SHIM_CBLAS_RESULTS(scalar, real) void *const *

#define SHIM_FORTRAN_LETTER const char *
#define SHIM_FORTRAN_INTEGER const void *
#define SHIM_FORTRAN_SCALAR const void *
#define SHIM_FORTRAN_REAL const void *
#define SHIM_FORTRAN_MATRIX const void *
#define SHIM_FORTRAN_RESULT void *
#define SHIM_FORTRAN_LETTERS const char *
#define SHIM_FORTRAN_INTEGERS const void *
#define SHIM_FORTRAN_SCALARS const void *
#define SHIM_FORTRAN_MATRICES const void *const *
#define SHIM_FORTRAN_RESULTS void *const *

/* The member of union shim_scalar if the role is a scalar: `scalar` or `real`. */
#define SHIM_SCALAR_LETTER(scalar, real)
#define SHIM_SCALAR_INTEGER(scalar, real)
#define SHIM_SCALAR_SCALAR(scalar, real) scalar
#define SHIM_SCALAR_REAL(scalar, real) real
#define SHIM_SCALAR_MATRIX(scalar, real)
#define SHIM_SCALAR_RESULT(scalar, real)
#define SHIM_SCALAR_LETTERS(scalar, real)
#define SHIM_SCALAR_INTEGERS(scalar, real)
#define SHIM_SCALAR_SCALARS(scalar, real)
#define SHIM_SCALAR_MATRICES(scalar, real)
#define SHIM_SCALAR_RESULTS(scalar, real)

/* Expands to text for the roles that have a length in Fortran. */
#define SHIM_LENGTH_LETTER(text) text
#define SHIM_LENGTH_INTEGER(text)
#define SHIM_LENGTH_SCALAR(text)
#define SHIM_LENGTH_REAL(text)
#define SHIM_LENGTH_MATRIX(text)
#define SHIM_LENGTH_RESULT(text)
#define SHIM_LENGTH_LETTERS(text) text
#define SHIM_LENGTH_INTEGERS(text)
#define SHIM_LENGTH_SCALARS(text)
#define SHIM_LENGTH_MATRICES(text)
#define SHIM_LENGTH_RESULTS(text)

/* The parameters of a type's C interface, and of Fortran's, which are the same for all types. */
#define SHIM_CBLAS_PARAMETERS(OP, LETTER) int order SHIM_EACH(OP, SHIM_PARAMETER_##LETTER)
#define SHIM_PARAMETER_S(role, name) , SHIM_CBLAS_##role(float, float) name
#define SHIM_PARAMETER_D(role, name) , SHIM_CBLAS_##role(double, double) name
#define SHIM_PARAMETER_C(role, name) , SHIM_CBLAS_##role(const void *, float) name
#define SHIM_PARAMETER_Z(role, name) , SHIM_CBLAS_##role(const void *, double) name

#define SHIM_FORTRAN_PARAMETERS(OP)                                                                \
    SHIM_##OP##_ARGUMENTS(SHIM_PARAMETER_FIRST, SHIM_PARAMETER_NEXT)                               \
        SHIM_EACH(OP, SHIM_PARAMETER_LENGTH)
#define SHIM_PARAMETER_FIRST(role, name) SHIM_FORTRAN_##role name
#define SHIM_PARAMETER_NEXT(role, name) , SHIM_FORTRAN_##role name
#define SHIM_PARAMETER_LENGTH(role, name) SHIM_LENGTH_##role(SHIM_LENGTH_PARAMETER(name))
#define SHIM_LENGTH_PARAMETER(name) , size_t name##_length

/* X(i) for each word of a call of LAPACK of so many words (routines.h). */
#define SHIM_WORDS_1(X) X(0)
#define SHIM_WORDS_2(X) SHIM_WORDS_1(X), X(1)
#define SHIM_WORDS_3(X) SHIM_WORDS_2(X), X(2)
#define SHIM_WORDS_4(X) SHIM_WORDS_3(X), X(3)
#define SHIM_WORDS_5(X) SHIM_WORDS_4(X), X(4)
#define SHIM_WORDS_6(X) SHIM_WORDS_5(X), X(5)
#define SHIM_WORDS_7(X) SHIM_WORDS_6(X), X(6)
#define SHIM_WORDS_8(X) SHIM_WORDS_7(X), X(7)
#define SHIM_WORDS_9(X) SHIM_WORDS_8(X), X(8)
#define SHIM_WORDS_10(X) SHIM_WORDS_9(X), X(9)
#define SHIM_WORDS_11(X) SHIM_WORDS_10(X), X(10)
#define SHIM_WORDS_12(X) SHIM_WORDS_11(X), X(11)
#define SHIM_WORDS_13(X) SHIM_WORDS_12(X), X(12)
#define SHIM_WORDS_14(X) SHIM_WORDS_13(X), X(13)
#define SHIM_WORDS_15(X) SHIM_WORDS_14(X), X(14)
#define SHIM_WORDS_16(X) SHIM_WORDS_15(X), X(15)
#define SHIM_WORDS_17(X) SHIM_WORDS_16(X), X(16)
#define SHIM_WORDS_18(X) SHIM_WORDS_17(X), X(17)
#define SHIM_WORDS_19(X) SHIM_WORDS_18(X), X(18)
#define SHIM_WORDS_20(X) SHIM_WORDS_19(X), X(19)
#define SHIM_WORDS_21(X) SHIM_WORDS_20(X), X(20)
#define SHIM_WORDS_22(X) SHIM_WORDS_21(X), X(21)
#define SHIM_WORDS_23(X) SHIM_WORDS_22(X), X(22)
#define SHIM_WORDS_24(X) SHIM_WORDS_23(X), X(23)
#define SHIM_WORDS_25(X) SHIM_WORDS_24(X), X(24)
#define SHIM_WORDS_26(X) SHIM_WORDS_25(X), X(25)

#define SHIM_WORD_PARAMETER(i) uintptr_t w##i

#endif
