/* SPDX-License-Identifier: MIT */
/* The intercepted names, one row each, made from the tables in operations.h. */
#ifndef SHIM_SYMBOLS_H
#define SHIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "operations.h"
#include "src/base/problem.h"

enum shim_interface { SHIM_CBLAS, SHIM_FORTRAN };

enum shim_id {
#define SHIM_ID(prefix, suffix, interface, int_bytes, plain, letter, LETTER, name, op, OP)         \
    SHIM_ID_##prefix##letter##name##suffix,
    SHIM_NAMES(SHIM_ID)
#undef SHIM_ID
        SHIM_ID_COUNT
};

/* A routine is a name without its spelling. The first XG_KIND_COUNT routines are the kinds. */
#define SHIM_ONE(...) +1
enum { SHIM_SPELLING_COUNT = 0 SHIM_SPELLINGS(SHIM_ONE, , , , , ) };
enum { SHIM_ROUTINE_COUNT = SHIM_ID_COUNT / SHIM_SPELLING_COUNT };

/* SGEMM's names come first; tools that know no other operation rely on that. */
enum { SHIM_SGEMM_COUNT = SHIM_SPELLING_COUNT };
_Static_assert(XG_KIND_SGEMM == 0, "SGEMM's names come first");

struct shim_symbol {
    const char *name;
    const char *routine; /* "ssyrk" */
    enum xg_op op;
    enum xg_type type;
    int kind; /* its operation and type, numbered as in problem.h */
    enum shim_interface interface;
    int int_bytes; /* of a plain name: the assumed width until its library is known */
    bool plain;
};

/* Indexed by enum shim_id. The spellings of a routine are adjacent. */
extern const struct shim_symbol shim_symbols[SHIM_ID_COUNT];

/* The number of a name's routine: its kind (problem.h), unless it is a synonym. */
static inline int shim_symbol_routine(const struct shim_symbol *symbol)
{
    return (int)(symbol - shim_symbols) / SHIM_SPELLING_COUNT;
}

/* The first of the SHIM_SPELLING_COUNT spellings of a routine; for a kind, those of the engine's
 * name for it. */
static inline const struct shim_symbol *shim_symbol_spellings(int routine)
{
    return &shim_symbols[routine * SHIM_SPELLING_COUNT];
}

/* The name of another operation or type in the same spelling. */
static inline const struct shim_symbol *shim_symbol_sibling(const struct shim_symbol *symbol,
                                                            int kind)
{
    return shim_symbol_spellings(kind) + (symbol - shim_symbols) % SHIM_SPELLING_COUNT;
}

#endif
