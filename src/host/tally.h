/* SPDX-License-Identifier: MIT */
/* What the program's threads are at, counted so that a thread which leaves a product is not missed.
 */
/*
 * While the CPU library computes, the thread is as it would be without us: a handler may leave by
 * siglongjmp, and a cancellation may end it. What it had added then stands until it comes back with
 * another product (xg_tally_forget), or ends.
 */
#ifndef XG_TALLY_H
#define XG_TALLY_H

#include <stdbool.h>

enum xg_tally {
    XG_TALLY_PRODUCTS, /* under way, on either side */
    XG_TALLY_CORES,    /* that products on the CPU compute with */
    XG_TALLY_CALLS,    /* in a CPU library, once the GPU was started */
    XG_TALLY_COUNT,
};

/* Adds to what this thread has, and to all; takes back, at most what this thread has. From any
 * thread, without a lock; the first call registers for fork and the thread for its end. A thread
 * beside 4096 others that have called this is not counted. */
void xg_tally_add(enum xg_tally which, int count);
void xg_tally_take(enum xg_tally which, int count);

/* Of all threads, and of this one. */
int xg_tally_all(enum xg_tally which);
int xg_tally_own(enum xg_tally which);

/* This thread is in no product: takes back all that it has. */
void xg_tally_forget(void);

#endif
