/* SPDX-License-Identifier: MIT */
#include "dispatch.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/sandbox.h"
#include "comparison.h"
#include "decide/calibration.h"
#include "decide/overlap.h"
#include "decide/policy.h"
#include "device/teardown.h"
#include "engine.h"
#include "host/cores.h"
#include "host/fork.h"
#include "host/latch.h"
#include "host/shelter.h"
#include "host/spin.h"
#include "host/stack.h"
#include "host/tally.h"
#include "leftover.h"
#include "library_start.h"
#include "presence.h"
#include "report/recorder.h"
#include "report/trace.h"
#include "settled.h"

/* What the process knows about its machine and has learnt so far. */
static struct {
    struct xg_latch latch;
    _Atomic bool opened;
    _Atomic bool device_known; /* learnt.policy's device is the engine's, no longer the reference */
    char device_name[96];      /* empty: no device is known */
    int cores;                 /* that the process may use; written before opened */
    struct xg_policy policy;
} learnt;

/* Products below this m*n*k are forwarded; negative: not known yet. */
static _Atomic double floor_mnk = -1;

/* Kinds that are forwarded, one bit each: XGEMM_OPERATIONS excludes them, or the device has no
 * kernel for them. Read after the floor is known. */
static _Atomic uint64_t kinds_off;

/* Settled shapes skip the decision, except in a phase on the GPU: there each would wake threads. */
static _Atomic bool settles;

static pthread_once_t learnt_once = PTHREAD_ONCE_INIT;

static void init_learnt(void)
{
    xg_fork_register(&(struct xg_fork_watch){.latch = &learnt.latch});
}

/*
 * Examines the machine at the first product that is handed over. The calibration file is not used
 * if the choice must not depend on measurements.
 */
static void open_machine(const struct xg_conf *conf, const struct xg_cpu *cpu,
                         const struct xg_shelter *shelter)
{
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
    if (xg_teardown_apart(conf))
        xg_model_leave_exit(&model);
    xg_spin_seconds(cpu->pool); /* examines the pool once, with signals blocked */
    int64_t taken = xg_latch_wait(&learnt.latch);
    if (!learnt.opened) {
        learnt.policy.model = model;
        learnt.cores = cores;
    }
    atomic_store_explicit(&learnt.opened, true, memory_order_release);
    xg_latch_leave(&learnt.latch, taken);
}

static void turn_off_locked(const struct xg_conf *conf)
{
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        if (!xg_conf_operates(conf, kind))
            atomic_fetch_or_explicit(&kinds_off, xg_kind_bit(kind), memory_order_relaxed);
}

static void set_floor_locked(const struct xg_conf *conf)
{
    atomic_store_explicit(&floor_mnk,
                          xg_policy_floor_mnk(&learnt.policy, conf, xg_engine_state_get()),
                          memory_order_relaxed);
}

/* In reproducible mode shapes are placed before the device is open, so by the reference device. */
static void take_device_locked(const struct xg_conf *conf)
{
    struct xg_model_device device;
    learnt.device_known = true;
    if (!xg_engine_device(&device))
        return;
    memcpy(learnt.device_name, device.name, sizeof learnt.device_name);
    if (!conf->reproducible)
        xg_model_set_device(&learnt.policy.model, &device);
}

void xg_dispatch_machine(const struct xg_conf *conf, const struct xg_cpu *cpu,
                         const struct xg_shelter *shelter, struct xg_model *model, double *missed_s)
{
    pthread_once(&learnt_once, init_learnt);
    open_machine(conf, cpu, shelter);
    int64_t taken = xg_latch_wait(&learnt.latch);
    if (xg_engine_state_get() == XG_ENGINE_READY && !learnt.device_known)
        take_device_locked(conf);
    *model = learnt.policy.model;
    *missed_s = learnt.policy.earned_s;
    xg_latch_leave(&learnt.latch, taken);
}

/* --- Is it ours? --------------------------------------------------------------------------- */

