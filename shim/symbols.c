/* SPDX-License-Identifier: MIT */
/* The table of intercepted names. */
#include "symbols.h"

const struct shim_symbol shim_symbols[SHIM_ID_COUNT] = {
#define SHIM_ROW(name, kind, int_bytes, plain) {#name, SHIM_##kind, int_bytes, plain},
    SHIM_SYMBOLS(SHIM_ROW)
#undef SHIM_ROW
};
