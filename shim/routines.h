/* SPDX-License-Identifier: MIT */
/*
 * The intercepted routines of LAPACK as data: their names, types and arguments. All names, entries
 * and calls are made from them. A new routine needs a row here and a reader of its arguments in
 * routine_read.c.
 */
#ifndef SHIM_ROUTINES_H
#define SHIM_ROUTINES_H

#include <stdint.h>

/*
 * X(list, words, letters, arguments...): the lists of arguments, in LAPACK's order. Fortran passes
 * all by address, and appends the lengths of the letters, which fill a word each; `words` counts
 * both. A C program may pass no lengths, so nothing reads them. The lists of the real and the
 * complex routine begin alike, up to the length of the first workspace, except those of geev.
 */
#define SHIM_LISTS(X)                                                                              \
    X(potrf, 6, 1, uplo, n, a, lda, info)                                                          \
    X(potrs, 9, 1, uplo, n, nrhs, a, lda, b, ldb, info)                                            \
    X(trtri, 8, 2, uplo, diag, n, a, lda, info)                                                    \
    X(getrf, 6, 0, m, n, a, lda, ipiv, info)                                                       \
    X(getrs, 10, 1, trans, n, nrhs, a, lda, ipiv, b, ldb, info)                                    \
    X(gesv, 8, 0, n, nrhs, a, lda, ipiv, b, ldb, info)                                             \
    X(getri, 7, 0, n, a, lda, ipiv, work, lwork, info)                                             \
    X(geqrf, 8, 0, m, n, a, lda, tau, work, lwork, info)                                           \
    X(orgqr, 9, 0, m, n, k, a, lda, tau, work, lwork, info)                                        \
    X(ormqr, 15, 2, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info)                  \
    X(gels, 12, 1, trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info)                           \
    X(gelsd, 14, 0, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork, info)          \
    X(complex_gelsd, 15, 0, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork, iwork, \
      info)                                                                                        \
    X(gelss, 13, 0, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, info)                 \
    X(complex_gelss, 14, 0, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork, info)  \
    X(syev, 11, 2, jobz, uplo, n, a, lda, w, work, lwork, info)                                    \
    X(heev, 12, 2, jobz, uplo, n, a, lda, w, work, lwork, rwork, info)                             \
    X(syevd, 13, 2, jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info)                    \
    X(heevd, 15, 2, jobz, uplo, n, a, lda, w, work, lwork, rwork, lrwork, iwork, liwork, info)     \
    X(syevr, 24, 3, jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz, isuppz,    \
      work, lwork, iwork, liwork, info)                                                            \
    X(heevr, 26, 3, jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz, isuppz,    \
      work, lwork, rwork, lrwork, iwork, liwork, info)                                             \
    X(sygvd, 16, 2, itype, jobz, uplo, n, a, lda, b, ldb, w, work, lwork, iwork, liwork, info)     \
    X(hegvd, 18, 2, itype, jobz, uplo, n, a, lda, b, ldb, w, work, lwork, rwork, lrwork, iwork,    \
      liwork, info)                                                                                \
    X(geev, 16, 2, jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork, info)         \
    X(complex_geev, 16, 2, jobvl, jobvr, n, a, lda, w, vl, ldvl, vr, ldvr, work, lwork, rwork,     \
      info)                                                                                        \
    X(gesdd, 15, 1, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork, info)             \
    X(complex_gesdd, 16, 1, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork, iwork,    \
      info)                                                                                        \
    X(gesvd, 16, 2, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, info)             \
    X(complex_gesvd, 17, 2, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork,    \
      info)

