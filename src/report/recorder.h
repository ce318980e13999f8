/* SPDX-License-Identifier: MIT */
/* Adds records of calls to the account, the thread's sums and the trace, and no time twice. */
#ifndef XG_RECORDER_H
#define XG_RECORDER_H

#include "report/record.h"

/*
 * Adds a record to the account, the thread's sums and the trace, if they are kept. A LAPACK routine
 * on the CPU calls other routines, and products, by name. A call inside it that runs on the CPU too
 * is part of the routine, and is not added. A call inside it that runs on the GPU, or fails there,
 * is added, and the routine's own record excludes its time. begin_s: when the call began (clock.h).
 * From any thread.
 */
void xg_recorder_add(const struct xg_call_record *record, double begin_s);

/* Before and after a routine runs on the CPU, on one thread; a handler may leave the routine in
 * between. xg_recorder_leave takes what xg_recorder_enter returned, and returns the wall time of
 * the calls inside the routine that were added. */
double xg_recorder_enter(void);
double xg_recorder_leave(double entered);

#endif
