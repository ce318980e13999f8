/* SPDX-License-Identifier: MIT */
/*
 * The intercepted operations as data: their arguments, types and spellings. All names, signatures,
 * entries and calls are made from them. A new operation needs a row here, its argument list, and a
 * row of args.c, which has the extents of its operands (doc/developer/operation.md).
 */
#ifndef SHIM_OPERATIONS_H
#define SHIM_OPERATIONS_H

/* X(name, NAME, context): name: BLAS's name without the type's letter; the engine's name is
 * XG_OP_NAME. A call of a single operation is one problem, and the shim can write the call of a
 * problem. */
#define SHIM_OPERATIONS(X, context) SHIM_SINGLE(X, context) SHIM_BATCHES(X, context)
#define SHIM_SINGLE(X, context)                                                                    \
    X(gemm, GEMM, context)                                                                         \
    X(syrk, SYRK, context)                                                                         \
    X(herk, HERK, context)                                                                         \
    X(symm, SYMM, context)                                                                         \
    X(hemm, HEMM, context)                                                                         \
    X(syr2k, SYR2K, context)                                                                       \
    X(her2k, HER2K, context)                                                                       \
    X(trmm, TRMM, context)                                                                         \
    X(trsm, TRSM, context)                                                                         \
    X(gemmt, GEMMT, context)                                                                       \
    X(gemv, GEMV, context)
#define SHIM_BATCHES(X, context)                                                                   \
    X(gemm_batch, GEMM_BATCH, context)                                                             \
    X(gemm_batch_strided, GEMM_BATCH_STRIDED, context)

/*
 * X(name, op, OP, context): a second name of an operation, with the same arguments and checks. It
 * is still a separate routine: a library may have one of the names, both or none, and a call is
 * passed on only under its own name. GEMMT is called GEMMTR in the reference BLAS of LAPACK 3.12.1;
 * OpenBLAS 0.3.29 has both names.
 */
#define SHIM_SYNONYMS(X, context) X(gemmtr, gemmt, GEMMT, context)

/*
 * SHIM_NAME_ARGUMENTS(FIRST, NEXT): role and name of each argument, in BLAS's order. The C
 * interface has the order of the matrices in front; Fortran compilers append the lengths of the
 * letters. Roles:
 *
 * - LETTER: a letter, which the name explains (terms.h); a number in the C interface.
 * - INTEGER: by address in Fortran.
 * - SCALAR: of the operation's type; by address in Fortran, and in C if it is complex.
 * - REAL: of the type of the operation's real part; by address in Fortran.
 * - MATRIX: an operand that is read; RESULT: an operand that is written.
 * - LETTERS, INTEGERS, SCALARS, MATRICES, RESULTS: arrays of these; the last two hold addresses.
 *   Both interfaces pass them alike, except that Fortran's letters are one character each.
 */
#define SHIM_GEMM_ARGUMENTS(FIRST, NEXT)                                                           \
    FIRST(LETTER, transa)                                                                          \
    NEXT(LETTER, transb)                                                                           \
    NEXT(INTEGER, m)                                                                               \
    NEXT(INTEGER, n)                                                                               \
    NEXT(INTEGER, k)                                                                               \
    SHIM_A_B_C(NEXT, SCALAR)

/* beta: its role. */
#define SHIM_A_B_C(NEXT, beta_role)                                                                \
    NEXT(SCALAR, alpha)                                                                            \
    NEXT(MATRIX, a)                                                                                \
    NEXT(INTEGER, lda)                                                                             \
    NEXT(MATRIX, b)                                                                                \
    NEXT(INTEGER, ldb)                                                                             \
    NEXT(beta_role, beta)                                                                          \
    NEXT(RESULT, c)                                                                                \
    NEXT(INTEGER, ldc)

#define SHIM_SYRK_ARGUMENTS(FIRST, NEXT) SHIM_RANK_K(FIRST, NEXT, SCALAR)
#define SHIM_HERK_ARGUMENTS(FIRST, NEXT) SHIM_RANK_K(FIRST, NEXT, REAL)
#define SHIM_RANK_K(FIRST, NEXT, role)                                                             \
    FIRST(LETTER, uplo)                                                                            \
    NEXT(LETTER, trans)                                                                            \
    NEXT(INTEGER, n)                                                                               \
    NEXT(INTEGER, k)                                                                               \
    NEXT(role, alpha)                                                                              \
    NEXT(MATRIX, a)                                                                                \
    NEXT(INTEGER, lda)                                                                             \
    NEXT(role, beta)                                                                               \
    NEXT(RESULT, c)                                                                                \
    NEXT(INTEGER, ldc)

