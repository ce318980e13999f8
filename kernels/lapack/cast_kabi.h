/* SPDX-License-Identifier: MIT */
/* The kernel ABI of the casts between precisions, shared by host code (C11) and device code. */
#ifndef XG_CAST_KABI_H
#define XG_CAST_KABI_H

#include <stdint.h>

/* Threads of a block, and the rows of one column that it casts. The blocks of a column follow each
 * other. */
enum { XG_CAST_THREADS = 256, XG_CAST_ROWS = 1024 };

/* The single parameter: column-major matrices of `rows` rows in device memory. */
struct xg_cast_args {
    uint64_t from, to;
    int64_t from_ld, to_ld, rows;
    uint64_t phases; /* narrow: a number for each column, of from's type. The column is multiplied
                      * by its sign or phase, or by 1 if it is 0. 0: there are none */
};

#endif
