/* SPDX-License-Identifier: MIT */
/* Measures what waking the threads of a pool costs, and keeps the figure (src/host/wake.h). */
#ifndef WAKE_H
#define WAKE_H

#include "src/host/wake.h"

/*
 * Measures in some 30 ms, or 60 ms where waking takes milliseconds, with a thread for each core
 * that the calling thread may use, but for its own; at most 63, which is what PyPI's OpenBLAS
 * starts. Returns false if there is one core, threads cannot be made, or fewer than four wakes were
 * seen.
 */
bool wake_measure(struct xg_wake *wake);

/* Keeps the figure for later programs. Returns false if the kernel does not name its start, the
 * user has no cache folder, or the file cannot be written. */
bool wake_keep(const struct xg_wake *wake);

/* Reads the kept figure; if there is none, measures it and keeps it. Returns false if that fails: a
 * figure that cannot be kept would be measured again at the start of each program. */
bool wake_find(struct xg_wake *wake);

#endif
