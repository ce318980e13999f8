/* SPDX-License-Identifier: MIT */
/* The intercepted names as data: one line each, from which entries, table and look-ups are made. */
#ifndef SHIM_SYMBOLS_H
#define SHIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

enum shim_kind { SHIM_CBLAS, SHIM_FORTRAN };

/*
 * X(name, kind, bytes of an integer, plain). A plain name carries no suffix that says how wide its
 * integers are: Debian's libopenblas64.so.0 and libblas64.so.3 use 64 bits under the same names.
 */
#define SHIM_SYMBOLS(X)                                                                            \
    X(cblas_sgemm, CBLAS, 4, true)                                                                 \
    X(sgemm_, FORTRAN, 4, true)                                                                    \
    X(scipy_cblas_sgemm, CBLAS, 4, false)                                                          \
    X(scipy_sgemm_, FORTRAN, 4, false)                                                             \
    X(cblas_sgemm64_, CBLAS, 8, false)                                                             \
    X(sgemm_64_, FORTRAN, 8, false)                                                                \
    X(cblas_sgemm_64, CBLAS, 8, false)                                                             \
    X(scipy_cblas_sgemm64_, CBLAS, 8, false)                                                       \
    X(scipy_sgemm_64_, FORTRAN, 8, false)

enum shim_id {
#define SHIM_ID(name, kind, int_bytes, plain) SHIM_ID_##name,
    SHIM_SYMBOLS(SHIM_ID)
#undef SHIM_ID
        SHIM_ID_COUNT
};

struct shim_symbol {
    const char *name;
    enum shim_kind kind;
    int int_bytes; /* of a plain name: what it is taken for until its library says otherwise */
    bool plain;
};

/* Indexed by enum shim_id. */
extern const struct shim_symbol shim_symbols[SHIM_ID_COUNT];

#endif
