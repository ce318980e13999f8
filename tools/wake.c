/* SPDX-License-Identifier: MIT */
/*
 * The threads wait as those of a BLAS library: each on a condition of its own. The calling thread
 * wakes one after the other and waits until all have run, as a library does at a short parallel
 * part. Before each wake it computes for 2 ms, so that it pays for what the system does with a core
 * that is idle for so long: a processor sleeps deeper, and the host of a virtual machine gives the
 * core to others. The median counts, because a program pays for all its wakes; the lower quartile
 * was 60 us where the median was 190 (7 threads, one host).
 */
#define _GNU_SOURCE
#include "wake.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/median.h"
#include "src/base/clock.h"
#include "src/base/file.h"
#include "src/host/ticks.h"

enum { THREADS_MOST = 63, WAKES = 7, WAKES_LEAST = 4, ROUNDS = 2000, ROUND_TRIES = 3 };
enum { STACK_BYTES = 256 << 10 };

#define PAUSE_S 2e-3
#define LIMIT_S 50e-3 /* after which no wake begins */
#define YIELD_S 1e-3  /* after which the calling thread yields its core to a woken one */

struct sleeper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t called;
    int calls;         /* under the lock; negative: the thread ends */
    _Atomic int heard; /* the calls that it has answered */
};

static void *sleep_and_answer(void *context)
{
    struct sleeper *sleeper = context;
    int heard = 0, calls;
    do {
        pthread_mutex_lock(&sleeper->lock);
        while (sleeper->calls == heard)
            pthread_cond_wait(&sleeper->called, &sleeper->lock);
        calls = heard = sleeper->calls;
        pthread_mutex_unlock(&sleeper->lock);
        atomic_store(&sleeper->heard, heard);
    } while (calls >= 0);
    return NULL;
}

static void call(struct sleeper *sleeper, int calls)
{
    pthread_mutex_lock(&sleeper->lock);
    sleeper->calls = calls;
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
        if (pthread_create(&sleeper->thread, &attributes, sleep_and_answer, sleeper) != 0)
            break;
    }
    pthread_attr_destroy(&attributes);
    return count;
}

/* Wakes all threads once; returns the time until the last has run. */
static double wake_all(struct sleeper *sleepers, int count, int calls)
{
    const double begin = xg_clock_s();
    for (int i = 0; i < count; i++)
        call(&sleepers[i], calls);
    for (int i = 0; i < count; i++)
        while (atomic_load(&sleepers[i].heard) != calls)
            if (xg_clock_s() - begin > YIELD_S)
                sched_yield();
    return xg_clock_s() - begin;
}

static void compute_for(double seconds)
{
    const double begin = xg_clock_s();
    while (xg_clock_s() - begin < seconds) {
    }
}

/* The median; 0: too few were seen. */
static double measure_wakes(struct sleeper *sleepers, int count)
{
    double seconds[WAKES];
    const double begin = xg_clock_s();
    int wakes = 0;
    (void)wake_all(sleepers, count, 1); /* until now the threads may have been starting */
    while (wakes < WAKES && xg_clock_s() - begin < LIMIT_S) {
        compute_for(PAUSE_S);
        seconds[wakes] = wake_all(sleepers, count, wakes + 2);
        wakes++;
    }
    return wakes < WAKES_LEAST ? 0 : median_sort(seconds, wakes);
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
    wake->seconds = count > 0 && count == wanted ? measure_wakes(sleepers, count) : 0;
    for (int i = 0; i < count; i++)
        call(&sleepers[i], -1);
    for (int i = 0; i < count; i++)
        pthread_join(sleepers[i].thread, NULL);
    free(sleepers);
    wake->round_s = measure_round();
    wake->ticks_hz = xg_ticks_hz();
    return wake->seconds > 0;
}

static const char *from_environment(void *context, const char *name)
{
    (void)context;
    return secure_getenv(name);
}

bool wake_keep(const struct xg_wake *wake)
{
    struct xg_wake_key key;
    char path[XG_WAKE_PATH_BYTES], text[XG_WAKE_TEXT_BYTES];
    return xg_wake_key_init(&key) && xg_wake_path(path, &key, from_environment, NULL) &&
           xg_file_make_folders(path) &&
           xg_file_replace(path, text, xg_wake_print(text, &key, wake));
}

bool wake_find(struct xg_wake *wake)
{
    if (xg_wake_load(wake, from_environment, NULL))
        return true;
    if (!wake_measure(wake))
        return false;
    (void)wake_keep(wake);
    return true;
}
