/* SPDX-License-Identifier: MIT */
#include "aside.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "host/shelter.h"

static _Atomic int inside;

int xg_aside_inside(void)
{
    return atomic_load(&inside);
}

void xg_aside_add(int threads)
{
    atomic_fetch_add(&inside, threads);
}

void xg_aside_reset(void)
{
    atomic_store(&inside, 0);
}

struct aside {
    void (*run)(const struct xg_conf *conf);
    const struct xg_conf *conf;
};

static void *aside_main(void *arg)
{
    struct aside aside = *(struct aside *)arg;
    free(arg);
    fesetenv(FE_DFL_ENV); /* the program's floating-point traps must not reach the driver */
    aside.run(aside.conf);
    xg_aside_add(-1);
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
    xg_aside_add(1);
    int failed = pthread_create(&thread, NULL, aside_main, aside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        xg_aside_add(-1);
        free(aside);
    } else {
        pthread_detach(thread);
    }
    return !failed;
}
