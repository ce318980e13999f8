/* SPDX-License-Identifier: MIT */
#include "host/aside.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "host/shelter.h"

static _Atomic int count, inside;
static _Thread_local bool is_aside __attribute__((tls_model("initial-exec")));

int xg_aside_count(void)
{
    return atomic_load(&count);
}

int xg_aside_inside(void)
{
    return atomic_load(&inside);
}

void xg_aside_add(int threads)
{
    if (is_aside)
        atomic_fetch_add(&inside, threads);
}

void xg_aside_reset(void)
{
    atomic_store(&count, 0);
    atomic_store(&inside, 0);
}

static void add_thread(int threads)
{
    atomic_fetch_add(&count, threads);
    atomic_fetch_add(&inside, threads);
}

struct aside {
    void (*run)(const struct xg_conf *conf);
    const struct xg_conf *conf;
};

static void *aside_main(void *arg)
{
    struct aside aside = *(struct aside *)arg;
    free(arg);
    is_aside = true;
    fesetenv(FE_DFL_ENV); /* the program's floating-point traps must not reach the driver */
    aside.run(aside.conf);
    add_thread(-1);
    return NULL;
}

bool xg_aside_run(void (*run)(const struct xg_conf *), const struct xg_conf *conf)
{
    sigset_t blocked, before;
    pthread_t thread;
    struct aside *aside = malloc(sizeof *aside);
    if (!aside)
        return false;
    *aside = (struct aside){.run = run, .conf = conf};
    xg_shelter_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    add_thread(1);
    int failed = pthread_create(&thread, NULL, aside_main, aside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        add_thread(-1);
        free(aside);
    } else {
        pthread_detach(thread);
    }
    return !failed;
}
