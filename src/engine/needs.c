/* SPDX-License-Identifier: MIT */
#include "engine/needs.h"

#include "device/absence.h"
#include "engine/engine.h"
#include "engine/library_start.h"
#include "engine/presence.h"

/* If device files show a GPU, cuSOLVER is loaded before the GPU starts: without cuSOLVER the start
 * would gain nothing. Otherwise the engine starts first: it finds within milliseconds that there is
 * no GPU. With XGEMM_MODE=gpu and compare it also starts first, because it prints the warning. */
static bool is_library_first(const struct xg_conf *conf, const struct xg_call *call)
{
    return call->routine && conf->mode == XG_MODE_AUTO &&
           xg_absence_find(XG_ABSENCE_FILES) == XG_REASON_EARNING;
}

/* Whether the call needs a library; sets *library. A product needs cuBLAS if the open device has no
 * kernel for it. It does not load cuBLAS itself, because the dynamic linker's lock may be held by a
 * thread that waits for this one. */
static bool needs_library(const struct xg_call *call, enum xg_toolkit *library)
{
    struct xg_model_device device;
    *library = call->routine ? XG_TOOLKIT_CUSOLVER : XG_TOOLKIT_CUBLAS;
    return call->routine || (xg_engine_device(&device) && !device.facts.cublas &&
                             xg_select_needs_cublas(&device.facts, call->problem));
}

static void bring_engine(const struct xg_conf *conf, const struct xg_decision *decision)
{
    if (decision->wait)
        xg_engine_wait_most(conf, decision->start_s);
    else
        xg_engine_start(conf);
}

/* True if the call's library has been loaded, or was not found, or it needs none. */
static bool bring_library(const struct xg_conf *conf, const struct xg_call *call,
                          const struct xg_decision *decision)
{
    enum xg_toolkit library;
    return !needs_library(call, &library) ||
           (decision->wait ? xg_library_start_wait(library, conf, decision->start_s)
                           : xg_library_start_done(library, conf));
}

static bool lacks_cusolver(const struct xg_call *call)
{
    return call->routine && xg_library_start_state(XG_TOOLKIT_CUSOLVER) == XG_LIBRARY_ABSENT;
}

/* Brings the library first. It may find that another thread has started the engine meanwhile; then
 * the engine comes first. */
static bool bring_behind_library(const struct xg_conf *conf, const struct xg_call *call,
                                 const struct xg_decision *decision)
{
    bool loaded = bring_library(conf, call, decision);
    if (lacks_cusolver(call) || (!loaded && xg_engine_state_get() == XG_ENGINE_COLD))
        return loaded;
    bring_engine(conf, decision);
    return loaded || bring_library(conf, call, decision);
}

bool xg_needs_bring(const struct xg_conf *conf, const struct xg_call *call,
                    const struct xg_decision *decision, enum xg_reason *why)
{
    bool loaded;
    if (!decision->start && !decision->wait) {
        loaded = decision->place == XG_PLACE_CPU || bring_library(conf, call, decision);
    } else if (xg_engine_state_get() == XG_ENGINE_COLD && is_library_first(conf, call)) {
        loaded = bring_behind_library(conf, call, decision);
    } else {
        bring_engine(conf, decision);
        loaded = bring_library(conf, call, decision);
    }
    const enum xg_engine_state state = xg_engine_state_get();
    *why = state == XG_ENGINE_FORKED ? XG_REASON_FORKED
           : state == XG_ENGINE_NONE ? xg_reason_of_absence(xg_presence_look(conf))
           : lacks_cusolver(call)    ? XG_REASON_KERNEL
                                     : XG_REASON_STARTING;
    return state == XG_ENGINE_READY && loaded && !lacks_cusolver(call);
}
