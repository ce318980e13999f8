/* SPDX-License-Identifier: MIT */
/*
 * The threads wait as those of a BLAS library: each on a condition of its own. The calling thread
 * wakes one after the other, and then all compute a short part, at the end of which each waits for
 * all others without letting go of its core, as OpenBLAS's threads do. An empty part would tell
 * only how long the signals take: 0.07 to 0.1 ms on a host where waking made a Cholesky
 * factorization of 1500 9 ms slower. Where two threads wake on one core, one of them waits there
 * for the other until the scheduler takes the core away from it, some milliseconds later.
 *
 * Before each part the calling thread computes for 2 ms, so that it pays for what the system does
 * with a core that is idle for so long. The mean counts, because a program pays for all its wakes.
 */
#define _GNU_SOURCE
#include "wake.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "src/base/clock.h"
#include "src/base/conf.h"
#include "src/base/file.h"
#include "src/host/ticks.h"

enum { THREADS_MOST = 63, WAKES = 12, WAKES_LEAST = 4, ROUNDS = 2000, ROUND_TRIES = 3 };
enum { STACK_BYTES = 256 << 10 };

#define PAUSE_S 2e-3
#define PART_S 50e-6  /* what each thread computes */
#define LIMIT_S 60e-3 /* after which no wake begins */

static _Atomic int arrived; /* threads that have ended a part, over all parts */

struct sleeper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t called;
    int part, parties; /* under the lock: the part to compute, and with how many threads; part
                        * negative: the thread ends */
};

static void compute_for(double seconds)
{
    const double begin = xg_clock_s();
    while (xg_clock_s() - begin < seconds) {
    }
}

/* part: 1 for the first. */
static void compute_part(int part, int parties)
{
    compute_for(PART_S);
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < part * parties) {
    }
}

static void *sleep_and_compute(void *context)
{
    struct sleeper *sleeper = context;
    int part = 0, parties;
    for (;;) {
        pthread_mutex_lock(&sleeper->lock);
        while (sleeper->part == part)
            pthread_cond_wait(&sleeper->called, &sleeper->lock);
        part = sleeper->part;
        parties = sleeper->parties;
        pthread_mutex_unlock(&sleeper->lock);
        if (part < 0)
            return NULL;
        compute_part(part, parties);
    }
}

static void call(struct sleeper *sleeper, int part, int parties)
{
    pthread_mutex_lock(&sleeper->lock);
    sleeper->part = part;
    sleeper->parties = parties;
    pthread_cond_signal(&sleeper->called);
    pthread_mutex_unlock(&sleeper->lock);
}

static int start(struct sleeper *sleepers, int wanted)
{
    pthread_attr_t attributes;
    int count = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (; count < wanted; count++) {
        struct sleeper *sleeper = &sleepers[count];
        pthread_mutex_init(&sleeper->lock, NULL);
        pthread_cond_init(&sleeper->called, NULL);
        if (pthread_create(&sleeper->thread, &attributes, sleep_and_compute, sleeper) != 0)
            break;
    }
    pthread_attr_destroy(&attributes);
    return count;
}

/* Wakes all threads for a part; returns the time beyond the part itself. */
static double wake_all(struct sleeper *sleepers, int count, int part)
{
    const double begin = xg_clock_s();
    for (int i = 0; i < count; i++)
        call(&sleepers[i], part, count + 1);
    compute_part(part, count + 1);
    return xg_clock_s() - begin - PART_S;
}

/* The mean; 0: too few were seen. */
static double measure_wakes(struct sleeper *sleepers, int count)
{
    const double begin = xg_clock_s();
    double sum_s = 0;
    int wakes = 0;
    atomic_store(&arrived, 0);
    (void)wake_all(sleepers, count, 1); /* until now the threads may have been starting */
    for (; wakes < WAKES && xg_clock_s() - begin < LIMIT_S; wakes++) {
        compute_for(PAUSE_S);
        sum_s += wake_all(sleepers, count, wakes + 2);
    }
    return wakes < WAKES_LEAST ? 0 : sum_s / wakes;
}

static void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static double measure_round(void)
{
    static _Atomic int word;
    double least = 1;
    for (int try = 0; try < ROUND_TRIES; try++) {
        const double begin = xg_clock_s();
        for (int i = 0; i < ROUNDS && !atomic_load_explicit(&word, memory_order_relaxed); i++)
            rest();
        const double seconds = (xg_clock_s() - begin) / ROUNDS;
        least = seconds < least ? seconds : least;
    }
    return least;
}

/* Whether another system decides when the cores run. Unknown on other processors than x86's. */
static bool is_guest(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 31);
#else
    return true;
#endif
}

bool wake_measure(struct xg_wake *wake)
{
    cpu_set_t mask;
    const int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    const int wanted = cores - 1 < THREADS_MOST ? cores - 1 : THREADS_MOST;
    struct sleeper *sleepers = calloc(THREADS_MOST, sizeof *sleepers);
    if (!sleepers)
        return false;
    (void)xg_ticks_hz(); /* begins to measure it */
    const int count = start(sleepers, wanted);
    const double wake_s = count > 0 && count == wanted ? measure_wakes(sleepers, count) : 0;
    for (int i = 0; i < count; i++)
        call(&sleepers[i], -1, 0);
    for (int i = 0; i < count; i++)
        pthread_join(sleepers[i].thread, NULL);
    free(sleepers);
    *wake = (struct xg_wake){.wake_ns = (uint64_t)(1e9 * fmax(0, wake_s)),
                             .ticks_khz = (uint64_t)(1e-3 * xg_ticks_hz()),
                             .round_ps = (uint64_t)(1e12 * measure_round()),
                             .guest = is_guest()};
    return wake->wake_ns > 0;
}

/* The file's path, in a folder in which files can be made. */
static bool prepare(char path[XG_WAKE_PATH_BYTES], struct xg_wake_key *key)
{
    return xg_wake_key_init(key) && xg_wake_path(path, key, xg_conf_environment, NULL) &&
           xg_file_make_folders(path);
}

bool wake_keep(const struct xg_wake *wake)
{
    struct xg_wake_key key;
    char path[XG_WAKE_PATH_BYTES], text[XG_WAKE_TEXT_BYTES];
    return prepare(path, &key) && xg_file_replace(path, text, xg_wake_print(text, &key, wake));
}

bool wake_find(struct xg_wake *wake)
{
    struct xg_wake_key key;
    char path[XG_WAKE_PATH_BYTES];
    if (xg_wake_load(wake, xg_conf_environment, NULL))
        return true;
    return prepare(path, &key) && wake_measure(wake) && wake_keep(wake);
}
