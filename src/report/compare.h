/* SPDX-License-Identifier: MIT */
/* The account of XGEMM_MODE=compare: for each shape, times and errors of both sides. */
#ifndef XG_COMPARE_H
#define XG_COMPARE_H

#include <stdio.h>

#include "base/xg.h"

/* One call of XGEMM_MODE=compare: its times on both sides, and the error of each side. */
struct xg_compare_record {
    const char *symbol;
    struct xg_problem call;
    bool routine; /* of LAPACK: only the type and m, n, k of `call` count */
    const char *kernel;
    double cpu_seconds, gpu_seconds;
    /* Largest componentwise error |x - exact| / (|alpha||A||B| + |beta||C|) over the sampled
     * elements, in units of the type's precision (2^-24 or 2^-53); NaN if a result is NaN and the
     * exact one is not. For a routine: residuals in units of sqrt(n) eps; NaN if one is not finite.
     * XG_COMPARE_UNMEASURED: it could not be measured. */
    double cpu_error, gpu_error;
};

#define XG_COMPARE_UNMEASURED (-1.0)

/* The caller of each of these functions must hold the lock of stats.c. */
void xg_compare_add(const struct xg_compare_record *record);
void xg_compare_clear(void);

/* Writes the table; nothing when no call was added. */
void xg_compare_print(FILE *out);

#endif
