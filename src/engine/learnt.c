/* SPDX-License-Identifier: MIT */
#include "engine/learnt.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/sandbox.h"
#include "device/teardown.h"
#include "engine/engine.h"
#include "engine/remembered.h"
#include "engine/settled.h"
#include "host/cores.h"
#include "host/fork.h"
#include "host/latch.h"
#include "host/stack.h"
#include "host/tally.h"
#include "machine/calibration.h"
#include "report/trace.h"

static struct {
    struct xg_latch latch;
    _Atomic bool opened;
    _Atomic bool device_known; /* the policy's device is the engine's, no longer the reference */
    char device_name[96];      /* empty: no device is known */
    int cores;                 /* that the process may use; written before opened */
    struct xg_policy policy;
} learnt;

/* Products below this m*n*k are forwarded; negative: not known yet. */
static _Atomic double floor_mnk = -1;

/* GEMVs whose matrix has fewer bytes are forwarded. Read after floor_mnk is known. */
static _Atomic double floor_bytes = 0;

/* Kinds that are forwarded, one bit each: XGEMM_OPERATIONS excludes them, or the device has no
 * kernel for them. Read after the floor is known. */
static _Atomic uint64_t kinds_off;

/* Settled shapes skip the decision, except in a phase on the GPU: there each would wake threads. */
static _Atomic bool settles;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void)
{
    xg_fork_register(&(struct xg_fork_watch){.latch = &learnt.latch});
}

/* --- The machine ------------------------------------------------------------------------------ */

/* The calibration file is not used if the choice must not depend on measurements. */
void xg_learnt_open(const struct xg_conf *conf, const struct xg_cpu *cpu,
                    const struct xg_shelter *shelter)
{
    pthread_once(&once, init);
    if (atomic_load_explicit(&learnt.opened, memory_order_acquire))
        return;
    xg_shelter_wait(shelter); /* reads files, in folders that may not answer */
    /*
     * The latch is not held: naming the library takes the dynamic linker's lock, which a thread
     * whose constructor calls us may hold while it waits for us. Two threads may both get here.
     */
    struct xg_model model;
    int cores = xg_cores_count();
    xg_model_init(&model, cores);
    model.gpu_panels = !conf->reproducible; /* xg_panel_serves */
    if (conf->mode != XG_MODE_CPU && !conf->reproducible)
        xg_calibration_load(&model, cores, cpu->library ? cpu->library(cpu->ctx) : NULL);
    if (xg_stack_suffices()) {
        xg_remembered_at_call(conf);
        xg_remembered_starts(conf, model.starts_s);
    }
    if (xg_teardown_apart(conf))
        xg_model_leave_exit(&model);
    xg_cpu_spin_s(cpu); /* examines the pool once, with signals blocked */
    int64_t taken = xg_latch_wait(&learnt.latch);
    if (!learnt.opened) {
        learnt.policy.model = model;
        learnt.policy.ledger.cpu_ratio = xg_remembered_cpu_ratio();
        learnt.policy.ledger.pays_in_full = xg_remembered_is_vain();
        learnt.cores = cores;
    }
    atomic_store_explicit(&learnt.opened, true, memory_order_release);
    xg_latch_leave(&learnt.latch, taken);
}

/* In reproducible mode shapes are placed before the device is open, so by the reference device. */
static void take_device_locked(const struct xg_conf *conf)
{
    struct xg_model_device device;
    if (xg_engine_state_get() != XG_ENGINE_READY || learnt.device_known)
        return;
    learnt.device_known = true;
    if (!xg_engine_device(&device))
        return;
    memcpy(learnt.device_name, device.name, sizeof learnt.device_name);
    if (!conf->reproducible)
        xg_model_set_device(&learnt.policy.model, &device);
}

bool xg_learnt_is_open(void)
{
    return atomic_load_explicit(&learnt.opened, memory_order_acquire) &&
           (learnt.device_known || xg_engine_state_get() != XG_ENGINE_READY);
}

int xg_learnt_cores(void)
{
    return learnt.cores;
}

int xg_learnt_cores_left(void)
{
    int used = xg_tally_all(XG_TALLY_CORES);
    if (used <= 0)
        return INT_MAX;
    return learnt.cores - used > 1 ? learnt.cores - used : 1;
}

bool xg_learnt_is_unserved(int kind)
{
    return atomic_load_explicit(&kinds_off, memory_order_relaxed) & xg_kind_bit(kind);
}

void xg_learnt_set_unserved(int kind)
{
    atomic_fetch_or_explicit(&kinds_off, xg_kind_bit(kind), memory_order_relaxed);
}

