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
 * The lists of arguments, in LAPACK's order. Fortran passes all by address, and appends the lengths
 * of the letters, which fill a word each. A C program may pass no lengths; nothing reads them then.
 */
struct shim_potrf {
    void *uplo, *n, *a, *lda, *info;
    uintptr_t lengths[1];
};
struct shim_potrs {
    void *uplo, *n, *nrhs, *a, *lda, *b, *ldb, *info;
    uintptr_t lengths[1];
};
struct shim_trtri {
    void *uplo, *diag, *n, *a, *lda, *info;
    uintptr_t lengths[2];
};
struct shim_getrf {
    void *m, *n, *a, *lda, *ipiv, *info;
};
struct shim_getrs {
    void *trans, *n, *nrhs, *a, *lda, *ipiv, *b, *ldb, *info;
    uintptr_t lengths[1];
};
struct shim_gesv {
    void *n, *nrhs, *a, *lda, *ipiv, *b, *ldb, *info;
};
struct shim_getri {
    void *n, *a, *lda, *ipiv, *work, *lwork, *info;
};
struct shim_geqrf {
    void *m, *n, *a, *lda, *tau, *work, *lwork, *info;
};
struct shim_orgqr {
    void *m, *n, *k, *a, *lda, *tau, *work, *lwork, *info;
};
struct shim_ormqr {
    void *side, *trans, *m, *n, *k, *a, *lda, *tau, *c, *ldc, *work, *lwork, *info;
    uintptr_t lengths[2];
};
struct shim_gels {
    void *trans, *m, *n, *nrhs, *a, *lda, *b, *ldb, *work, *lwork, *info;
    uintptr_t lengths[1];
};
/* GELSD and GELSS of any type begin with the same arguments. */
struct shim_gelsd {
    void *m, *n, *nrhs, *a, *lda, *b, *ldb, *s, *rcond, *rank, *work, *lwork, *iwork, *info;
};
struct shim_complex_gelsd {
    void *m, *n, *nrhs, *a, *lda, *b, *ldb, *s, *rcond, *rank, *work, *lwork, *rwork, *iwork, *info;
};
struct shim_gelss {
    void *m, *n, *nrhs, *a, *lda, *b, *ldb, *s, *rcond, *rank, *work, *lwork, *info;
};
struct shim_complex_gelss {
    void *m, *n, *nrhs, *a, *lda, *b, *ldb, *s, *rcond, *rank, *work, *lwork, *rwork, *info;
};
struct shim_syev {
    void *jobz, *uplo, *n, *a, *lda, *w, *work, *lwork, *info;
    uintptr_t lengths[2];
};
struct shim_heev {
    void *jobz, *uplo, *n, *a, *lda, *w, *work, *lwork, *rwork, *info;
    uintptr_t lengths[2];
};
struct shim_syevd {
    void *jobz, *uplo, *n, *a, *lda, *w, *work, *lwork, *iwork, *liwork, *info;
    uintptr_t lengths[2];
};
struct shim_heevd {
    void *jobz, *uplo, *n, *a, *lda, *w, *work, *lwork, *rwork, *lrwork, *iwork, *liwork, *info;
    uintptr_t lengths[2];
};
struct shim_syevr {
    void *jobz, *range, *uplo, *n, *a, *lda, *vl, *vu, *il, *iu, *abstol, *m, *w, *z, *ldz, *isuppz,
        *work, *lwork, *iwork, *liwork, *info;
    uintptr_t lengths[3];
};
struct shim_heevr {
    void *jobz, *range, *uplo, *n, *a, *lda, *vl, *vu, *il, *iu, *abstol, *m, *w, *z, *ldz, *isuppz,
        *work, *lwork, *rwork, *lrwork, *iwork, *liwork, *info;
    uintptr_t lengths[3];
};
struct shim_sygvd {
    void *itype, *jobz, *uplo, *n, *a, *lda, *b, *ldb, *w, *work, *lwork, *iwork, *liwork, *info;
    uintptr_t lengths[2];
};
struct shim_hegvd {
    void *itype, *jobz, *uplo, *n, *a, *lda, *b, *ldb, *w, *work, *lwork, *rwork, *lrwork, *iwork,
        *liwork, *info;
    uintptr_t lengths[2];
};
struct shim_geev {
    void *jobvl, *jobvr, *n, *a, *lda, *wr, *wi, *vl, *ldvl, *vr, *ldvr, *work, *lwork, *info;
    uintptr_t lengths[2];
};
struct shim_complex_geev {
    void *jobvl, *jobvr, *n, *a, *lda, *w, *vl, *ldvl, *vr, *ldvr, *work, *lwork, *rwork, *info;
    uintptr_t lengths[2];
};
struct shim_gesdd {
    void *jobz, *m, *n, *a, *lda, *s, *u, *ldu, *vt, *ldvt, *work, *lwork, *iwork, *info;
    uintptr_t lengths[1];
};
struct shim_complex_gesdd {
    void *jobz, *m, *n, *a, *lda, *s, *u, *ldu, *vt, *ldvt, *work, *lwork, *rwork, *iwork, *info;
    uintptr_t lengths[1];
};
struct shim_gesvd {
    void *jobu, *jobvt, *m, *n, *a, *lda, *s, *u, *ldu, *vt, *ldvt, *work, *lwork, *info;
    uintptr_t lengths[2];
};
struct shim_complex_gesvd {
    void *jobu, *jobvt, *m, *n, *a, *lda, *s, *u, *ldu, *vt, *ldvt, *work, *lwork, *rwork, *info;
    uintptr_t lengths[2];
};

/* X(list, words): each list, and the number of its arguments and lengths. */
#define SHIM_LISTS(X)                                                                              \
    X(potrf, 6)                                                                                    \
    X(potrs, 9)                                                                                    \
    X(trtri, 8)                                                                                    \
    X(getrf, 6)                                                                                    \
    X(getrs, 10)                                                                                   \
    X(gesv, 8)                                                                                     \
    X(getri, 7)                                                                                    \
    X(geqrf, 8)                                                                                    \
    X(orgqr, 9)                                                                                    \
    X(ormqr, 15)                                                                                   \
    X(gels, 12)                                                                                    \
    X(gelsd, 14)                                                                                   \
    X(complex_gelsd, 15)                                                                           \
    X(gelss, 13)                                                                                   \
    X(complex_gelss, 14)                                                                           \
    X(syev, 11)                                                                                    \
    X(heev, 12)                                                                                    \
    X(syevd, 13)                                                                                   \
    X(heevd, 15)                                                                                   \
    X(syevr, 24)                                                                                   \
    X(heevr, 26)                                                                                   \
    X(sygvd, 16)                                                                                   \
    X(hegvd, 18)                                                                                   \
    X(geev, 16)                                                                                    \
    X(complex_geev, 16)                                                                            \
    X(gesdd, 15)                                                                                   \
    X(complex_gesdd, 16)                                                                           \
    X(gesvd, 16)                                                                                   \
    X(complex_gesvd, 17)

enum shim_list {
#define SHIM_LIST(list, words) SHIM_LIST_##list,
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
