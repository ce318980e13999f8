/* SPDX-License-Identifier: MIT */
/* Counts the work of the program's threads, including threads that leave a product by a jump. */
/*
 * While the CPU library computes, nothing is blocked: a handler may leave by siglongjmp, and a
 * cancellation may end the thread. The thread's counts then stay until it comes back with another
 * call (xg_tally_forget) or ends.
 */
#ifndef XG_TALLY_H
#define XG_TALLY_H

#include <stdbool.h>

enum xg_tally {
    XG_TALLY_PRODUCTS, /* products under way, on either side */
    XG_TALLY_CORES,    /* cores that products on the CPU compute with */
    XG_TALLY_CALLS,    /* calls in a CPU library, once the GPU was started */
    XG_TALLY_ROUTINES, /* LAPACK routines on the CPU, one inside the other */
    XG_TALLY_KEPT,     /* of these: those whose inner calls stay on the CPU too */
    XG_TALLY_COUNTED,  /* of these: those whose whole time is counted toward a start */
    XG_TALLY_COUNT,
};

/* The first adds to this thread's count and to the sum; the second subtracts, at most this thread's
 * count. From any thread, without a lock; the first call registers for fork, and registers the
 * thread for its end. If 4096 other threads have called this, a further thread is not counted. */
void xg_tally_add(enum xg_tally which, int count);
void xg_tally_take(enum xg_tally which, int count);

/* The count of all threads, and the count of this thread. */
int xg_tally_all(enum xg_tally which);
int xg_tally_own(enum xg_tally which);

/* Resets this thread's counts: it is in no call. */
void xg_tally_forget(void);

#endif
