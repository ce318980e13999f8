/* SPDX-License-Identifier: MIT */
#include "engine/presence.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "device/absence.h"
#include "engine/engine.h"
#include "host/aside.h"

/* The limit, long enough for a busy machine: a thread that holds the dynamic linker's lock may wait
 * for this one. */
enum { WAIT_MS = 1000 };

enum { LOOK_NOT_YET, LOOK_UNDER_WAY, LOOK_DONE };

static _Atomic int look;
static _Atomic int found = XG_REASON_EARNING; /* written before the look is done */

static void find_driver(const struct xg_conf *conf)
{
    (void)conf;
    enum xg_reason reason = xg_absence_find(XG_ABSENCE_LIBRARY);
    if (reason != XG_REASON_NO_GPU) /* a driver without device files may make them */
        atomic_store(&found, (int)reason);
    atomic_store(&look, LOOK_DONE);
}

/* Looks for device files first; if there are some, it loads nothing. */
static void begin_look(const struct xg_conf *conf)
{
    enum xg_reason reason = xg_absence_find(XG_ABSENCE_FILES);
    if (reason == XG_REASON_NO_GPU && xg_aside_run(find_driver, conf))
        return;
    if (reason != XG_REASON_NO_GPU)
        atomic_store(&found, (int)reason);
    atomic_store(&look, LOOK_DONE);
}

static void wait_for_look(void)
{
    int64_t until_ns = xg_clock_after_ms(WAIT_MS);
    while (atomic_load(&look) == LOOK_UNDER_WAY && xg_clock_ns() < until_ns)
        xg_clock_nap_us(20);
    atomic_store(&look, LOOK_DONE); /* after one timeout no other thread waits */
}

enum xg_reason xg_presence_look(const struct xg_conf *conf)
{
    int error = errno, not_yet = LOOK_NOT_YET;
    bool asked = conf->mode == XG_MODE_AUTO || xg_engine_state_get() == XG_ENGINE_NONE;
    if (!asked || !xg_conf_tells(conf))
        return XG_REASON_EARNING;
    if (atomic_compare_exchange_strong(&look, &not_yet, LOOK_UNDER_WAY))
        begin_look(conf);
    if (atomic_load(&look) == LOOK_UNDER_WAY)
        wait_for_look();
    errno = error;
    return (enum xg_reason)atomic_load(&found);
}
