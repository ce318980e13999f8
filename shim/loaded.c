/* SPDX-License-Identifier: MIT */
/*
 * Walks are counted and do not exclude each other. A walk may begin inside the program's own
 * dl_iterate_phdr, which holds the lock that another walk waits for. For the same reason a walk and
 * a fork wait for each other only for a limited time.
 */
#define _GNU_SOURCE
#include "loaded.h"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/clock.h"
#include "src/base/sandbox.h"
#include "src/host/fork.h"
#include "src/host/shelter.h"

enum { FORK_WAIT_MS = 1000, WALK_WAIT_MS = 4 * FORK_WAIT_MS };

static _Atomic int walks;
static _Thread_local int own_walks __attribute__((tls_model("initial-exec")));
static _Atomic int abandoned; /* walks that outlasted a fork's wait, or that a handler left */
static _Atomic bool forking;
static pthread_t forker; /* written before `forking` */

static int others_walks(void)
{
    return atomic_load(&walks) - own_walks;
}

static void before_fork(void)
{
    int64_t until_ns = xg_clock_after_ms(FORK_WAIT_MS);
    forker = pthread_self();
    atomic_store(&forking, true);
    while (others_walks() > atomic_load(&abandoned) && xg_clock_ns() < until_ns)
        xg_clock_nap_us(100);
    atomic_store(&abandoned, others_walks());
}

static void after_fork(void)
{
    atomic_store(&forking, false);
}

static void after_fork_in_child(void)
{
    atomic_store(&walks, own_walks);
    atomic_store(&abandoned, 0);
    after_fork();
}

static void watch_fork(void)
{
    xg_fork_register(&(struct xg_fork_watch){
        .before = before_fork,
        .in_parent = after_fork,
        .in_child = after_fork_in_child,
    });
}

/* Runs before the first walk, not at load, because a program that never multiplies must not notice
 * this library. glibc registers nothing during a fork. */
static void watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Atomic bool watched;
    struct xg_shelter shelter;
    if (atomic_load_explicit(&watched, memory_order_acquire))
        return;
    xg_shelter_enter(&shelter);
    pthread_once(&once, watch_fork);
    atomic_store_explicit(&watched, true, memory_order_release);
    xg_shelter_leave(&shelter);
}

/* The forking thread may walk in another library's fork handler. */
static bool keeps_out(void)
{
    return atomic_load(&forking) && !pthread_equal(pthread_self(), forker);
}

/* A waiting walk is not counted. Others are counted before the check, so that either the fork sees
 * the walk or the walk sees the fork. */
static void enter(void)
{
    int64_t until_ns = 0;
    bool late = false;
    while (atomic_fetch_add(&walks, 1), keeps_out() && !late) {
        atomic_fetch_sub(&walks, 1);
        until_ns = until_ns ? until_ns : xg_clock_after_ms(WALK_WAIT_MS);
        while (keeps_out() && !late) {
            sched_yield(); /* no nap, which would be a cancellation point */
            late = xg_clock_ns() > until_ns;
        }
    }
    own_walks++;
}

static void leave(void)
{
    own_walks--;
    int left = atomic_fetch_sub(&walks, 1) - 1, gone = atomic_load(&abandoned);
    while (left < gone && !atomic_compare_exchange_weak(&abandoned, &gone, left))
        ;
}

int shim_loaded_walk(int (*visit)(struct dl_phdr_info *info, size_t size_bytes, void *context),
                     void *context)
{
    if (xg_sandbox_closed())
        return dl_iterate_phdr(visit, context);
    if (xg_fork_unannounced())
        return atomic_load(&walks) > 0 ? 0 : dl_iterate_phdr(visit, context);
    watch();
    enter();
    int result = dl_iterate_phdr(visit, context);
    leave();
    return result;
}
