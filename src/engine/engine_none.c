/* SPDX-License-Identifier: MIT */
/* The engine of a build without CUDA: it never starts, and every product runs on the CPU. */
#include "engine/early_start.h"
#include "engine/engine.h"
#include "engine/library_start.h"
#include "engine/presence.h"

#include "base/log.h"
#include "resident/resident.h"

enum xg_engine_state xg_engine_state_get(void)
{
    return XG_ENGINE_NONE;
}

bool xg_engine_used(void)
{
    return false;
}

bool xg_engine_device(struct xg_model_device *out)
{
    (void)out;
    return false;
}

void xg_engine_start(const struct xg_conf *conf)
{
    static int told;
    if (xg_conf_insists(conf))
        xg_log_once(
            &told,
            "XGEMM_MODE=%s, but this library was built without CUDA: products run on the CPU",
            conf->mode == XG_MODE_GPU ? "gpu" : "compare");
}

enum xg_engine_state xg_engine_wait(const struct xg_conf *conf)
{
    (void)conf;
    return XG_ENGINE_NONE;
}

enum xg_engine_state xg_engine_wait_most(const struct xg_conf *conf, double most_s)
{
    (void)most_s;
    return xg_engine_wait(conf);
}

enum xg_library_state xg_library_start_state(enum xg_toolkit library)
{
    (void)library;
    return XG_LIBRARY_ABSENT;
}

bool xg_library_start_done(enum xg_toolkit library, const struct xg_conf *conf)
{
    (void)library, (void)conf;
    return false;
}

bool xg_library_start_wait(enum xg_toolkit library, const struct xg_conf *conf, double most_s)
{
    (void)most_s;
    (void)library, (void)conf;
    return false;
}

bool xg_engine_hold(int number, struct xg_dev **dev)
{
    (void)number, (void)dev;
    return false;
}

void xg_engine_let_go(int number)
{
    (void)number;
}

void xg_early_start(unsigned long long objects, xg_history_lookup *lookup)
{
    (void)objects, (void)lookup;
}

enum xg_reason xg_presence_look(const struct xg_conf *conf)
{
    (void)conf;
    return XG_REASON_NO_GPU;
}

enum xg_status xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                 const struct xg_cpu *cpu, const struct xg_patience *patience,
                                 struct xg_result *result)
{
    (void)call, (void)conf, (void)cpu, (void)patience;
    *result = (struct xg_result){0};
    return XG_DECLINED;
}

/* Nothing can stay on a device: no call is looked at, because the engine is never ready. */
void xg_resident_look(struct xg_resident_call *call, struct xg_problem *problem, bool trusted)
{
    (void)call, (void)problem, (void)trusted;
}

void xg_resident_settle(struct xg_resident_call *call, const double gain_s[2], bool on_gpu)
{
    (void)call, (void)gain_s, (void)on_gpu;
}

void xg_resident_end(struct xg_resident_call *call, double took_s, double saved_s, double lost_s)
{
    (void)call, (void)took_s, (void)saved_s, (void)lost_s;
}
