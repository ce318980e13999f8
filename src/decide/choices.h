/* SPDX-License-Identifier: MIT */
/* Recent choices of selection: programs repeat shapes, and a selection takes microseconds.
 */
#ifndef XG_CHOICES_H
#define XG_CHOICES_H

#include "base/conf.h"
#include "decide/select.h"

/* Returns the choice of xg_select. A named row is selected again each time. Callable from any
 * thread and any signal handler: if another thread holds the table, it calls xg_select. */
struct xg_choice xg_choices_select(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *name, const struct xg_shape *shape);

#endif
