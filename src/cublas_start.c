/* SPDX-License-Identifier: MIT */
#include "cublas_start.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "compute/backend.h"
#include "compute/cublas.h"
#include "engine.h"

enum { LOAD_NOT_BEGUN, LOAD_UNDER_WAY, LOAD_DONE };

static _Atomic int load;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool waited_out; /* a thread has waited until the deadline */
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_waiting(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&waiting.ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void end_load(int how)
{
    pthread_mutex_lock(&waiting.lock);
    atomic_store(&load, how);
    pthread_cond_broadcast(&waiting.ended);
    pthread_mutex_unlock(&waiting.lock);
}

/* Loads the library, then makes its handle on each device, which loads more. On a device that opens
 * later, the first product that needs the handle makes it. */
static void run_load(const struct xg_conf *conf)
{
    struct xg_dev *dev;
    (void)conf;
    xg_cublas_load();
    for (int i = 0; xg_engine_hold(i, &dev); i++)
        if (dev) {
            xg_backend_open_cublas(dev);
            xg_engine_let_go(i);
            end_load(LOAD_DONE);
        }
    end_load(LOAD_DONE);
}

bool xg_cublas_start_done(const struct xg_conf *conf)
{
    int saved_errno = errno, not_yet = LOAD_NOT_BEGUN;
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return false;
    pthread_once(&once, init_waiting);
    if (atomic_compare_exchange_strong(&load, &not_yet, LOAD_UNDER_WAY) &&
        !xg_engine_aside(run_load, conf))
        end_load(LOAD_NOT_BEGUN);
    errno = saved_errno;
    return atomic_load(&load) == LOAD_DONE;
}

bool xg_cublas_start_wait(const struct xg_conf *conf)
{
    struct timespec until;
    int failed = 0;
    if (xg_cublas_start_done(conf))
        return true;
    xg_engine_start_deadline(&until, conf);
    pthread_mutex_lock(&waiting.lock);
    while (atomic_load(&load) == LOAD_UNDER_WAY && !failed && !waiting.waited_out)
        failed = pthread_cond_timedwait(&waiting.ended, &waiting.lock, &until);
    waiting.waited_out |= failed && atomic_load(&load) == LOAD_UNDER_WAY;
    pthread_mutex_unlock(&waiting.lock);
    return atomic_load(&load) == LOAD_DONE;
}
