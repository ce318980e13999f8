/* SPDX-License-Identifier: MIT */
/* Identifies the holder of a latch by the time at which it was taken. */
#include "host/latch.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"

static const int64_t WAIT_NS = 50000, LOST_NS = 200000000;
enum { REFUSED_MOST = 16 };

/*
 * The time at which this thread took the latch that it holds, and its stack frame then. A caller
 * whose frame is not below that one is not a handler that interrupted the holder, so the holder is
 * gone. (A handler on another stack, sigaltstack's, may have any address. It may take the latch
 * over from the code that it interrupted, like a caller that finds it held for long.) If the frame
 * is below, both are possible: the next caller from above, or one after a long time, takes it over.
 */
static _Thread_local struct {
    int64_t since_ns;
    uintptr_t frame;
} mine __attribute__((tls_model("initial-exec")));

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Never 0, which means free: the program's own clock may stand at 0. */
static inline int64_t moment_ns(void)
{
    return xg_clock_ns() | 1;
}

/* Takes a latch that was taken at since_ns (0: free), unless another thread is first. */
static bool change_hands(struct xg_latch *latch, int64_t since_ns, int64_t now_ns, uintptr_t frame)
{
    if (!atomic_compare_exchange_strong(&latch->since_ns, &since_ns, now_ns))
        return false;
    mine.frame = frame; /* only now: another thread may have been first */
    mine.since_ns = now_ns;
    atomic_store_explicit(&latch->refused, 0, memory_order_relaxed);
    return true;
}

static bool is_lost(struct xg_latch *latch, int64_t since_ns, int64_t now_ns)
{
    return now_ns - since_ns > LOST_NS &&
           atomic_load_explicit(&latch->refused, memory_order_relaxed) >= REFUSED_MOST;
}

/* *interrupted: the caller is a handler that interrupted the holder. */
static int64_t take(struct xg_latch *latch, bool *interrupted)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    int64_t begin_ns = moment_ns(), now_ns = begin_ns;
    *interrupted = false;
    while (now_ns - begin_ns <= WAIT_NS) {
        int64_t since_ns = atomic_load_explicit(&latch->since_ns, memory_order_relaxed);
        bool is_mine = since_ns != 0 && since_ns == mine.since_ns;
        bool is_free = since_ns == 0 || is_lost(latch, since_ns, now_ns);
        *interrupted = is_mine && !is_free && frame < mine.frame;
        if (*interrupted)
            break;
        if ((is_free || is_mine) && change_hands(latch, since_ns, now_ns, frame))
            return now_ns;
        relax();
        now_ns = moment_ns();
    }
    atomic_fetch_add_explicit(&latch->refused, 1, memory_order_relaxed);
    return 0;
}

int64_t xg_latch_take(struct xg_latch *latch)
{
    bool interrupted;
    return take(latch, &interrupted);
}

int64_t xg_latch_wait(struct xg_latch *latch)
{
    bool interrupted;
    int64_t taken;
    while (!(taken = take(latch, &interrupted)) && !interrupted)
        sched_yield();
    return taken;
}

bool xg_latch_leave(struct xg_latch *latch, int64_t taken)
{
    if (!taken)
        return false;
    mine.since_ns = 0;
    return atomic_compare_exchange_strong(&latch->since_ns, &taken, 0);
}

void xg_latch_reset(struct xg_latch *latch)
{
    atomic_store(&latch->since_ns, 0);
}
