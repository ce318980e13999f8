/* SPDX-License-Identifier: MIT */
/* Adds calls to the account and to the trace, and no time twice. */
/*
 * A LAPACK routine on the CPU calls others, and products, by name. Those that run on the CPU too
 * are part of the routine and are not told. Those that run on the GPU, or fail there, are told, and
 * their time is taken from the routine's.
 */
#ifndef XG_TELL_H
#define XG_TELL_H

#include "report/record.h"

/* begin_s: when the call began (clock.h). From any thread. */
void xg_tell(const struct xg_call_record *record, double begin_s);

/* Before and behind a routine on the CPU, on one thread; a handler may leave it in between. The
 * second takes what the first returned, and returns the seconds of calls that were told. */
double xg_tell_enter(void);
double xg_tell_leave(double entered);

#endif