#define SHIM_SYMM_ARGUMENTS(FIRST, NEXT)                                                           \
    FIRST(LETTER, side)                                                                            \
    NEXT(LETTER, uplo)                                                                             \
    NEXT(INTEGER, m)                                                                               \
    NEXT(INTEGER, n)                                                                               \
    SHIM_A_B_C(NEXT, SCALAR)
#define SHIM_HEMM_ARGUMENTS SHIM_SYMM_ARGUMENTS

#define SHIM_SYR2K_ARGUMENTS(FIRST, NEXT) SHIM_RANK_2K(FIRST, NEXT, SCALAR)
#define SHIM_HER2K_ARGUMENTS(FIRST, NEXT) SHIM_RANK_2K(FIRST, NEXT, REAL)
#define SHIM_RANK_2K(FIRST, NEXT, beta_role)                                                       \
    FIRST(LETTER, uplo)                                                                            \
    NEXT(LETTER, trans)                                                                            \
    NEXT(INTEGER, n)                                                                               \
    NEXT(INTEGER, k)                                                                               \
    SHIM_A_B_C(NEXT, beta_role)

#define SHIM_TRMM_ARGUMENTS(FIRST, NEXT)                                                           \
    FIRST(LETTER, side)                                                                            \
    NEXT(LETTER, uplo)                                                                             \
    NEXT(LETTER, trans)                                                                            \
    NEXT(LETTER, diag)                                                                             \
    NEXT(INTEGER, m)                                                                               \
    NEXT(INTEGER, n)                                                                               \
    NEXT(SCALAR, alpha)                                                                            \
    NEXT(MATRIX, a)                                                                                \
    NEXT(INTEGER, lda)                                                                             \
    NEXT(RESULT, b)                                                                                \
    NEXT(INTEGER, ldb)
#define SHIM_TRSM_ARGUMENTS SHIM_TRMM_ARGUMENTS

#define SHIM_GEMMT_ARGUMENTS(FIRST, NEXT)                                                          \
    FIRST(LETTER, uplo)                                                                            \
    NEXT(LETTER, transa)                                                                           \
    NEXT(LETTER, transb)                                                                           \
    NEXT(INTEGER, n)                                                                               \
    NEXT(INTEGER, k)                                                                               \
    SHIM_A_B_C(NEXT, SCALAR)

/* b is x, and c is y; ldb and ldc are their increments. */
#define SHIM_GEMV_ARGUMENTS(FIRST, NEXT)                                                           \
    FIRST(LETTER, trans)                                                                           \
    NEXT(INTEGER, m)                                                                               \
    NEXT(INTEGER, n)                                                                               \
    SHIM_A_B_C(NEXT, SCALAR)

/* A group has one element of each array, except that it has as many matrices as its size. */
#define SHIM_GEMM_BATCH_ARGUMENTS(FIRST, NEXT)                                                     \
    FIRST(LETTERS, transa_array)                                                                   \
    NEXT(LETTERS, transb_array)                                                                    \
    NEXT(INTEGERS, m_array)                                                                        \
    NEXT(INTEGERS, n_array)                                                                        \
    NEXT(INTEGERS, k_array)                                                                        \
    NEXT(SCALARS, alpha_array)                                                                     \
    NEXT(MATRICES, a_array)                                                                        \
    NEXT(INTEGERS, lda_array)                                                                      \
    NEXT(MATRICES, b_array)                                                                        \
    NEXT(INTEGERS, ldb_array)                                                                      \
    NEXT(SCALARS, beta_array)                                                                      \
    NEXT(RESULTS, c_array)                                                                         \
    NEXT(INTEGERS, ldc_array)                                                                      \
    NEXT(INTEGER, group_count)                                                                     \
    NEXT(INTEGERS, group_size)

#define SHIM_GEMM_BATCH_STRIDED_ARGUMENTS(FIRST, NEXT)                                             \
    FIRST(LETTER, transa)                                                                          \
    NEXT(LETTER, transb)                                                                           \
    NEXT(INTEGER, m)                                                                               \
    NEXT(INTEGER, n)                                                                               \
    NEXT(INTEGER, k)                                                                               \
    NEXT(SCALAR, alpha)                                                                            \
    NEXT(MATRIX, a)                                                                                \
    NEXT(INTEGER, lda)                                                                             \
    NEXT(INTEGER, stridea)                                                                         \
    NEXT(MATRIX, b)                                                                                \
    NEXT(INTEGER, ldb)                                                                             \
    NEXT(INTEGER, strideb)                                                                         \
    NEXT(SCALAR, beta)                                                                             \
    NEXT(RESULT, c)                                                                                \
    NEXT(INTEGER, ldc)                                                                             \
    NEXT(INTEGER, stridec)                                                                         \
    NEXT(INTEGER, batch_size)

