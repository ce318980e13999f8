/* SPDX-License-Identifier: MIT */
/* The trace of a program's products (XGEMM_TRACE): an event each, for viewers of Chrome traces. */
#ifndef XG_TRACE_H
#define XG_TRACE_H

#include "decide/model.h"
#include "report/record.h"

/*
 * Adds a finished product to the trace; does nothing if XGEMM_TRACE is not set. begin_s: when it
 * began, by xg_clock_s. Any thread may call it; it takes a short lock. May change errno.
 *
 * The file is a JSON array of events, one a line, that is never closed, as the format allows, so
 * that the file of a killed process can be read. Each event is complete ("X"): its name is the
 * shape with the transposes ("512x1024x1024 NT", row-major), its category the place, and its times
 * are microseconds. It includes the FLOPs and the bytes of operands and result, because readers
 * need not know BLAS. The file is appended to, so that several processes may share it; "%p" in its
 * name stands for the process's id. A child forked from a process that has traced writes to its own
 * file; if the name has no "%p", the child's id is appended to it.
 *
 * An event is written at once if none has been written for 0.1 s. Other events wait in memory until
 * then, until the buffer is full, or until exit. A process that ends by a signal or by _exit may
 * lose those. A failed write is reported once, and the trace ends there.
 */
void xg_trace_add(const struct xg_call_record *record, double begin_s);

/* The figures of this machine that a product's times are compared with: the cost model's. */
struct xg_trace_machine {
    const struct xg_model *model;
    const char *device;  /* the device that was opened; NULL: none yet, so the model's */
    const char *library; /* the CPU library's file; NULL: unknown */
    int cores;           /* cores that the process may use */
    int cpu_threads;     /* threads of the CPU library; 0: unknown */
    double spin_s;       /* how long they spin after a product; INFINITY (null): forever */
};

/*
 * Whether this process's trace still lacks the machine's figures, which it gets once, and once more
 * when there is a device. Also true if XGEMM_TRACE is not set. Any thread may call it; it is one
 * load.
 */
bool xg_trace_lacks_machine(bool device);

/*
 * Adds two events of metadata ("M"), which viewers show or skip: process_name, the program's, and
 * xgemm_machine, whose args are the figures above, with rates per second and times in microseconds.
 * Does nothing if XGEMM_TRACE is not set, or if the trace has the events. Any thread may call it;
 * it takes a short lock. May change errno.
 */
void xg_trace_add_machine(const struct xg_trace_machine *machine);

#endif