bool xg_dispatch_wants(int kind, int64_t m, int64_t n, int64_t k)
{
    double floor = atomic_load_explicit(&floor_mnk, memory_order_relaxed);
    if (xg_sandbox_closed() || (floor < 0 && xg_fork_unannounced()))
        return false;
    if (floor < 0) {
        struct xg_shelter shelter;
        xg_shelter_enter(&shelter);
        const struct xg_conf *conf = xg_conf_get();
        pthread_once(&learnt_once, init_learnt);
        int64_t taken = xg_latch_wait(&learnt.latch);
        turn_off_locked(conf);
        set_floor_locked(conf);
        xg_latch_leave(&learnt.latch, taken);
        if (xg_engine_state_get() == XG_ENGINE_NONE)
            xg_engine_start(conf); /* warns that there is no GPU, if the mode asks for one */
        xg_shelter_leave(&shelter);
        floor = atomic_load_explicit(&floor_mnk, memory_order_relaxed);
    }
    if ((double)m * (double)n * (double)k < floor)
        return false;
    if (floor == 0)
        return true;
    if (atomic_load_explicit(&kinds_off, memory_order_relaxed) & xg_kind_bit(kind))
        return false;
    return !atomic_load_explicit(&settles, memory_order_relaxed) ||
           !xg_settled_takes(kind, m, n, k);
}

/*
 * The CPU library computes the groups of a call in parallel. A group that keeps all threads busy on
 * its own loses nothing if it is taken out; after that, products run one after the other.
 */
static const double GROUP_MNK = 512.0 * 512 * 512;

bool xg_dispatch_wants_group(int kind, int64_t m, int64_t n, int64_t k)
{
    const struct xg_conf *conf = xg_dispatch_wants(kind, m, n, k) ? xg_conf_get() : NULL;
    return conf && ((double)m * (double)n * (double)k >= GROUP_MNK || conf->mode != XG_MODE_AUTO ||
                    conf->reproducible);
}

const char *xg_dispatch_cpu_blas(void)
{
    return xg_conf_get()->cpu_blas;
}

/* --- The two sides ------------------------------------------------------------------------- */

/* Blocks signals before work that no handler may leave. True in a child made without handlers. */
static bool close_shelter(struct xg_shelter *shelter)
{
    xg_shelter_close(shelter);
    return xg_fork_unannounced();
}

static void compute_on_cpu(const struct xg_cpu *cpu, const struct xg_decision *decision,
                           struct xg_shelter *shelter)
{
    xg_tally_add(XG_TALLY_CORES, decision->cpu_threads);
    xg_shelter_leave_to(shelter, cpu);
    xg_tally_take(XG_TALLY_CORES, decision->cpu_threads);
}

/*
 * The cores that products on the CPU leave for staging. If no product runs on the CPU, the number
 * is unlimited, so that the measured staging figures hold.
 */
static int cores_left(void)
{
    int used = xg_tally_all(XG_TALLY_CORES);
    if (used <= 0)
        return INT_MAX;
    return learnt.cores - used > 1 ? learnt.cores - used : 1;
}

static void run_cpu(const struct xg_problem *call, const struct xg_conf *conf,
                    const struct xg_cpu *cpu, const struct xg_decision *decision,
                    struct xg_shelter *shelter, struct xg_call_record *record)
{
    double begin = xg_clock_s();
    compute_on_cpu(cpu, decision, shelter);
    double end = xg_clock_s();
    record->place = XG_PLACE_CPU;
    int64_t taken = xg_latch_take(&learnt.latch);
    if (taken) {
        xg_policy_observe(&learnt.policy, XG_SIDE_CPU, call, decision, end - begin, end);
        set_floor_locked(conf);
    }
    xg_latch_leave(&learnt.latch, taken);
    bool quiet = atomic_load_explicit(&floor_mnk, memory_order_relaxed) > 0;
    if (decision->wakes && cpu->pool == XG_POOL_OPENBLAS &&
        xg_engine_state_get() == XG_ENGINE_READY)
        record->spin_s = xg_spin_seconds(cpu->pool);
    if (decision->settled && quiet)
        xg_settled_add(call);
}

enum xg_reason xg_dispatch_reason_declined(const struct xg_result *result, enum xg_reason other)
{
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return XG_REASON_NO_GPU;
    if (result->busy)
        return XG_REASON_BUSY;
    if (result->failed)
        return XG_REASON_FAILED;
    return result->unserved ? XG_REASON_KERNEL : other;
}

