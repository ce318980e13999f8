/* SPDX-License-Identifier: MIT */
/* Takes a latch by the time at which it was taken, which tells holders apart. */
#include "host/latch.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"

static const int64_t WAIT_NS = 50000, LOST_NS = 200000000;
enum { REFUSED_MOST = 16 };

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* It was taken at since_ns (0: by nobody), and is ours now unless somebody was first. */
static bool change_hands(struct xg_latch *latch, int64_t since_ns, int64_t now_ns)
{
    if (!atomic_compare_exchange_strong(&latch->since_ns, &since_ns, now_ns))
        return false;
    atomic_store_explicit(&latch->refused, 0, memory_order_relaxed);
    return true;
}

static bool is_lost(struct xg_latch *latch, int64_t since_ns, int64_t now_ns)
{
    return now_ns - since_ns > LOST_NS &&
           atomic_load_explicit(&latch->refused, memory_order_relaxed) >= REFUSED_MOST;
}

int64_t xg_latch_take(struct xg_latch *latch)
{
    int64_t begin_ns = xg_clock_ns(), now_ns = begin_ns;
    for (;;) {
        int64_t since_ns = atomic_load_explicit(&latch->since_ns, memory_order_relaxed);
        if ((since_ns == 0 || is_lost(latch, since_ns, now_ns)) &&
            change_hands(latch, since_ns, now_ns))
            return now_ns;
        if (now_ns - begin_ns > WAIT_NS)
            break;
        relax();
        now_ns = xg_clock_ns();
    }
    atomic_fetch_add_explicit(&latch->refused, 1, memory_order_relaxed);
    return 0;
}

int64_t xg_latch_wait(struct xg_latch *latch)
{
    int64_t taken;
    while (!(taken = xg_latch_take(latch)))
        sched_yield();
    return taken;
}

bool xg_latch_leave(struct xg_latch *latch, int64_t taken)
{
    return taken && atomic_compare_exchange_strong(&latch->since_ns, &taken, 0);
}

void xg_latch_reset(struct xg_latch *latch)
{
    atomic_store(&latch->since_ns, 0);
}
