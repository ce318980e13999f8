/* SPDX-License-Identifier: MIT */
/* Sums of one thread's calls by name and place, which that thread reads and empties. */
/*
 * The profile by line of the Python package (python/xgemm_shim/_lines.py) gives the calls that a
 * thread has made since its line before to the line that it executes. Only the thread itself uses
 * its sums, so there is no lock.
 */
#ifndef XG_THREAD_SUMS_H
#define XG_THREAD_SUMS_H

#include <stdint.h>

#include "report/record.h"

enum { XG_THREAD_SUMS_ROWS = 64, XG_THREAD_SUMS_TEXT = 40 };

/* _lines.py reads these structs. */
struct xg_thread_row {
    char symbol[XG_THREAD_SUMS_TEXT]; /* ends with a zero */
    int64_t place;                    /* enum xg_place */
    int64_t calls;
    int64_t predicted; /* of these: on the GPU, with a prediction of the CPU's time */
    double seconds;    /* wall time of all calls */
    double saved_s;    /* of the predicted ones: the CPU's predicted time minus their wall time */
};

struct xg_thread_sums {
    uint32_t bytes;     /* sizeof(struct xg_thread_sums) */
    uint32_t row_count; /* the thread sets it to 0 to empty the sums */
    struct xg_thread_row rows[XG_THREAD_SUMS_ROWS];
};

_Static_assert(sizeof(struct xg_thread_row) == 80 &&
                   sizeof(struct xg_thread_sums) == 8 + 80 * XG_THREAD_SUMS_ROWS,
               "the layout that _lines.py reads");

/* This thread's sums, which count from the first call of this function on. NULL without memory.
 * They are freed when the thread ends; the main thread's stay until the process ends. Not for
 * signal handlers. */
struct xg_thread_sums *xg_thread_sums_own(void);

/* Adds a call to the sums of this thread, if it has any. Calls of more names and places than there
 * are rows are added to the last row. */
void xg_thread_sums_add(const struct xg_call_record *record);

#endif
