/* SPDX-License-Identifier: MIT */
/* One call: look, decide, bring what it needs, run, record. */
#include "dispatch.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/sandbox.h"
#include "decide/overlap.h"
#include "decide/tuning.h"
#include "device/absence.h"
#include "device/dev.h"
#include "engine/engine.h"
#include "engine/learnt.h"
#include "engine/library_start.h"
#include "engine/needs.h"
#include "engine/presence.h"
#include "engine/remembered.h"
#include "host/fork.h"
#include "host/shelter.h"
#include "host/stack.h"
#include "host/tally.h"
#include "report/recorder.h"
#include "report/tape.h"
#include "resident/resident.h"
#include "run.h"
#include "verify/residual.h"

/* --- Is it ours? ------------------------------------------------------------------------------ */

bool xg_dispatch_wants(int kind, int64_t m, int64_t n, int64_t k)
{
    return xg_learnt_wants(kind, m, n, k);
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

/* The largest dimension of A from which routines are handed over; negative: not known yet. */
static _Atomic int64_t floor_extent = -1;

static void set_floor(void)
{
    struct xg_shelter shelter;
    xg_shelter_enter(&shelter);
    const struct xg_conf *conf = xg_conf_get();
    int64_t extent = xg_conf_tells(conf) || xg_conf_insists(conf) ? 1 : XG_ROUTINE_FLOOR;
    if (conf->lapack != XG_LAPACK_ON || (conf->mode == XG_MODE_CPU && !xg_conf_tells(conf)))
        extent = INT64_MAX;
    atomic_store_explicit(&floor_extent, extent, memory_order_relaxed);
    xg_shelter_leave(&shelter);
}

bool xg_dispatch_wants_routine(int64_t m, int64_t n)
{
    int64_t extent = atomic_load_explicit(&floor_extent, memory_order_relaxed);
    if (xg_sandbox_closed() || (extent < 0 && xg_fork_unannounced()))
        return false;
    if (extent < 0) {
        set_floor();
        extent = atomic_load_explicit(&floor_extent, memory_order_relaxed);
    }
    return m >= 1 && n >= 1 && xg_max_i64(m, n) >= extent;
}

bool xg_dispatch_wants_flops(const struct xg_routine *routine)
{
    struct xg_shelter shelter; /* the sum of operations may be inexact */
    if (atomic_load_explicit(&floor_extent, memory_order_relaxed) <= 1)
        return true;
    xg_shelter_enter_open(&shelter);
    bool wanted = xg_routine_flops(routine) >= XG_ROUTINE_FLOPS_FLOOR;
    xg_shelter_leave(&shelter);
    return wanted;
}

const char *xg_dispatch_cpu_blas(void)
{
    return xg_conf_get()->cpu_blas;
}

/* --- One call --------------------------------------------------------------------------------- */

/* Adds what the call and its thread bring. */
static void look_at_call(const struct xg_conf *conf, const struct xg_call *call,
                         struct xg_situation *now)
{
    const struct xg_problem *problem = call->problem;
    const bool both = conf->mode == XG_MODE_COMPARE;
    now->kept = xg_tally_own(XG_TALLY_KEPT);
    now->is_counted = xg_tally_own(XG_TALLY_COUNTED);
    now->stack_short = now->state != XG_ENGINE_NONE && !xg_stack_suffices();
    if (problem) {
        now->overlaps = xg_overlap_find;
        now->unserved = xg_learnt_is_unserved(xg_problem_kind(problem));
        now->incomparable = both && xg_problem_is_in_place(problem);
    } else {
        now->incomparable = both && !xg_residual_covers(call->routine);
    }
}

static struct xg_situation look(const struct xg_conf *conf, const struct xg_call *call,
                                const struct xg_cpu *cpu, double begin)
{
    struct xg_situation now = {
        .now_s = begin,
        .state = xg_engine_state_get(),
        .absence = xg_presence_look(conf),
        .cublas = xg_library_start_state(XG_TOOLKIT_CUBLAS),
        .cusolver = xg_library_start_state(XG_TOOLKIT_CUSOLVER),
        .cpu_threads = call->problem && cpu->threads ? cpu->threads(cpu->ctx) : 0,
        .spin_s = xg_cpu_spin_s(cpu),
        .pool_is_shared = cpu->shared_pool,
        .under_way = xg_tally_all(XG_TALLY_PRODUCTS),
        .cores = xg_learnt_cores(),
        .cores_left = xg_learnt_cores_left(),
        .promised = xg_remembered_promise(),
    };
    look_at_call(conf, call, &now);
    return now;
}

static struct xg_call_record record_of(const struct xg_call *call,
                                       const struct xg_decision *decision)
{
    const struct xg_routine *routine = call->routine;
    struct xg_call_record record = {
        .symbol = call->symbol,
        .predicted_cpu_s = decision->cpu_s,
        .predicted_gpu_s =
            decision->gpu_s - (decision->place == XG_PLACE_CPU ? 0.0 : decision->loops_s),
    };
    if (call->problem) {
        record.call = *call->problem;
        return record;
    }
    record.call = (struct xg_problem){
        .type = routine->type, .m = routine->m, .n = routine->n, .k = routine->k};
    record.routine = xg_routine_text(routine->name, routine->type);
    record.routine_flops = xg_routine_flops(routine);
    record.routine_up_bytes = xg_routine_bytes(routine, false);
    record.routine_down_bytes = xg_routine_bytes(routine, true);
    return record;
}

static void tell(const struct xg_conf *conf, const struct xg_call *call,
                 const struct xg_situation *now, const struct xg_cpu *cpu,
                 struct xg_call_record *record)
{
    const double begin_s = now->now_s;
    if (!xg_conf_tells(conf))
        return;
    record->seconds = xg_clock_s() - begin_s - record->inside_s;
    xg_tape_add(call, now, record->seconds);
    if (conf->trace)
        xg_learnt_trace(conf, cpu);
    xg_recorder_add(record, begin_s);
}

/* Forwards later routines at once if the GPU cannot serve any in this process, unless statistics, a
 * trace or messages record calls. */
static void forward_for_good(const struct xg_conf *conf)
{
    bool never = xg_engine_state_get() == XG_ENGINE_FORKED ||
                 xg_library_start_state(XG_TOOLKIT_CUSOLVER) == XG_LIBRARY_ABSENT;
    if (never && !xg_conf_tells(conf))
        atomic_store_explicit(&floor_extent, INT64_MAX, memory_order_relaxed);
}

/* Blocks signals before work that no handler may leave. True in a child made without handlers. */
static bool close_shelter(struct xg_shelter *shelter)
{
    xg_shelter_close(shelter);
    return xg_fork_unannounced();
}

static bool bring(const struct xg_conf *conf, const struct xg_call *call,
                  const struct xg_decision *decision, const struct xg_shelter *shelter,
                  enum xg_reason *why)
{
    if (decision->place != XG_PLACE_CPU)
        xg_shelter_wait(shelter);
    return xg_needs_bring(conf, call, decision, why);
}

/* Device memory that the process holds on its first device. */
static size_t device_bytes(void)
{
    struct xg_dev *dev;
    if (!xg_engine_hold(0, &dev) || !dev)
        return 0;
    const size_t bytes = atomic_load(&dev->used_bytes);
    xg_engine_let_go(0);
    return bytes;
}

/* Before the start only large operands are looked for, and only if a device has files: that takes
 * system calls, so the shelter is closed. */
static bool may_have_device(void)
{
    static _Atomic int files = -1;
    if (atomic_load(&files) < 0)
        atomic_store(&files, xg_absence_find(XG_ABSENCE_FILES) == XG_REASON_EARNING);
    return atomic_load(&files);
}

/* Operands may stay, and the product reads enough of them: the look takes some microseconds and a
 * lock. */
static bool may_stay(const struct xg_conf *conf, const struct xg_problem *problem, bool ready)
{
    const double least = ready ? XG_RESIDENT_FLOOR_BYTES : XG_RESIDENT_BEFORE_BYTES;
    return conf->resident == XG_RESIDENT_AUTO && !conf->reproducible &&
           (conf->mode == XG_MODE_AUTO || conf->mode == XG_MODE_GPU) && !problem->batch &&
           problem->m >= 1 && problem->n >= 1 && problem->k >= 1 &&
           !xg_problem_alpha_zero(problem) &&
           xg_problem_up_elems(problem) * (double)xg_problem_elem_bytes(problem) >= least;
}

/*
 * Finds what the device has of the operands, and sets that in *copy. Before the GPU is ready it has
 * nothing, but the look notes unchanged operands: what they would save may pay for a start. False:
 * they are not looked at. Nor are those of calls on threads with too little stack for the GPU, and
 * of a GEMV inside a routine of LAPACK: reductions make one for each column, each of another block.
 */
static bool find_held(const struct xg_conf *conf, struct xg_shelter *shelter,
                      const struct xg_problem *problem, struct xg_problem *copy,
                      struct xg_resident_call *held)
{
    const enum xg_engine_state state = xg_engine_state_get();
    if (state == XG_ENGINE_NONE || state == XG_ENGINE_FORKED ||
        !may_stay(conf, problem, state == XG_ENGINE_READY) ||
        (problem->op == XG_OP_GEMV && xg_tally_own(XG_TALLY_ROUTINES)) || !xg_stack_suffices() ||
        close_shelter(shelter) || (state == XG_ENGINE_COLD && !may_have_device()))
        return false;
    *copy = *problem;
    xg_resident_look(held, copy, xg_remembered_promise());
    return copy->resident != NULL;
}

static void end_held(struct xg_resident_call *held, const struct xg_decision *decision, bool on_gpu)
{
    const double took_s = xg_clock_s() - decision->begin_s;
    const double saved_s = fmax(0.0, decision->cpu_s - took_s) / decision->crowd;
    const double most_s = XG_TUNING_STOPPED * decision->gpu_s; /* longer: the process was stopped */
    const double lost_s = fmax(0.0, fmin(took_s, most_s) - decision->cpu_s);
    xg_resident_end(held, took_s, on_gpu ? saved_s : 0.0, on_gpu && decision->leaves ? lost_s : 0);
}

static bool compute(const struct xg_call *given, const struct xg_cpu *cpu,
                    struct xg_shelter *shelter)
{
    const struct xg_conf *conf = xg_conf_get();
    struct xg_decision decision;
    struct xg_resident_call held;
    struct xg_problem problem;
    struct xg_call local = *given, *call = &local;
    xg_learnt_open(conf, cpu, shelter);
    const double begin_s = xg_clock_s();
    const bool holds = call->problem && find_held(conf, shelter, call->problem, &problem, &held);
    if (holds)
        call->problem = &problem;
    struct xg_situation now = look(conf, call, cpu, begin_s);
    xg_learnt_decide(conf, call, &now, shelter, &decision);

    struct xg_call_record record = record_of(call, &decision);
    const struct xg_run run = {.call = call,
                               .conf = conf,
                               .cpu = cpu,
                               .decision = &decision,
                               .shelter = shelter,
                               .record = &record};
    enum xg_place place = decision.place;
    enum xg_reason reason = decision.reason, why = XG_REASON_FORKED;
    /* A product on the CPU makes no system call of ours, so the fork is looked for only here. */
    if ((decision.start || place != XG_PLACE_CPU) &&
        (close_shelter(shelter) || !bring(conf, call, &decision, shelter, &why)) &&
        place != XG_PLACE_CPU) {
        place = XG_PLACE_CPU;
        reason = why;
    }
    if (holds)
        xg_resident_settle(&held, decision.held_gain_s, place == XG_PLACE_GPU);
    bool on_gpu = xg_run(&run, place, reason);
    if (holds)
        end_held(&held, &decision, on_gpu);
    if (xg_remembered_is_due() && xg_stack_suffices() && !close_shelter(shelter)) {
        xg_shelter_wait(shelter); /* writes a file, in a folder that may not answer */
        xg_remembered_write(device_bytes());
    }
    if (call->routine)
        forward_for_good(conf);
    tell(conf, call, &now, cpu, &record);
    return on_gpu;
}

static bool compute_problem(const struct xg_call *call, const struct xg_cpu *cpu,
                            struct xg_shelter *shelter)
{
    struct xg_call one = *call;
    struct xg_problem stacked;
    if (xg_problem_is_stacked(call->problem, &stacked) &&
        xg_conf_operates(xg_conf_get(), xg_problem_kind(call->problem)))
        one.problem = &stacked; /* B is uploaded once, and one kernel computes the product */
    /* The thread is in no product, but maybe in a routine, which multiplies. */
    xg_tally_take(XG_TALLY_PRODUCTS, INT_MAX);
    xg_tally_take(XG_TALLY_CORES, INT_MAX);
    xg_tally_add(XG_TALLY_PRODUCTS, 1);
    bool on_gpu = compute(&one, cpu, shelter);
    xg_tally_take(XG_TALLY_PRODUCTS, 1);
    return on_gpu;
}

/*
 * Signals stay open if only the policy is asked: it takes no locks, and a product on the CPU then
 * makes no system call of ours. OpenBLAS returns its number of threads without a lock; other
 * libraries may take one for that. A batch's overlap is looked for in memory of malloc, which no
 * handler may leave.
 */
static bool stays_open(const struct xg_call *call, const struct xg_cpu *cpu)
{
    if (call->routine || call->problem->batch || !xg_learnt_is_open() || !xg_stack_is_known() ||
        !cpu->own_pool)
        return false;
    const struct xg_conf *conf = xg_conf_get();
    return conf->mode == XG_MODE_AUTO && !conf->reproducible && !xg_conf_tells(conf);
}

bool xg_dispatch(const struct xg_call *call, const struct xg_cpu *cpu)
{
    int saved_errno = errno;
    struct xg_shelter shelter;
    bool open = stays_open(call, cpu);
    if (!open && xg_fork_unannounced()) {
        cpu->whole(cpu->ctx);
        return false;
    }
    if (open)
        xg_shelter_enter_open(&shelter);
    else
        xg_shelter_enter(&shelter);
    bool on_gpu = (call->problem ? compute_problem : compute)(call, cpu, &shelter);
    errno = saved_errno;
    xg_shelter_leave(&shelter);
    return on_gpu;
}
