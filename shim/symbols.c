/* SPDX-License-Identifier: MIT */
/* The table of intercepted names. */
#include "symbols.h"

const struct shim_symbol shim_symbols[SHIM_ID_COUNT] = {
#define SHIM_ROW(prefix, suffix, interface, int_bytes, plain, letter, LETTER, name, op, OP)        \
    {#prefix #letter #name #suffix,   #letter #name,    XG_OP_##OP, XG_TYPE_##LETTER,              \
     XG_KIND_##OP + XG_TYPE_##LETTER, SHIM_##interface, int_bytes,  plain},
    SHIM_NAMES(SHIM_ROW)
#undef SHIM_ROW
#define SHIM_ROW(prefix, suffix, int_bytes, plain, letter, LETTER, name, ROUTINE, list, words)     \
    {#prefix #letter #name #suffix, #letter #name, SHIM_OP_##list, XG_TYPE_##LETTER,               \
     XG_ROUTINE_##ROUTINE,          SHIM_FORTRAN,  int_bytes,      plain},
        SHIM_ROUTINE_NAMES(SHIM_ROW)
#undef SHIM_ROW
};

_Static_assert((0 SHIM_OPERATION_NAMES(SHIM_ONE)) == SHIM_SPELLING_COUNT * XG_KIND_COUNT,
               "each kind of the engine has a row");

/* The operations' rows are in the order of the engine's kinds. */
#define SHIM_ORDER(prefix, suffix, interface, int_bytes, plain, letter, LETTER, name, op, OP)      \
    _Static_assert(SHIM_ID_##prefix##letter##name##suffix / SHIM_SPELLING_COUNT ==                 \
                       XG_KIND_##OP + XG_TYPE_##LETTER,                                            \
                   "order of the operations");
SHIM_OPERATION_NAMES(SHIM_ORDER)
