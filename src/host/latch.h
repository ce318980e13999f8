/* SPDX-License-Identifier: MIT */
/* A lock with a short wait that survives a holder that never returns. */
/*
 * The latch guards short work that a thread of the program does with its signals open, because
 * blocking them takes two system calls (some microseconds each if all cores are busy, on hosts that
 * trap them). A handler may leave that work by siglongjmp, and the latch is then never released. A
 * handler that multiplies would wait for its own thread. So a thread that does not get the latch
 * goes on without it. A thread takes the latch over if its own handler has left it, or if the latch
 * was held too long. The guarded data must tolerate a half-done change.
 */
#ifndef XG_LATCH_H
#define XG_LATCH_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: free. */
struct xg_latch {
    _Atomic int64_t since_ns; /* when it was taken; 0: free */
    _Atomic int refused;      /* number of calls that went on without it since then */
};

/*
 * Returns the value for xg_latch_leave, or 0: other threads have held the latch for 50 us, or the
 * caller is a handler that interrupted the holder and therefore cannot wait. A latch held for 0.2 s
 * and refused 16 times (a stopped process wakes with its holder alive) changes hands. It changes
 * hands at once if a handler of this thread has left it and the stack shows that. Cancellation must
 * not act while it is held. No system call, no floating-point arithmetic; from any thread and any
 * signal handler.
 */
int64_t xg_latch_take(struct xg_latch *latch);

/* The same, but waits without limit. 0: the caller is a handler that interrupted the holder. */
int64_t xg_latch_wait(struct xg_latch *latch);

/* taken: the value that either function returned. Returns false and does nothing if it is 0 or the
 * latch changed hands meanwhile. */
bool xg_latch_leave(struct xg_latch *latch, int64_t taken);

/* Frees the latch in a forked child, which has no other threads. */
void xg_latch_reset(struct xg_latch *latch);

#endif
