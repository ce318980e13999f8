/* SPDX-License-Identifier: MIT */
/* Handles one call of a LAPACK routine: decides, runs it on the GPU or the CPU, records it. */
#ifndef XG_DISPATCH_ROUTINE_H
#define XG_DISPATCH_ROUTINE_H

#include "base/routine.h"
#include "base/xg.h"

/*
 * Always computes the routine. symbol: the name that the program called (a static string).
 * cpu->whole repeats the caller's own call; cpu->part is not used and may be NULL. True: the GPU
 * computed it, all results are in the operands, and LAPACK's info is 0. False: cpu->whole computed
 * it.
 *
 * From any thread; otherwise as xg_dispatch_problem.
 */
bool xg_dispatch_routine(const char *symbol, const struct xg_routine *routine,
                         const struct xg_cpu *cpu);

/*
 * True if the caller must hand a routine with these dimensions of A to xg_dispatch_routine. False
 * if it may forward the call: the call is not reported, and it is too small to gain on a device or
 * routines are switched off (XGEMM_LAPACK). A few nanoseconds once the configuration has been read.
 */
bool xg_dispatch_wants_routine(int64_t m, int64_t n);

/* After xg_dispatch_wants_routine, once the arguments have been read: false if the caller may
 * forward the routine, because it has too few operations to gain on a device and is not
 * reported. */
bool xg_dispatch_wants_flops(const struct xg_routine *routine);

#endif