/* Computes the rest of the product. The order of the parts matters to in-place operations. */
static void compute_rest(struct xg_leftover *rest, const struct xg_decision *decision,
                         struct xg_shelter *shelter)
{
    if (rest->whole)
        compute_on_cpu(rest->cpu, decision, shelter);
    if (rest->count == 0)
        return;
    xg_tally_add(XG_TALLY_CORES, decision->cpu_threads);
    xg_shelter_leave(shelter);
    for (int64_t i = 0; i < rest->count; i++)
        rest->cpu->part(rest->cpu->ctx, &rest->parts[i]);
    xg_shelter_enter_again(shelter);
    xg_tally_take(XG_TALLY_CORES, decision->cpu_threads);
}

/* Returns true if C is computed; false if the GPU declined and the CPU must compute it. */
static bool run_gpu(const struct xg_problem *call, const struct xg_conf *conf,
                    const struct xg_cpu *cpu, const struct xg_decision *decision,
                    struct xg_shelter *shelter, struct xg_call_record *record)
{
    struct xg_leftover rest = {.cpu = cpu, .frame = __builtin_frame_address(0)};
    const struct xg_cpu fallback = xg_leftover_cpu(&rest);
    struct xg_result *result = &record->gpu;
    struct xg_patience patience = {.takes_s = decision->gpu_s - decision->loops_s,
                                   .waits_s = decision->wait ? HUGE_VAL : decision->waits_s,
                                   .most_s = decision->wait ? 0.0 : decision->cpu_s,
                                   .threads = decision->crowded ? 1 : cores_left()};
    double begin = xg_clock_s();
    enum xg_status status = xg_engine_compute(call, conf, &fallback, &patience, result);
    double end = xg_clock_s();
    compute_rest(&rest, decision, shelter);
    bool some = !rest.whole;
    xg_leftover_fini(&rest);
    if (status == XG_DECLINED) {
        record->reason = xg_dispatch_reason_declined(result, XG_REASON_MEMORY);
        if (result->unserved)
            atomic_fetch_or(&kinds_off, xg_kind_bit(xg_problem_kind(call)));
        return false;
    }
    if (status != XG_OK) {
        record->place = some ? XG_PLACE_BOTH : XG_PLACE_CPU;
        record->reason = status == XG_ERR_WRONG ? XG_REASON_WRONG : XG_REASON_FAILED;
        return true;
    }
    record->place = XG_PLACE_GPU;
    int64_t taken = xg_latch_take(&learnt.latch);
    if (taken)
        xg_policy_observe(&learnt.policy, XG_SIDE_GPU, call, decision,
                          end - begin - result->waited_s - result->verify_s, end);
    xg_latch_leave(&learnt.latch, taken);
    return true;
}

static void run_both(const struct xg_problem *call, const struct xg_conf *conf,
                     const struct xg_cpu *cpu, struct xg_shelter *shelter,
                     struct xg_call_record *record)
{
    enum xg_status status =
        xg_comparison_compute(record->symbol, call, conf, cpu, shelter, &record->gpu);
    record->place = status == XG_OK ? XG_PLACE_BOTH : XG_PLACE_CPU;
    if (status != XG_OK)
        record->reason = status == XG_DECLINED
                             ? xg_dispatch_reason_declined(&record->gpu, XG_REASON_MEMORY)
                             : XG_REASON_FAILED;
}

/* --- One call ------------------------------------------------------------------------------ */

static const double WAITS_MNK = 1024.0 * 1024 * 1024; /* some milliseconds on sixteen cores */

/*
 * Returns 0 if other threads hold the latch for long; the product then goes to the CPU without
 * asking the policy. A call waits for the latch if it would take long on the CPU, if it runs with
 * signals blocked, if its place is reported, or if its place may not depend on other threads.
 */
static int64_t take_latch(const struct xg_problem *call, struct xg_shelter *shelter)
{
    int64_t taken = xg_latch_take(&learnt.latch);
    if (taken || (shelter->open && (double)call->m * (double)call->n * (double)call->k < WAITS_MNK))
        return taken;
    xg_shelter_close(shelter);
    return xg_latch_wait(&learnt.latch);
}

