/* SPDX-License-Identifier: MIT */
/*
 * Before the new thread reports that it begins, it takes and releases the dynamic linker's lock. If
 * it cannot get the lock, the lock's holder may be the thread that waits here, so the new thread is
 * abandoned. Therefore the state that both threads share is on the heap, and the last thread to use
 * it frees it.
 */
#define _GNU_SOURCE
#include "linker_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/sandbox.h"
#include "src/host/fork.h"

enum { ASIDE_MADE, ASIDE_AWAKE, ASIDE_RUNS, ASIDE_LEFT };

/* WAKE_MS allows for a busy machine, LOCK_MS for a lock that is held briefly. */
enum { WAKE_MS = 1000, LOCK_MS = 20 };

struct aside {
    void (*run)(void *context);
    void *context;
    _Atomic int state;
    _Atomic int holders;
    pid_t thread; /* written before the join */
};

static void let_go(struct aside *aside)
{
    if (atomic_fetch_sub(&aside->holders, 1) == 1)
        free(aside);
}

static bool change(struct aside *aside, int from, int to)
{
    return atomic_compare_exchange_strong(&aside->state, &from, to);
}

static void *aside_main(void *arg)
{
    struct aside *aside = arg;
    Dl_info info;
    aside->thread = (pid_t)syscall(SYS_gettid);
    change(aside, ASIDE_MADE, ASIDE_AWAKE);
    (void)dladdr((void *)aside_main, &info);
    if (change(aside, ASIDE_AWAKE, ASIDE_RUNS))
        aside->run(aside->context);
    let_go(aside);
    return NULL;
}

/* Waits up to `ms` milliseconds until the state is another than `state`; false: it still is
 * `state`. */
static bool leaves(struct aside *aside, int state, int ms)
{
    int64_t until_ns = xg_clock_after_ms(ms);
    while (atomic_load(&aside->state) == state && xg_clock_ns() < until_ns)
        xg_clock_nap_us(20);
    return atomic_load(&aside->state) != state;
}

/* A joined thread may still be leaving the kernel, and until it is gone the program has two
 * threads: unshare(CLONE_NEWUSER) fails, and /proc/self/task lists both. */
static void await_gone(pid_t thread)
{
    int64_t until_ns = xg_clock_after_ms(WAKE_MS);
    while (syscall(SYS_tgkill, getpid(), thread, 0) == 0 && xg_clock_ns() < until_ns)
        sched_yield();
}

static bool run_aside(void (*run)(void *context), void *context)
{
    pthread_t thread;
    bool alone = xg_sandbox_closed() || xg_fork_unannounced();
    struct aside *aside = alone ? NULL : malloc(sizeof *aside);
    if (!aside)
        return false;
    *aside = (struct aside){.run = run, .context = context, .holders = 2};
    if (pthread_create(&thread, NULL, aside_main, aside) != 0) {
        free(aside);
        return false;
    }
    leaves(aside, ASIDE_MADE, WAKE_MS);
    leaves(aside, ASIDE_AWAKE, LOCK_MS);
    bool runs = !change(aside, ASIDE_MADE, ASIDE_LEFT) && !change(aside, ASIDE_AWAKE, ASIDE_LEFT);
    if (runs) {
        pthread_join(thread, NULL);
        await_gone(aside->thread);
    } else {
        pthread_detach(thread);
    }
    let_go(aside);
    return runs;
}

void shim_linker_thread_run(void (*run)(void *context), void *context)
{
    if (run_aside(run, context))
        return;
    run(context);
    (void)dlerror(); /* The program must not see an error about a name that we looked for. */
}
