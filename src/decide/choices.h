/* SPDX-License-Identifier: MIT */
/* Selection's recent answers: programs ask for the same shapes, and an answer takes microseconds.
 */
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
    struct xg_shape shape; /* m 0: nothing yet */
    struct xg_choice choice;
};

/* Zero-initialised: empty. For one thread at a time. */
struct xg_choices {
    struct xg_choices_answer answers[XG_CHOICES_ANSWERS];
};

/* What xg_select answers. A named row is selected anew each time. choices may be NULL. */
struct xg_choice xg_choices_select(struct xg_choices *choices, const struct xg_device_facts *facts,
                                   enum xg_math math, const char *name,
                                   const struct xg_shape *shape);

#endif
