/* SPDX-License-Identifier: MIT */
/* The trace of a program's products (XGEMM_TRACE): an event each, for viewers of Chrome traces. */
#ifndef XG_TRACE_H
#define XG_TRACE_H

#include "stats.h"

/*
 * Adds a finished product to the trace; does nothing where XGEMM_TRACE is not set. begin_s: when it
 * began, by xg_clock_s. From any thread, and under a short lock. May change errno.
 *
 * The file is a JSON array of events, a line each, that is never closed, as the format allows: what
 * a killed process leaves can be read. An event is complete ("X"): its name is the shape with the
 * transposes ("512x1024x1024 NT", row-major), its category the place, its times microseconds. The
 * file is appended to, so that several processes may share it; "%p" in its name stands for the
 * process's id. A child of fork, of a process that had traced, writes to a file of its own, with
 * its id appended to the name where it has no "%p".
 *
 * Events wait in memory, for a second at most while others come, and are written when that is full
 * and at exit. What cannot be written is reported once, and the trace ends there.
 */
void xg_trace_add(const struct xg_call_record *record, double begin_s);

#endif
