/* SPDX-License-Identifier: MIT */
/* Takes a latch by the time at which it was taken, which tells holders apart. */
#include "host/latch.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"

static const int64_t WAIT_NS = 50000, LOST_NS = 200000000;
enum { REFUSED_MOST = 16 };

/*
 * What this thread has taken and not let go, and where its stack was then. Who asks from a frame
 * that does not lie below that one is no handler over the holder, which therefore is gone. (On
 * another stack, sigaltstack's, a handler may lie anywhere, and may take over what it interrupted,
 * as one may who finds it held for long.) From below, both are possible: then it is left to the
 * next one who asks from above, or after long.
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

/* It was taken at since_ns (0: by nobody), and is ours now unless somebody was first. */
static bool change_hands(struct xg_latch *latch, int64_t since_ns, int64_t now_ns, uintptr_t frame)
{
    if (!atomic_compare_exchange_strong(&latch->since_ns, &since_ns, now_ns))
        return false;
    mine.frame = frame; /* not before: another thread may have been first at the same time */
    mine.since_ns = now_ns;
    atomic_store_explicit(&latch->refused, 0, memory_order_relaxed);
    return true;
}

static bool is_lost(struct xg_latch *latch, int64_t since_ns, int64_t now_ns)
{
    return now_ns - since_ns > LOST_NS &&
           atomic_load_explicit(&latch->refused, memory_order_relaxed) >= REFUSED_MOST;
}

/* *interrupted: this is a handler's, over the holder. */
static int64_t take(struct xg_latch *latch, bool *interrupted)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    int64_t begin_ns = xg_clock_ns(), now_ns = begin_ns;
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
        now_ns = xg_clock_ns();
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