/* X(letter, LETTER, op, OP, context...): the types, named as in the engine's XG_TYPE_LETTER;
 * SHIM_NAME_TYPES are those of an operation. */
#define SHIM_TYPES(X, op, OP, ...)                                                                 \
    X(s, S, op, OP, __VA_ARGS__)                                                                   \
    X(d, D, op, OP, __VA_ARGS__)                                                                   \
    SHIM_COMPLEX_TYPES(X, op, OP, __VA_ARGS__)
#define SHIM_COMPLEX_TYPES(X, op, OP, ...)                                                         \
    X(c, C, op, OP, __VA_ARGS__)                                                                   \
    X(z, Z, op, OP, __VA_ARGS__)
#define SHIM_GEMM_TYPES SHIM_TYPES
#define SHIM_SYRK_TYPES SHIM_TYPES
#define SHIM_HERK_TYPES SHIM_COMPLEX_TYPES
#define SHIM_SYMM_TYPES SHIM_TYPES
#define SHIM_HEMM_TYPES SHIM_COMPLEX_TYPES
#define SHIM_SYR2K_TYPES SHIM_TYPES
#define SHIM_HER2K_TYPES SHIM_COMPLEX_TYPES
#define SHIM_TRMM_TYPES SHIM_TYPES
#define SHIM_TRSM_TYPES SHIM_TYPES
#define SHIM_GEMMT_TYPES SHIM_TYPES
#define SHIM_GEMV_TYPES SHIM_TYPES
#define SHIM_GEMM_BATCH_TYPES SHIM_TYPES
#define SHIM_GEMM_BATCH_STRIDED_TYPES SHIM_TYPES

/*
 * Y(prefix, suffix, interface, bytes of an integer, plain, letter, LETTER, name, op, OP): the
 * spellings of one name, which is the operation's except for a synonym. A plain spelling does not
 * tell the width of its integers: Debian's libopenblas64.so.0 and libblas64.so.3 have 64 bits under
 * the same names.
 */
#define SHIM_SPELLINGS(Y, letter, LETTER, name, op, OP)                                            \
    Y(cblas_, , CBLAS, 4, true, letter, LETTER, name, op, OP)                                      \
    Y(, _, FORTRAN, 4, true, letter, LETTER, name, op, OP)                                         \
    Y(scipy_cblas_, , CBLAS, 4, false, letter, LETTER, name, op, OP)                               \
    Y(scipy_, _, FORTRAN, 4, false, letter, LETTER, name, op, OP)                                  \
    Y(cblas_, 64_, CBLAS, 8, false, letter, LETTER, name, op, OP)                                  \
    Y(, _64_, FORTRAN, 8, false, letter, LETTER, name, op, OP)                                     \
    Y(cblas_, _64, CBLAS, 8, false, letter, LETTER, name, op, OP)                                  \
    Y(scipy_cblas_, 64_, CBLAS, 8, false, letter, LETTER, name, op, OP)                            \
    Y(scipy_, _64_, FORTRAN, 8, false, letter, LETTER, name, op, OP)

/* Y for each name: the operations' names in the order of the engine's kinds, then the synonyms. */
#define SHIM_NAMES(Y) SHIM_OPERATION_NAMES(Y) SHIM_SYNONYMS(SHIM_SYNONYM_TYPES, Y)
#define SHIM_OPERATION_NAMES(Y) SHIM_OPERATIONS(SHIM_OPERATION_TYPES, Y)
#define SHIM_OPERATION_TYPES(op, OP, Y) SHIM_##OP##_TYPES(SHIM_NAME_SPELLINGS, op, OP, op, Y)
#define SHIM_SYNONYM_TYPES(name, op, OP, Y) SHIM_##OP##_TYPES(SHIM_NAME_SPELLINGS, op, OP, name, Y)
#define SHIM_NAME_SPELLINGS(letter, LETTER, op, OP, name, Y)                                       \
    SHIM_SPELLINGS(Y, letter, LETTER, name, op, OP)

#endif
