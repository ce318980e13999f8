/* SPDX-License-Identifier: MIT */
/* The trace of a program's products (XGEMM_TRACE): an event each, for viewers of Chrome traces. */
#ifndef XG_TRACE_H
#define XG_TRACE_H

#include "decide/model.h"
#include "report/record.h"

/*
 * Adds a finished product to the trace; does nothing where XGEMM_TRACE is not set. begin_s: when it
 * began, by xg_clock_s. From any thread, and under a short lock. May change errno.
 *
 * The file is a JSON array of events, a line each, that is never closed, as the format allows: what
 * a killed process leaves can be read. An event is complete ("X"): its name is the shape with the
 * transposes ("512x1024x1024 NT", row-major), its category the place, its times microseconds. Its
 * FLOPs and the bytes of its operands and result are told, for readers need not know BLAS. The file
 * is appended to, so that several processes may share it; "%p" in its name stands for the
 * process's id. A child of fork, of a process that had traced, writes to a file of its own, with
 * its id appended to the name where it has no "%p".
 *
 * An event is written at once where none has been for 0.1 s; others wait in memory until then,
 * until that is full, or for exit. A process that ends by a signal or by _exit may lose those. What
 * cannot be written is reported once, and the trace ends there.
 */
void xg_trace_add(const struct xg_call_record *record, double begin_s);

/* What a product's times are held against: the cost model's figures of this machine. */
struct xg_trace_machine {
    const struct xg_model *model;
    const char *device;  /* the device that was opened; NULL: none yet, the model's is assumed */
    const char *library; /* the CPU library's file; NULL: not known */
    int cores;           /* that the process may use */
    int cpu_threads;     /* of the CPU library; 0: not known */
    double spin_s;       /* for which they spin after a product; INFINITY (null): without end */
};

/*
 * Whether this process's trace lacks the machine: it is told once, and once more when there is a
 * device. True where XGEMM_TRACE is not set. From any thread; a load.
 */
bool xg_trace_lacks_machine(bool device);

/*
 * Adds two events of metadata ("M"), which viewers show or skip: process_name, the program's, and
 * xgemm_machine, whose args are the figures above, rates a second, times microseconds. Does nothing
 * where XGEMM_TRACE is not set, or they have been told. From any thread, and under a short lock.
 * May change errno.
 */
void xg_trace_add_machine(const struct xg_trace_machine *machine);

#endif
