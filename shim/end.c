/* SPDX-License-Identifier: MIT */
/*
 * Handles exit() while another thread multiplies on the GPU. The driver ends first, the product
 * fails, and the CPU library would complete it while its own destructor frees its memory: 25 of 30
 * such exits were a SIGSEGV (without this library, where exit must hit the middle of a product, 7).
 *
 * Exit handlers and static destructors, which may wait for threads that multiply, run before the
 * libraries' destructors. This library's destructor is among the first, because this library was
 * loaded before the CPU library. From then on the built-in loop computes products, because it needs
 * nothing that could be gone; the destructor waits for the products under way. If the process dies
 * first, the result does not matter; if a thread still waits for the result, it is right.
 */
#include "end.h"

#include <pthread.h>
#include <stdatomic.h>

#include "src/base/clock.h"
#include "src/base/sandbox.h"
#include "src/engine/engine.h"
#include "src/host/fork.h"
#include "src/host/tally.h"

/* Longer than most interrupted products take; the exit must not wait forever. */
enum { WAIT_MS = 2000 };

static _Atomic bool ending;
static pthread_t ender; /* written before `ending` */

static bool others_inside(void)
{
    return xg_tally_all(XG_TALLY_CALLS) > xg_tally_own(XG_TALLY_CALLS);
}

/* A cancelled thread would leave exit() in the nap; the other threads would live on. */
static void wait_while(bool (*waits)(void))
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    for (int ms = 0; ms < WAIT_MS && waits(); ms++)
        xg_clock_nap_us(1000);
    pthread_setcancelstate(cancel_state, NULL);
}

__attribute__((destructor)) static void end(void)
{
    if (xg_sandbox_closed() || xg_fork_unannounced())
        return; /* the threads that the parent counted do not exist in the child */
    ender = pthread_self();
    atomic_store(&ending, true);
    wait_while(others_inside);
}

/* Calls of a closed process are not counted: its CPU library computes them, as without this
 * library. */
static bool is_counted(void)
{
    return xg_engine_used() && !xg_sandbox_closed();
}

/* A smaller product ends before a library's destructor has freed anything. */
static const double COUNTED_MNK = 64.0 * 64 * 64;

bool shim_end_wants(int64_t m, int64_t n, int64_t k)
{
    return is_counted() && ((double)m * (double)n * (double)k >= COUNTED_MNK ||
                            atomic_load_explicit(&ending, memory_order_relaxed));
}

bool shim_end_enter(void)
{
    if (!is_counted())
        return true;
    xg_tally_add(XG_TALLY_CALLS, 1); /* before the check: either this or `end` sees the other */
    bool nested = xg_tally_own(XG_TALLY_CALLS) > 1; /* the exit waits for the outer call */
    if (!atomic_load(&ending) || nested || pthread_equal(pthread_self(), ender))
        return true;
    xg_tally_take(XG_TALLY_CALLS, 1);
    return false;
}

static _Atomic bool waited;

static bool is_first_wait(void)
{
    return !atomic_load(&waited);
}

void shim_end_await(void)
{
    wait_while(is_first_wait);
    atomic_store(&waited, true);
}

void shim_end_leave(void)
{
    xg_tally_take(XG_TALLY_CALLS, 1); /* takes nothing if the call entered before the GPU was
                                       * started */
}
