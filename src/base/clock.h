/* SPDX-License-Identifier: MIT */
/* The clock that products are timed with. */
#ifndef XG_CLOCK_H
#define XG_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Seconds since an arbitrary moment, on a monotonic clock. */
static inline double xg_clock_s(void)
{
    struct timespec time = {0}; /* the program's own function may fail */
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The same in nanoseconds, without floating-point arithmetic. */
static inline int64_t xg_clock_ns(void)
{
    struct timespec time = {0}; /* the program's own function may fail */
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The time `ms` milliseconds from now, for xg_clock_ns. */
static inline int64_t xg_clock_after_ms(int64_t ms)
{
    return xg_clock_ns() + ms * 1000000;
}

/* Sleeps for a moment, or less if a signal comes. A cancellation point. */
static inline void xg_clock_nap_us(long us)
{
    const struct timespec nap = {.tv_nsec = 1000 * us};
    nanosleep(&nap, NULL);
}

/* Sets *until to the time `seconds` from now on CLOCK_MONOTONIC, which no program can set. */
static inline void xg_clock_deadline(struct timespec *until, double seconds)
{
    int64_t then_ns = xg_clock_ns() + (int64_t)(1e9 * seconds);
    until->tv_sec = (time_t)(then_ns / 1000000000);
    until->tv_nsec = (long)(then_ns % 1000000000);
}

/* Makes a condition whose timed waits use such a deadline. */
static inline void xg_clock_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

#endif
