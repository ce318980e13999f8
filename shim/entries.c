/* SPDX-License-Identifier: MIT */
/* The exported names. Each packs its arguments as passed and calls shim_intercept. cblas_sgemm is
 * SHIM_ENTRY_CBLAS of gemm and S; shim_gemm_terms_read (terms.h) reads its arguments. */
#include "export.h"
#include "intercept.h"

/* Assigned, not initialised: an initialiser would clear the unused part of the union. */
#define SHIM_ENTRY_CBLAS(name, LETTER, op, OP)                                                     \
    void SHIM_FUNCTION(name)(SHIM_CBLAS_PARAMETERS(OP, LETTER));                                   \
    SHIM_EXPORT(name);                                                                             \
    void SHIM_FUNCTION(name)(SHIM_CBLAS_PARAMETERS(OP, LETTER))                                    \
    {                                                                                              \
        struct shim_call call;                                                                     \
        struct shim_##op##_cblas *passed = &call.op##_cblas;                                       \
        passed->order = order;                                                                     \
        SHIM_EACH(OP, SHIM_PACK_##LETTER);                                                         \
        shim_intercept(&shim_symbols[SHIM_ID_##name], __builtin_return_address(0), &call);         \
    }
#define SHIM_PACK_S(role, name) passed->name SHIM_SCALAR_##role(.s, .s) = name;
#define SHIM_PACK_D(role, name) passed->name SHIM_SCALAR_##role(.d, .d) = name;
#define SHIM_PACK_C(role, name) passed->name SHIM_SCALAR_##role(.c, .s) = name;
#define SHIM_PACK_Z(role, name) passed->name SHIM_SCALAR_##role(.z, .d) = name;

#define SHIM_ENTRY_FORTRAN(name, LETTER, op, OP)                                                   \
    void SHIM_FUNCTION(name)(SHIM_FORTRAN_PARAMETERS(OP));                                         \
    SHIM_EXPORT(name);                                                                             \
    void SHIM_FUNCTION(name)(SHIM_FORTRAN_PARAMETERS(OP))                                          \
    {                                                                                              \
        struct shim_call call;                                                                     \
        struct shim_##op##_fortran *passed = &call.op##_fortran;                                   \
        SHIM_EACH(OP, SHIM_PACK);                                                                  \
        SHIM_EACH(OP, SHIM_PACK_LENGTH);                                                           \
        shim_intercept(&shim_symbols[SHIM_ID_##name], __builtin_return_address(0), &call);         \
    }
#define SHIM_PACK(role, name) passed->name = name;
#define SHIM_PACK_LENGTH(role, name) SHIM_LENGTH_##role(passed->name##_length = name##_length;)

#define SHIM_ENTRY(prefix, suffix, interface, int_bytes, plain, letter, LETTER, name, op, OP)      \
    SHIM_ENTRY_##interface(prefix##letter##name##suffix, LETTER, op, OP)
SHIM_NAMES(SHIM_ENTRY)
