/* SPDX-License-Identifier: MIT */
/* The signatures of an operation's functions, made from its list of arguments (operations.h). */
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

#endif
