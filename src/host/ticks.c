/* SPDX-License-Identifier: MIT */
#include "host/ticks.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.h"

#if defined(__x86_64__)

/* One moment, read on both clocks. */
struct moment {
    uint64_t ticks;
    double clock_s; /* 0: could not be read */
};

enum { MOMENT_TRIES = 4 };
#define MOMENT_S 20e-6 /* two readings further apart than this are repeated */
#define BASELINE_S 5e-3

static struct moment first_moment;      /* constant after the first call */
static _Atomic uint64_t ticks_a_second; /* 0: not known yet */

static struct moment take_moment(void)
{
    for (int i = 0; i < MOMENT_TRIES; i++) {
        double before = xg_clock_s();
        uint64_t ticks = __rdtsc();
        double after = xg_clock_s();

        if (after - before < MOMENT_S)
            return (struct moment){ticks, 0.5 * (before + after)};
    }
    return (struct moment){0};
}

static pthread_once_t first_once = PTHREAD_ONCE_INIT;

static void take_first(void)
{
    first_moment = take_moment();
}

/* Threads that measure the rate at the same time get the same value, within 1 / 100. */
double xg_ticks_hz(void)
{
    uint64_t known = atomic_load_explicit(&ticks_a_second, memory_order_relaxed);

    if (known)
        return (double)known;
    pthread_once(&first_once, take_first);
    if (first_moment.clock_s == 0 || xg_clock_s() - first_moment.clock_s < BASELINE_S)
        return XG_TICKS_HZ;
    struct moment now = take_moment();
    if (now.clock_s == 0 || now.ticks <= first_moment.ticks)
        return XG_TICKS_HZ;
    double hz = (double)(now.ticks - first_moment.ticks) / (now.clock_s - first_moment.clock_s);
    if (!(hz >= 1e8 && hz <= 1e10)) /* the clock was set meanwhile */
        hz = XG_TICKS_HZ;
    atomic_store_explicit(&ticks_a_second, (uint64_t)hz, memory_order_relaxed);
    return hz;
}

#elif defined(__aarch64__)

/* OpenBLAS counts the generic timer, shifted so that its rate is from 2^31 to 2^32 a second. */
double xg_ticks_hz(void)
{
    uint64_t hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz > 0 && hz <= UINT32_MAX ? ldexp((double)hz, __builtin_clz((uint32_t)hz))
                                      : XG_TICKS_HZ;
}

#else

/* On other processors OpenBLAS counts nanoseconds. */
double xg_ticks_hz(void)
{
    return 1e9;
}

#endif
