/* SPDX-License-Identifier: MIT */
/* Selection's recent answers: programs ask for the same shapes, and an answer takes microseconds.
 */
#ifndef XG_CHOICES_H
#define XG_CHOICES_H

#include "base/conf.h"
#include "decide/select.h"

/* What xg_select answers. A named row is selected anew each time. From any thread and any signal
 * handler: where another is at the answers, selection is asked. */
struct xg_choice xg_choices_select(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *name, const struct xg_shape *shape);

#endif