static void decide(const struct xg_problem *call, const struct xg_conf *conf,
                   const struct xg_cpu *cpu, double begin, struct xg_shelter *shelter,
                   struct xg_decision *decision)
{
    open_machine(conf, cpu, shelter);
    enum xg_reason absence = xg_presence_look(conf);
    enum xg_engine_state state = xg_engine_state_get();
    struct xg_situation now = {
        .now_s = begin,
        .state = state,
        .absence = absence,
        .unserved = atomic_load_explicit(&kinds_off, memory_order_relaxed) &
                    xg_kind_bit(xg_problem_kind(call)),
        .is_counted = xg_tally_own(XG_TALLY_COUNTED),
        .cpu_threads = cpu->threads ? cpu->threads(cpu->ctx) : 0,
        .under_way = xg_tally_all(XG_TALLY_PRODUCTS),
        .cores = learnt.cores,
        .cores_left = cores_left(),
        .spin_s = xg_spin_seconds(cpu->pool),
        .pool_is_shared = cpu->pool == XG_POOL_GOMP || cpu->pool == XG_POOL_KMP,
    };
    int64_t taken = take_latch(call, shelter);
    if (!taken) {
        *decision = (struct xg_decision){.place = XG_PLACE_CPU,
                                         .reason = XG_REASON_BUSY, /* never reported */
                                         .begin_s = begin,
                                         .cpu_threads = now.cpu_threads};
        return;
    }
    if (state == XG_ENGINE_READY && !learnt.device_known && !shelter->open)
        take_device_locked(conf);
    int64_t settled_ns = xg_settled_forget();
    if (settled_ns > 0 && now.cpu_threads != 1)
        xg_policy_observe_settled(&learnt.policy, 1e-9 * (double)settled_ns);
    xg_policy_decide(&learnt.policy, conf, call, &now, decision);
    atomic_store_explicit(&settles, learnt.policy.phase.side == XG_SIDE_CPU, memory_order_relaxed);
    xg_latch_leave(&learnt.latch, taken);
}

/* Places the product on the CPU if the GPU is not ready after the wait. */
static void await_engine(const struct xg_conf *conf, struct xg_call_record *record)
{
    enum xg_engine_state state = xg_engine_wait(conf);
    if (state == XG_ENGINE_READY)
        return;
    xg_record_stay(record, state == XG_ENGINE_FORKED ? XG_REASON_FORKED
                           : state == XG_ENGINE_STARTING
                               ? XG_REASON_STARTING
                               : xg_reason_of_absence(xg_presence_look(conf)));
}

/*
 * A product that only cuBLAS computes stays on the CPU until cuBLAS has been loaded; if the user
 * asked for the GPU, it waits. A product does not load cuBLAS itself, because the dynamic linker's
 * lock may be held by a thread that waits for this one.
 */
static bool lacks_cublas(const struct xg_problem *call, const struct xg_conf *conf, bool waits)
{
    struct xg_model_device device;
    return xg_engine_device(&device) && !device.facts.cublas &&
           xg_select_needs_cublas(&device.facts, call) &&
           !(waits ? xg_library_start_wait(XG_TOOLKIT_CUBLAS, conf, HUGE_VAL)
                   : xg_library_start_done(XG_TOOLKIT_CUBLAS, conf));
}

/* Adds the figures that a trace report needs: once, and again when there is a device. */
static void trace_machine(const struct xg_conf *conf, const struct xg_cpu *cpu)
{
    struct xg_model model;
    char device[sizeof learnt.device_name];
    if (!xg_trace_lacks_machine(true))
        return;
    int64_t taken = xg_latch_wait(&learnt.latch);
    if (xg_engine_state_get() == XG_ENGINE_READY && !learnt.device_known)
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
        .spin_s = xg_spin_seconds(cpu->pool),
    };
    xg_trace_add_machine(&machine);
}

void xg_dispatch_record(const struct xg_conf *conf, const struct xg_cpu *cpu,
                        struct xg_call_record *record, double begin_s)
{
    if (!xg_conf_tells(conf))
        return;
    record->seconds = xg_clock_s() - begin_s - record->inside_s;
    if (conf->trace)
        trace_machine(conf, cpu);
    xg_recorder_add(record, begin_s);
}

/* Places the product on the CPU, whatever was decided, if its operands, or the routine that it is a
 * part of, do not allow the GPU. */
