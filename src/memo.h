/* SPDX-License-Identifier: MIT */
/* What selection answered lately: it is asked the same again and again, and takes microseconds. */
#ifndef XG_MEMO_H
#define XG_MEMO_H

#include "conf.h"
#include "select.h"
#include "xg.h"

/* Answers for as many shapes; one that falls on another's place replaces it. */
enum { XG_MEMO_ANSWERS = 256 };

struct xg_memo_answer {
    struct xg_device_facts facts;
    enum xg_math math;
    int64_t m, n, k; /* m 0: nothing yet */
    const struct xg_kernel *row;
    double cycles;
};

/* Zero-initialised: empty. For one thread at a time. */
struct xg_memo {
    struct xg_memo_answer answers[XG_MEMO_ANSWERS];
};

/*
 * What xg_select answers; *cycles, unless NULL, becomes what xg_select_cycles says of the row (0
 * where it is NULL). Where a row is named it is asked anew. memo may be NULL.
 */
const struct xg_kernel *xg_memo_select(struct xg_memo *memo, const struct xg_device_facts *facts,
                                       enum xg_math math, const char *name, int64_t m, int64_t n,
                                       int64_t k, double *cycles);

#endif
