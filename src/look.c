/* SPDX-License-Identifier: MIT */
#include "look.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "compute/backend.h"
#include "compute/cublas.h"
#include "engine.h"

enum { LOOK_NOT_YET, LOOK_UNDER_WAY, LOOK_DONE };

static _Atomic int look;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool waited_out; /* it took longer than anybody waits */
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

static void end_look(int how)
{
    pthread_mutex_lock(&waiting.lock);
    atomic_store(&look, how);
    pthread_cond_broadcast(&waiting.ended);
    pthread_mutex_unlock(&waiting.lock);
}

/* The library, for the process, and its handle on the first device, which is what loads more; then
 * on the others. On one that comes later a product makes it. */
static void run_look(const struct xg_conf *conf)
{
    struct xg_dev *dev;
    (void)conf;
    xg_cublas_load();
    for (int i = 0; xg_engine_hold(i, &dev); i++)
        if (dev) {
            xg_backend_look_for_cublas(dev);
            xg_engine_let_go(i);
            end_look(LOOK_DONE);
        }
    end_look(LOOK_DONE);
}

bool xg_look_done(const struct xg_conf *conf)
{
    int saved_errno = errno, not_yet = LOOK_NOT_YET;
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return false;
    pthread_once(&once, init_waiting);
    if (atomic_compare_exchange_strong(&look, &not_yet, LOOK_UNDER_WAY) &&
        !xg_engine_aside(run_look, conf))
        end_look(LOOK_NOT_YET);
    errno = saved_errno;
    return atomic_load(&look) == LOOK_DONE;
}

bool xg_look_wait(const struct xg_conf *conf)
{
    struct timespec until;
    int failed = 0;
    if (xg_look_done(conf))
        return true;
    xg_engine_start_deadline(&until, conf);
    pthread_mutex_lock(&waiting.lock);
    while (atomic_load(&look) == LOOK_UNDER_WAY && !failed && !waiting.waited_out)
        failed = pthread_cond_timedwait(&waiting.ended, &waiting.lock, &until);
    waiting.waited_out |= failed && atomic_load(&look) == LOOK_UNDER_WAY;
    pthread_mutex_unlock(&waiting.lock);
    return atomic_load(&look) == LOOK_DONE;
}
