/* SPDX-License-Identifier: MIT */
/* A lock that nobody waits for longer than a moment, and that outlives a holder who never returns.
 */
/*
 * For short work that a thread of the program does with its signals open, to hold which back takes
 * two system calls (some microseconds each where all cores are busy, on hosts that trap them). A
 * handler may leave that work by siglongjmp, and the latch is then never let go; or it multiplies,
 * and would wait for its own thread. So who does not get it goes on without, and who finds that its
 * own thread has left it, or that it was held all along, takes it over. What it guards must bear to
 * be left half changed.
 */
#ifndef XG_LATCH_H
#define XG_LATCH_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: nobody has it. */
struct xg_latch {
    _Atomic int64_t since_ns; /* when it was taken; 0: nobody has it */
    _Atomic int refused;      /* so many have gone on without it since then */
};

/*
 * Returns what to let go with, or 0: others have had it for 50 us, or this is a handler that
 * interrupted the holder, for which there is no waiting. Held for 0.2 s, and by then refused 16
 * times (a process that was stopped wakes with its holder alive), it changes hands. So it does at
 * once where a handler of this thread has left it, if the stack shows that. No cancellation may act
 * while it is held. No system call, no floating-point arithmetic; from any thread and any signal
 * handler.
 */
int64_t xg_latch_take(struct xg_latch *latch);

/* The same, for as long as it takes. 0: this is a handler that interrupted the holder. */
int64_t xg_latch_wait(struct xg_latch *latch);

/* taken: what either returned. False, and nothing happens, where it was 0 or the latch changed
 * hands meanwhile. */
bool xg_latch_leave(struct xg_latch *latch, int64_t taken);

/* Nobody has it: in a forked child, whose other threads are not there. */
void xg_latch_reset(struct xg_latch *latch);

#endif
