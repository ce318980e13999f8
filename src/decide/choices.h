/* SPDX-License-Identifier: MIT */
/* What selection answered lately: it is asked the same again and again, and takes microseconds. */
#ifndef XG_CHOICES_H
#define XG_CHOICES_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/select.h"

/* Answers for as many shapes; one that falls on another's place replaces it. */
enum { XG_CHOICES_ANSWERS = 256 };

struct xg_choices_answer {
    struct xg_device_facts facts;
    enum xg_math math;
    int64_t m, n, k; /* m 0: nothing yet */
    const struct xg_kernel *row;
    double cycles;
};

/* Zero-initialised: empty. For one thread at a time. */
struct xg_choices {
    struct xg_choices_answer answers[XG_CHOICES_ANSWERS];
};

/*
 * What xg_select answers; *cycles, unless NULL, becomes what xg_select_cycles says of the row (0
 * where it is NULL). Where a row is named it is asked anew. choices may be NULL.
 */
const struct xg_kernel *xg_choices_select(struct xg_choices *choices,
                                          const struct xg_device_facts *facts, enum xg_math math,
                                          const char *name, int64_t m, int64_t n, int64_t k,
                                          double *cycles);

#endif