static void keep_on_cpu(const struct xg_problem *call, struct xg_decision *decision)
{
    bool twice = decision->place == XG_PLACE_BOTH;
    if (decision->place == XG_PLACE_CPU)
        return;
    if (xg_tally_own(XG_TALLY_KEPT))
        decision->reason = XG_REASON_ROUTINE;
    else if (xg_overlap_find(call))
        decision->reason = XG_REASON_OVERLAP;
    else if (twice && xg_problem_is_in_place(call))
        decision->reason = XG_REASON_IN_PLACE;
    else
        return;
    decision->place = XG_PLACE_CPU;
}

/*
 * Signals stay open if only the policy is asked: it takes no locks, and a product on the CPU then
 * makes no system call of ours. OpenBLAS returns its number of threads without a lock; other
 * libraries may take one for that.
 */
static bool stays_open(const struct xg_cpu *cpu)
{
    if (!atomic_load_explicit(&learnt.opened, memory_order_acquire) ||
        cpu->pool != XG_POOL_OPENBLAS)
        return false;
    const struct xg_conf *conf = xg_conf_get();
    return conf->mode == XG_MODE_AUTO && !conf->reproducible && !xg_conf_tells(conf) &&
           (learnt.device_known || xg_engine_state_get() != XG_ENGINE_READY);
}

static void compute(const char *symbol, const struct xg_problem *call, const struct xg_cpu *cpu,
                    struct xg_shelter *shelter)
{
    const struct xg_conf *conf = xg_conf_get();
    struct xg_problem stacked;
    if (xg_problem_is_stacked(call, &stacked) && xg_conf_operates(conf, xg_problem_kind(call)))
        call = &stacked; /* B is uploaded once, and one kernel computes the product */
    pthread_once(&learnt_once, init_learnt);
    double begin = xg_clock_s();

    struct xg_decision decision;
    /* The thread is in no product, but maybe in a routine, which multiplies. */
    xg_tally_take(XG_TALLY_PRODUCTS, INT_MAX);
    xg_tally_take(XG_TALLY_CORES, INT_MAX);
    xg_tally_add(XG_TALLY_PRODUCTS, 1);
    decide(call, conf, cpu, begin, shelter, &decision);
    if ((decision.start || decision.place != XG_PLACE_CPU) && close_shelter(shelter)) {
        decision.place = XG_PLACE_CPU;
        decision.reason = XG_REASON_FORKED;
        decision.start = false;
    }
    keep_on_cpu(call, &decision);
    struct xg_call_record record = {
        .symbol = symbol,
        .call = *call,
        .place = decision.place,
        .reason = decision.reason,
        .predicted_cpu_s = decision.cpu_s,
        .predicted_gpu_s =
            decision.gpu_s - (decision.place == XG_PLACE_CPU ? 0.0 : decision.loops_s),
    };
    if (decision.start)
        xg_engine_start(conf);
    if (record.place != XG_PLACE_CPU && !xg_stack_suffices())
        xg_record_stay(&record, XG_REASON_STACK);
    if (record.place != XG_PLACE_CPU)
        xg_shelter_wait(shelter);
    if (record.place != XG_PLACE_CPU && decision.wait)
        await_engine(conf, &record);
    if (record.place != XG_PLACE_CPU && lacks_cublas(call, conf, decision.wait))
        xg_record_stay(&record, XG_REASON_STARTING);
    if (record.place == XG_PLACE_BOTH)
        run_both(call, conf, cpu, shelter, &record);
    else if (record.place == XG_PLACE_CPU || !run_gpu(call, conf, cpu, &decision, shelter, &record))
        run_cpu(call, conf, cpu, &decision, shelter, &record);
    xg_tally_take(XG_TALLY_PRODUCTS, 1);

    xg_dispatch_record(conf, cpu, &record, begin);
}

void xg_dispatch_problem(const char *symbol, const struct xg_problem *call,
                         const struct xg_cpu *cpu)
{
    int saved_errno = errno;
    struct xg_shelter shelter;
    bool open = stays_open(cpu);
    if (!open && xg_fork_unannounced()) {
        cpu->whole(cpu->ctx);
        return;
    }
    if (open)
        xg_shelter_enter_open(&shelter);
    else
        xg_shelter_enter(&shelter);
    compute(symbol, call, cpu, &shelter);
    errno = saved_errno;
    xg_shelter_leave(&shelter);
}
