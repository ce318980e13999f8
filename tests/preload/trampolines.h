/* SPDX-License-Identifier: MIT */
/* libblastrampoline's functions that set its table, and its names that this library intercepts. */
#ifndef PRELOAD_TRAMPOLINES_H
#define PRELOAD_TRAMPOLINES_H

#include <stdint.h>

#include "shim/operations.h"
#include "shim/routines.h"

/* The widths of integers. */
enum { LP64 = 32, ILP64 = 64 };

int32_t lbt_forward(const char *file, int32_t clear, int32_t verbose, const char *suffix_hint);
int32_t lbt_set_forward(const char *name, const void *address, int32_t width, int32_t style,
                        int32_t f2c, int32_t verbose);
const void *lbt_get_forward(const char *name, int32_t width, int32_t f2c);

/* X(name): each Fortran name, each name of the C interface, and those by which lbt_forward
 * recognises a library. Of batches libblastrampoline has only those of the C interface. */
#define LBT_NAMES(X) LBT_OURS(X) X(isamax_) X(sdot_) X(cdotc_) X(zdotc_)
#define LBT_OURS(X)                                                                                \
    SHIM_SINGLE(LBT_TYPES, X)                                                                      \
    SHIM_SYNONYMS(LBT_SYNONYM_TYPES, X)                                                            \
    SHIM_GEMM_BATCH_TYPES(LBT_CBLAS, gemm_batch, , X) SHIM_ROUTINES(LBT_ROUTINE, X)
#define LBT_TYPES(op, OP, X) SHIM_##OP##_TYPES(LBT_BOTH, op, OP, X)
#define LBT_SYNONYM_TYPES(name, op, OP, X) SHIM_##OP##_TYPES(LBT_BOTH, name, OP, X)
#define LBT_BOTH(letter, LETTER, name, OP, X) X(letter##name##_) X(cblas_##letter##name)
#define LBT_CBLAS(letter, LETTER, name, OP, X) X(cblas_##letter##name)
#define LBT_ROUTINE(X, letter, LETTER, name, ROUTINE, list, words) X(letter##name##_)

#endif