/* struct shim_potrf and so on: the arguments of a list by name. */
typedef void *shim_argument;
#define SHIM_LIST_STRUCT(list, words, letters, ...)                                                \
    struct shim_##list {                                                                           \
        shim_argument __VA_ARGS__;                                                                 \
    };                                                                                             \
    _Static_assert(sizeof(struct shim_##list) / sizeof(uintptr_t) + (letters) == (words),          \
                   "words of the list");
SHIM_LISTS(SHIM_LIST_STRUCT)

enum shim_list {
#define SHIM_LIST(list, ...) SHIM_LIST_##list,
    SHIM_LISTS(SHIM_LIST)
#undef SHIM_LIST
        SHIM_LIST_COUNT
};

/*
 * Y(context, letter, LETTER, name, ROUTINE, list, words): each routine of each type, and the
 * engine's XG_ROUTINE_ROUTINE that computes it.
 */
#define SHIM_ROUTINES(Y, context)                                                                  \
    SHIM_BOTH_KINDS(Y, context, potrf, POTRF, potrf, 6)                                            \
    SHIM_BOTH_KINDS(Y, context, potrs, POTRS, potrs, 9)                                            \
    SHIM_BOTH_KINDS(Y, context, posv, POSV, potrs, 9)                                              \
    SHIM_BOTH_KINDS(Y, context, potri, POTRI, potrf, 6)                                            \
    SHIM_BOTH_KINDS(Y, context, getrf, GETRF, getrf, 6)                                            \
    SHIM_BOTH_KINDS(Y, context, getrs, GETRS, getrs, 10)                                           \
    SHIM_BOTH_KINDS(Y, context, gesv, GESV, gesv, 8)                                               \
    SHIM_BOTH_KINDS(Y, context, getri, GETRI, getri, 7)                                            \
    SHIM_BOTH_KINDS(Y, context, trtri, TRTRI, trtri, 8)                                            \
    SHIM_BOTH_KINDS(Y, context, geqrf, GEQRF, geqrf, 8)                                            \
    SHIM_REAL_KINDS(Y, context, orgqr, ORGQR, orgqr, 9)                                            \
    SHIM_COMPLEX_KINDS(Y, context, ungqr, ORGQR, orgqr, 9)                                         \
    SHIM_REAL_KINDS(Y, context, ormqr, ORMQR, ormqr, 15)                                           \
    SHIM_COMPLEX_KINDS(Y, context, unmqr, ORMQR, ormqr, 15)                                        \
    SHIM_BOTH_KINDS(Y, context, gels, GELS, gels, 12)                                              \
    SHIM_REAL_KINDS(Y, context, gelsd, GELSD, gelsd, 14)                                           \
    SHIM_COMPLEX_KINDS(Y, context, gelsd, GELSD, complex_gelsd, 15)                                \
    SHIM_REAL_KINDS(Y, context, gelss, GELSS, gelss, 13)                                           \
    SHIM_COMPLEX_KINDS(Y, context, gelss, GELSS, complex_gelss, 14)                                \
    SHIM_REAL_KINDS(Y, context, syev, SYEVD, syev, 11)                                             \
    SHIM_COMPLEX_KINDS(Y, context, heev, SYEVD, heev, 12)                                          \
    SHIM_REAL_KINDS(Y, context, syevd, SYEVD, syevd, 13)                                           \
    SHIM_COMPLEX_KINDS(Y, context, heevd, SYEVD, heevd, 15)                                        \
    SHIM_REAL_KINDS(Y, context, syevr, SYEVD, syevr, 24)                                           \
    SHIM_COMPLEX_KINDS(Y, context, heevr, SYEVD, heevr, 26)                                        \
    SHIM_REAL_KINDS(Y, context, sygvd, SYGVD, sygvd, 16)                                           \
    SHIM_COMPLEX_KINDS(Y, context, hegvd, SYGVD, hegvd, 18)                                        \
    SHIM_REAL_KINDS(Y, context, geev, GEEV, geev, 16)                                              \
    SHIM_COMPLEX_KINDS(Y, context, geev, GEEV, complex_geev, 16)                                   \
    SHIM_REAL_KINDS(Y, context, gesdd, GESDD, gesdd, 15)                                           \
    SHIM_COMPLEX_KINDS(Y, context, gesdd, GESDD, complex_gesdd, 16)                                \
    SHIM_REAL_KINDS(Y, context, gesvd, GESDD, gesvd, 16)                                           \
    SHIM_COMPLEX_KINDS(Y, context, gesvd, GESDD, complex_gesvd, 17)

#define SHIM_REAL_KINDS(Y, context, name, ROUTINE, list, words)                                    \
    Y(context, s, S, name, ROUTINE, list, words)                                                   \
    Y(context, d, D, name, ROUTINE, list, words)
#define SHIM_COMPLEX_KINDS(Y, context, name, ROUTINE, list, words)                                 \
    Y(context, c, C, name, ROUTINE, list, words)                                                   \
    Y(context, z, Z, name, ROUTINE, list, words)
#define SHIM_BOTH_KINDS(Y, context, name, ROUTINE, list, words)                                    \
    SHIM_REAL_KINDS(Y, context, name, ROUTINE, list, words)                                        \
    SHIM_COMPLEX_KINDS(Y, context, name, ROUTINE, list, words)

/* Y(prefix, suffix, bytes of an integer, plain, ...): each spelling of each name, as in
 * operations.h. */
#define SHIM_ROUTINE_NAMES(Y) SHIM_ROUTINES(SHIM_ROUTINE_SPELLINGS, Y)
#define SHIM_ROUTINE_SPELLINGS(Y, letter, LETTER, name, ROUTINE, list, words)                      \
    Y(, _, 4, true, letter, LETTER, name, ROUTINE, list, words)                                    \
    Y(scipy_, _, 4, false, letter, LETTER, name, ROUTINE, list, words)                             \
    Y(, _64_, 8, false, letter, LETTER, name, ROUTINE, list, words)                                \
    Y(scipy_, _64_, 8, false, letter, LETTER, name, ROUTINE, list, words)

#endif
