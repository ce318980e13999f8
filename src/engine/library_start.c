/* SPDX-License-Identifier: MIT */
#include "engine/library_start.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "compute/backend.h"
#include "compute/cublas.h"
#include "compute/solver_library.h"
#include "engine/engine.h"
#include "engine/remembered.h"
#include "host/aside.h"

/* enum xg_library_state, by library. */
static _Atomic int loads[XG_TOOLKIT_COUNT];

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool waited_out; /* a thread has waited until the deadline */
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_waiting(void)
{
    xg_clock_init_condition(&waiting.ended);
}

static void end_load(enum xg_toolkit library, int how)
{
    pthread_mutex_lock(&waiting.lock);
    atomic_store(&loads[library], how);
    pthread_cond_broadcast(&waiting.ended);
    pthread_mutex_unlock(&waiting.lock);
}

/* Makes cuBLAS's handle on each device, which loads more; the library is loaded with the first
 * one. For a device that opens later, the first call that needs the handle makes it. */
static void open_handles(enum xg_toolkit library)
{
    struct xg_dev *dev;
    for (int i = 0; xg_engine_hold(i, &dev); i++)
        if (dev) {
            xg_backend_open_cublas(dev);
            xg_engine_let_go(i);
            end_load(library, XG_LIBRARY_READY);
        }
    end_load(library, XG_LIBRARY_READY);
}

static void load_cublas(const struct xg_conf *conf)
{
    const double begun_s = xg_clock_s();
    xg_cublas_load();
    open_handles(XG_TOOLKIT_CUBLAS);
    xg_remembered_start_took(conf, XG_RESOURCE_CUBLAS, xg_clock_s() - begun_s);
}

/* Each lane makes its own handle at its first routine. LU, QR and singular values also use cuBLAS,
 * which cuSOLVER has brought along (compute/panel.h, compute/gram.h, compute/deflation.h); no
 * routine waits for that. */
static void load_cusolver(const struct xg_conf *conf)
{
    const double begun_s = xg_clock_s();
    const bool there = xg_solver_load();
    const double took_s = xg_clock_s() - begun_s;
    end_load(XG_TOOLKIT_CUSOLVER, there ? XG_LIBRARY_READY : XG_LIBRARY_ABSENT);
    if (!there)
        return;
    xg_log(XG_LOG_INFO, "loaded cuSOLVER in %.3f s", took_s);
    xg_remembered_start_took(conf, XG_RESOURCE_CUSOLVER, took_s);
    xg_cublas_load();
    open_handles(XG_TOOLKIT_CUSOLVER);
}

enum xg_library_state xg_library_start_state(enum xg_toolkit library)
{
    return (enum xg_library_state)atomic_load(&loads[library]);
}

static bool is_done(enum xg_toolkit library)
{
    return atomic_load(&loads[library]) >= XG_LIBRARY_READY;
}

bool xg_library_start_done(enum xg_toolkit library, const struct xg_conf *conf)
{
    static void (*const functions[XG_TOOLKIT_COUNT])(const struct xg_conf *) = {
        [XG_TOOLKIT_CUBLAS] = load_cublas, [XG_TOOLKIT_CUSOLVER] = load_cusolver};
    int saved_errno = errno, not_yet = XG_LIBRARY_COLD;
    enum xg_engine_state state = xg_engine_state_get();
    if (state != XG_ENGINE_READY && (library == XG_TOOLKIT_CUBLAS || state != XG_ENGINE_COLD))
        return false;
    xg_engine_watch();
    pthread_once(&once, init_waiting);
    if (atomic_compare_exchange_strong(&loads[library], &not_yet, XG_LIBRARY_UNDER_WAY) &&
        !xg_aside_run(functions[library], conf))
        end_load(library, XG_LIBRARY_COLD);
    errno = saved_errno;
    return is_done(library);
}

bool xg_library_start_wait(enum xg_toolkit library, const struct xg_conf *conf, double most_s)
{
    struct timespec until;
    int failed = 0;
    if (xg_library_start_done(library, conf))
        return true;
    xg_engine_start_deadline(&until, conf, most_s);
    pthread_mutex_lock(&waiting.lock);
    while (atomic_load(&loads[library]) == XG_LIBRARY_UNDER_WAY && !failed && !waiting.waited_out)
        failed = pthread_cond_timedwait(&waiting.ended, &waiting.lock, &until);
    waiting.waited_out |=
        failed && atomic_load(&loads[library]) == XG_LIBRARY_UNDER_WAY && most_s == HUGE_VAL;
    pthread_mutex_unlock(&waiting.lock);
    return is_done(library);
}
