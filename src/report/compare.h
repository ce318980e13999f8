/* SPDX-License-Identifier: MIT */
/* The account of XGEMM_MODE=compare: for each shape, times and errors of both sides. */
#ifndef XG_COMPARE_H
#define XG_COMPARE_H

#include <stdio.h>

#include "base/xg.h"

/* One call of XGEMM_MODE=compare: the same call on both, and the error of each. */
struct xg_compare_record {
    const char *symbol;
    struct xg_problem call;
    bool routine; /* of LAPACK; of call the type and m, n, k alone count */
    const char *kernel;
    double cpu_seconds, gpu_seconds;
    /* Largest componentwise error |x - exact| / (|alpha||A||B| + |beta||C|) over the sampled
     * elements, in units of 2^-24; NaN when either result is NaN where the exact one is not. Of a
     * routine: residuals in units of sqrt(n) eps; NaN: there is none. */
    double cpu_error, gpu_error;
};

/* The caller of any of these holds the lock of stats.c. */
void xg_compare_add(const struct xg_compare_record *record);
void xg_compare_clear(void);

/* Writes the table; nothing when no call was added. */
void xg_compare_print(FILE *out);

#endif
