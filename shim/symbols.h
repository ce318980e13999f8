/* SPDX-License-Identifier: MIT */
/* The intercepted names, one row each, made from the tables in operations.h. */
#ifndef SHIM_SYMBOLS_H
#define SHIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "operations.h"
#include "routines.h"
#include "src/base/problem.h"
#include "src/base/routine.h"

enum shim_interface { SHIM_CBLAS, SHIM_FORTRAN };

enum shim_id {
#define SHIM_ID(prefix, suffix, interface, int_bytes, plain, letter, LETTER, name, op, OP)         \
    SHIM_ID_##prefix##letter##name##suffix,
    SHIM_NAMES(SHIM_ID)
#undef SHIM_ID
        SHIM_BLAS_COUNT,
    SHIM_BLAS_LAST = SHIM_BLAS_COUNT - 1,
#define SHIM_ID(prefix, suffix, int_bytes, plain, letter, LETTER, name, ROUTINE, list, words)      \
    SHIM_ID_##prefix##letter##name##suffix,
    SHIM_ROUTINE_NAMES(SHIM_ID)
#undef SHIM_ID
        SHIM_ID_COUNT
};

/* A routine is a name without its spelling. The first XG_KIND_COUNT routines are the kinds;
 * LAPACK's routines follow BLAS's and have fewer spellings. */
#define SHIM_ONE(...) +1
enum { SHIM_SPELLING_COUNT = 0 SHIM_SPELLINGS(SHIM_ONE, , , , , ) };
enum { SHIM_ROUTINE_SPELLING_COUNT = 4 };
enum { SHIM_BLAS_ROUTINES = SHIM_BLAS_COUNT / SHIM_SPELLING_COUNT };
enum {
    SHIM_ROUTINE_COUNT =
        SHIM_BLAS_ROUTINES + (SHIM_ID_COUNT - SHIM_BLAS_COUNT) / SHIM_ROUTINE_SPELLING_COUNT
};

/* LAPACK's lists of arguments are numbered after BLAS's operations: tables are indexed by both. */
enum {
#define SHIM_OP(list, ...) SHIM_OP_##list = XG_OP_COUNT + SHIM_LIST_##list,
    SHIM_LISTS(SHIM_OP)
#undef SHIM_OP
        SHIM_OP_COUNT = XG_OP_COUNT + SHIM_LIST_COUNT
};

struct shim_symbol {
    const char *name;
    const char *routine; /* "ssyrk" */
    int op;              /* an enum xg_op; for LAPACK's names SHIM_OP_ of their list */
    enum xg_type type;
    int kind; /* its operation and type, numbered as in problem.h; for LAPACK's names an
               * enum xg_routine_name */
    enum shim_interface interface;
    int int_bytes; /* of a plain name: the assumed width until its library is known */
    bool plain;
};

/* Indexed by enum shim_id. The spellings of a routine are adjacent. */
extern const struct shim_symbol shim_symbols[SHIM_ID_COUNT];

static inline bool shim_symbol_is_lapack(const struct shim_symbol *symbol)
{
    return symbol->op >= (int)XG_OP_COUNT;
}

/* The number of a name's routine: its kind (problem.h), unless it is a synonym or LAPACK's. */
static inline int shim_symbol_routine(const struct shim_symbol *symbol)
{
    int id = (int)(symbol - shim_symbols);
    return shim_symbol_is_lapack(symbol)
               ? SHIM_BLAS_ROUTINES + (id - SHIM_BLAS_COUNT) / SHIM_ROUTINE_SPELLING_COUNT
               : id / SHIM_SPELLING_COUNT;
}

/* The first of the spellings of a routine of BLAS; for a kind, those of the engine's name. */
static inline const struct shim_symbol *shim_symbol_spellings(int routine)
{
    return &shim_symbols[routine * SHIM_SPELLING_COUNT];
}

/* The spellings of a name's routine, [*begin, *end). */
static inline void shim_symbol_range(const struct shim_symbol *symbol,
                                     const struct shim_symbol **begin,
                                     const struct shim_symbol **end)
{
    int count = shim_symbol_is_lapack(symbol) ? SHIM_ROUTINE_SPELLING_COUNT : SHIM_SPELLING_COUNT;
    int first = shim_symbol_is_lapack(symbol) ? SHIM_BLAS_COUNT : 0;
    int at = (int)(symbol - shim_symbols) - first;
    *begin = symbol - at % count;
    *end = *begin + count;
}

/* The name of another operation or type in the same spelling. */
static inline const struct shim_symbol *shim_symbol_sibling(const struct shim_symbol *symbol,
                                                            int kind)
{
    return shim_symbol_spellings(kind) + (symbol - shim_symbols) % SHIM_SPELLING_COUNT;
}

#endif
