/* SPDX-License-Identifier: MIT */
/* Selection's recent answers: programs repeat shapes, and an answer takes microseconds.
 */
#ifndef XG_CHOICES_H
#define XG_CHOICES_H

#include "base/conf.h"
#include "decide/select.h"

/* The answer of xg_select. A named row is selected anew each time. From any thread and any signal
 * handler: a caller that finds the table in use selects anew. */
struct xg_choice xg_choices_select(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *name, const struct xg_shape *shape);

#endif