void xg_learnt_trace(const struct xg_conf *conf, const struct xg_cpu *cpu)
{
    struct xg_model model;
    char device[sizeof learnt.device_name];
    if (!xg_trace_lacks_machine(true))
        return;
    int64_t taken = xg_latch_wait(&learnt.latch);
    take_device_locked(conf);
    model = learnt.policy.model;
    memcpy(device, learnt.device_name, sizeof device);
    xg_latch_leave(&learnt.latch, taken);
    if (!xg_trace_lacks_machine(*device))
        return;
    const struct xg_trace_machine machine = {
        .model = &model,
        .device = *device ? device : NULL,
        .library = cpu->library ? cpu->library(cpu->ctx) : NULL,
        .cores = learnt.cores,
        .cpu_threads = cpu->threads ? cpu->threads(cpu->ctx) : 0,
        .spin_s = xg_cpu_spin_s(cpu),
    };
    xg_trace_add_machine(&machine);
}

/* --- Which products need a decision ------------------------------------------------------------
 */

static void set_floor_locked(const struct xg_conf *conf)
{
    atomic_store_explicit(&floor_bytes, xg_decide_floor_bytes(conf), memory_order_relaxed);
    atomic_store_explicit(&floor_mnk,
                          xg_decide_floor_mnk(&learnt.policy, conf, xg_engine_state_get()),
                          memory_order_release);
}

static double find_floor(void)
{
    struct xg_shelter shelter;
    xg_shelter_enter(&shelter);
    const struct xg_conf *conf = xg_conf_get();
    pthread_once(&once, init);
    int64_t taken = xg_latch_wait(&learnt.latch);
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        if (!xg_conf_operates(conf, kind))
            xg_learnt_set_unserved(kind);
    set_floor_locked(conf);
    xg_latch_leave(&learnt.latch, taken);
    if (xg_engine_state_get() == XG_ENGINE_NONE)
        xg_engine_start(conf); /* warns that there is no GPU, if the mode asks for one */
    xg_shelter_leave(&shelter);
    return atomic_load_explicit(&floor_mnk, memory_order_relaxed);
}

bool xg_learnt_wants(int kind, int64_t m, int64_t n, int64_t k)
{
    const double mnk = (double)m * (double)n * (double)k;
    const int type = kind - XG_KIND_GEMV;
    double floor = atomic_load_explicit(&floor_mnk, memory_order_acquire);
    if (xg_sandbox_closed() || (floor < 0 && xg_fork_unannounced()))
        return false;
    if (floor < 0)
        floor = find_floor();
    if (mnk < floor)
        return false;
    if (type >= 0 && type < XG_TYPE_COUNT &&
        mnk * (double)xg_type_bytes((enum xg_type)type) <
            atomic_load_explicit(&floor_bytes, memory_order_relaxed))
        return false;
    if (floor == 0)
        return true;
    if (xg_learnt_is_unserved(kind))
        return false;
    return !atomic_load_explicit(&settles, memory_order_relaxed) ||
           !xg_settled_takes(kind, m, n, k);
}

bool xg_learnt_wants_all(void)
{
    return !(atomic_load_explicit(&floor_mnk, memory_order_relaxed) > 0);
}

/* --- Decisions and observations ----------------------------------------------------------------
 */

static const double WAITS_MNK = 1024.0 * 1024 * 1024; /* some milliseconds on sixteen cores */

static int64_t take_latch(const struct xg_call *call, struct xg_shelter *shelter)
{
    const struct xg_problem *problem = call->problem;
    int64_t taken = xg_latch_take(&learnt.latch);
    if (taken || (shelter->open && problem &&
                  (double)problem->m * (double)problem->n * (double)problem->k < WAITS_MNK))
        return taken;
    xg_shelter_close(shelter);
    return xg_latch_wait(&learnt.latch);
}

void xg_learnt_decide(const struct xg_conf *conf, const struct xg_call *call,
                      struct xg_situation *now, struct xg_shelter *shelter,
                      struct xg_decision *decision)
{
    int64_t taken = take_latch(call, shelter);
    now->latch_lost = !taken;
    if (taken && !shelter->open)
        take_device_locked(conf);
    if (taken && call->problem) {
        int64_t settled_ns = xg_settled_forget();
        if (settled_ns > 0 && now->cpu_threads != 1)
            xg_decide_observe_settled(&learnt.policy, 1e-9 * (double)settled_ns);
    }
    xg_decide(&learnt.policy, conf, call, now, decision);
    if (taken)
        atomic_store_explicit(&settles, learnt.policy.phase.side == XG_SIDE_CPU,
                              memory_order_relaxed);
    xg_latch_leave(&learnt.latch, taken);
}

void xg_learnt_observe(const struct xg_conf *conf, enum xg_side side, const struct xg_call *call,
                       const struct xg_decision *decision, double seconds, double now_s)
{
    int64_t taken = xg_latch_take(&learnt.latch);
    if (taken) {
        xg_decide_observe(&learnt.policy, side, call, decision, seconds, now_s);
        xg_remembered_note(&learnt.policy.ledger, learnt.policy.model.starts_s);
        if (side == XG_SIDE_CPU && call->problem)
            set_floor_locked(conf);
    }
    xg_latch_leave(&learnt.latch, taken);
}
