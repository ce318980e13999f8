/* SPDX-License-Identifier: MIT */
/* The intercepted names: a row each, made of the tables in operations.h. */
#ifndef SHIM_SYMBOLS_H
#define SHIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "operations.h"
#include "src/base/problem.h"

enum shim_interface { SHIM_CBLAS, SHIM_FORTRAN };

enum shim_id {
#define SHIM_ID(prefix, suffix, interface, int_bytes, plain, letter, LETTER, op, OP)               \
    SHIM_ID_##prefix##letter##op##suffix,
    SHIM_NAMES(SHIM_ID)
#undef SHIM_ID
        SHIM_ID_COUNT
};

enum { SHIM_SPELLING_COUNT = SHIM_ID_COUNT / XG_KIND_COUNT };

/* SGEMM's come first; tools that know no other operation go by them. */
enum { SHIM_SGEMM_COUNT = SHIM_SPELLING_COUNT };
_Static_assert(XG_KIND_SGEMM == 0, "SGEMM's names come first");

struct shim_symbol {
    const char *name;
    enum xg_op op;
    enum xg_type type;
    int kind; /* its operation and type as problem.h counts them */
    enum shim_interface interface;
    int int_bytes; /* of a plain name: what it is taken for until its library says otherwise */
    bool plain;
};

/* Indexed by enum shim_id: the spellings of a kind (problem.h) stand together. */
extern const struct shim_symbol shim_symbols[SHIM_ID_COUNT];

/* The first of the SHIM_SPELLING_COUNT spellings of a kind. */
static inline const struct shim_symbol *shim_symbol_spellings(int kind)
{
    return &shim_symbols[kind * SHIM_SPELLING_COUNT];
}

/* The name of another operation or type in the same spelling. */
static inline const struct shim_symbol *shim_symbol_sibling(const struct shim_symbol *symbol,
                                                            int kind)
{
    return shim_symbol_spellings(kind) + (symbol - shim_symbols) % SHIM_SPELLING_COUNT;
}

/* "gemm" or "syrk" with the type's letter. */
static inline const char *shim_symbol_operation(const struct shim_symbol *symbol)
{
    return xg_kind_name(symbol->kind);
}

#endif
