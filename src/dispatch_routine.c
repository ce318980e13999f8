/* SPDX-License-Identifier: MIT */
/* Sends each call of a LAPACK routine to the side that is expected to finish first. */
#include "dispatch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/sandbox.h"
#include "comparison.h"
#include "decide/routine.h"
#include "device/absence.h"
#include "engine.h"
#include "host/fork.h"
#include "host/latch.h"
#include "host/shelter.h"
#include "host/stack.h"
#include "host/tally.h"
#include "library_start.h"
#include "presence.h"
#include "report/recorder.h"
#include "verify/residual.h"

/* What the process has learnt of its routines. */
static struct {
    struct xg_latch latch;
    struct xg_routine_book book;
} learnt;

static pthread_once_t learnt_once = PTHREAD_ONCE_INIT;

static void init_learnt(void)
{
    xg_fork_register(&(struct xg_fork_watch){.latch = &learnt.latch});
}

/* --- Is it ours? ----------------------------------------------------------------------------- */

/* The largest dimension of A from which routines are handed over; negative: not known yet. */
static _Atomic int64_t floor_extent = -1;

static void set_floor(void)
{
    struct xg_shelter shelter;
    xg_shelter_enter(&shelter);
    const struct xg_conf *conf = xg_conf_get();
    bool on = conf->lapack == XG_LAPACK_ON;
    int64_t extent = !on ? INT64_MAX : xg_conf_tells(conf) ? 1 : XG_ROUTINE_FLOOR;
    if (on && (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE))
        extent = 1;
    if (conf->mode == XG_MODE_CPU && !xg_conf_tells(conf))
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

/* --- One call -------------------------------------------------------------------------------- */

static void decide(const struct xg_routine *routine, const struct xg_conf *conf,
                   const struct xg_model *model, double products_s, double begin,
                   struct xg_routine_decision *decision)
{
    struct xg_routine_situation now = {.now_s = begin,
                                       .state = xg_engine_state_get(),
                                       .absence = xg_presence_look(conf),
                                       .products_s = products_s,
                                       .is_counted = xg_tally_own(XG_TALLY_COUNTED)};
    now.loading = xg_library_start_is_begun(XG_TOOLKIT_CUSOLVER);
    now.loaded = xg_library_start_is_done(XG_TOOLKIT_CUSOLVER);
    now.missing = xg_library_start_is_absent(XG_TOOLKIT_CUSOLVER);
    int64_t taken = xg_latch_wait(&learnt.latch);
    xg_routine_decide(&learnt.book, model, conf, routine, &now, decision);
    xg_latch_leave(&learnt.latch, taken);
}

static void observe(const struct xg_routine *routine, const struct xg_model *model,
                    const struct xg_routine_decision *decision, enum xg_side side, double seconds)
{
    int64_t taken = xg_latch_take(&learnt.latch);
    if (taken)
        xg_routine_observe(&learnt.book, model, routine, side, seconds);
    if (taken && side == XG_SIDE_CPU)
        xg_routine_missed(&learnt.book, decision, seconds);
    xg_latch_leave(&learnt.latch, taken);
}

/* If device files show a GPU, cuSOLVER is loaded before the GPU starts: without cuSOLVER the start
 * would gain nothing. Otherwise the engine starts first: it finds within milliseconds that there is
 * no GPU. With XGEMM_MODE=gpu and compare it also starts first, because it prints the warning. */
static bool is_library_first(const struct xg_conf *conf)
{
    return conf->mode == XG_MODE_AUTO && xg_absence_find(XG_ABSENCE_FILES) == XG_REASON_EARNING;
}

/* Starts what is missing. The routine stays on the CPU if that is not ready in time. */
static void make_ready(const struct xg_conf *conf, const struct xg_routine_decision *decision,
                       struct xg_call_record *record)
{
    const bool served = record->place != XG_PLACE_CPU, waits = served && decision->wait;
    if (!served && !decision->start)
        return;
    if (xg_engine_state_get() == XG_ENGINE_COLD && !is_library_first(conf))
        xg_engine_start(conf);
    if (waits && xg_engine_state_get() != XG_ENGINE_COLD)
        xg_engine_wait_most(conf, decision->waits_s);
    bool loaded = waits ? xg_library_start_wait(XG_TOOLKIT_CUSOLVER, conf, decision->waits_s)
                        : xg_library_start_done(XG_TOOLKIT_CUSOLVER, conf);
    bool missing = xg_library_start_is_absent(XG_TOOLKIT_CUSOLVER);
    if (loaded && !missing && xg_engine_state_get() == XG_ENGINE_COLD)
        xg_engine_start(conf);
    enum xg_engine_state state = waits && loaded && !missing
                                     ? xg_engine_wait_most(conf, decision->waits_s)
                                     : xg_engine_state_get();
    if (!served)
        return;
    if (state == XG_ENGINE_FORKED)
        xg_record_stay(record, XG_REASON_FORKED);
    else if (state == XG_ENGINE_NONE)
        xg_record_stay(record, xg_reason_of_absence(xg_presence_look(conf)));
    else if (missing)
        xg_record_stay(record, XG_REASON_KERNEL);
    else if (state != XG_ENGINE_READY || !loaded)
        xg_record_stay(record, XG_REASON_STARTING);
}

static enum xg_reason reason_declined(enum xg_status status, const struct xg_result *result)
{
    if (status != XG_DECLINED)
        return status == XG_ERR_WRONG ? XG_REASON_WRONG : XG_REASON_FAILED;
    return xg_dispatch_reason_declined(result, XG_REASON_ROUTINE);
}

static bool run_rest(const struct xg_conf *conf, const struct xg_patience *patience,
                     const struct xg_routine_decision *decision, const struct xg_cpu *cpu,
                     struct xg_shelter *shelter, struct xg_call_record *record)
{
    struct xg_result *result = &record->gpu, second = {0};
    if (!cpu->rest)
        return true;
    bool done = decision->decomposes &&
                xg_engine_routine(cpu->decomposition, conf, patience, &second) == XG_OK &&
                cpu->solve(cpu->ctx);
    result->up_bytes += second.up_bytes;
    result->down_bytes += second.down_bytes;
    result->waited_s += second.waited_s;
    result->verify_s += second.verify_s;
    if (second.verdict != XG_VERDICT_NONE) {
        result->verdict = second.verdict;
        result->deviation = second.deviation;
    }
    if (done)
        return true;
    double entered = xg_recorder_enter();
    xg_shelter_leave(shelter);
    done = cpu->rest(cpu->ctx);
    xg_shelter_enter_again(shelter);
    record->inside_s += xg_recorder_leave(entered);
    return done;
}

/* True if the GPU computed the routine. */
static bool run_gpu(const struct xg_routine *routine, const struct xg_conf *conf,
                    const struct xg_model *model, const struct xg_routine_decision *decision,
                    const struct xg_cpu *cpu, struct xg_shelter *shelter,
                    struct xg_call_record *record)
{
    struct xg_result *result = &record->gpu;
    const struct xg_patience patience = {.takes_s = decision->gpu_s,
                                         .waits_s = decision->wait ? HUGE_VAL : decision->cpu_s,
                                         .most_s = decision->wait ? 0.0 : decision->cpu_s,
                                         .threads = INT32_MAX};
    double begin = xg_clock_s();
    enum xg_status status = xg_engine_routine(routine, conf, &patience, result);
    bool done = status == XG_OK && run_rest(conf, &patience, decision, cpu, shelter, record);
    if (!done) {
        xg_record_stay(record,
                       status == XG_OK ? XG_REASON_ROUTINE : reason_declined(status, result));
        result->kernel = NULL;
        return false;
    }
    observe(routine, model, decision, XG_SIDE_GPU,
            xg_clock_s() - begin - result->waited_s - result->verify_s);
    return true;
}

static void run_cpu(const struct xg_routine *routine, const struct xg_model *model,
                    const struct xg_routine_decision *decision, const struct xg_cpu *cpu,
                    struct xg_shelter *shelter, struct xg_call_record *record)
{
    /* A search for a pivot among NaN has no defined result: inner products that give each element
     * its right value would still not give the caller's LAPACK the pivots that it finds alone. */
    const int kept = record->gpu.nonfinite;
    double begin = xg_clock_s(), entered = xg_recorder_enter();
    xg_tally_add(XG_TALLY_KEPT, kept);
    xg_tally_add(XG_TALLY_COUNTED, decision->earns);
    xg_shelter_leave_to(shelter, cpu);
    xg_tally_take(XG_TALLY_COUNTED, decision->earns);
    xg_tally_take(XG_TALLY_KEPT, kept);
    record->inside_s += xg_recorder_leave(entered);
    observe(routine, model, decision, XG_SIDE_CPU, xg_clock_s() - begin);
}

/* The program gets the CPU's result. */
static void run_both(const struct xg_routine *routine, const struct xg_conf *conf,
                     const struct xg_cpu *cpu, struct xg_shelter *shelter,
                     struct xg_call_record *record)
{
    double entered = xg_recorder_enter();
    enum xg_status status =
        xg_comparison_routine(record->symbol, routine, conf, cpu, shelter, &record->gpu);
    record->inside_s += xg_recorder_leave(entered);
    if (status != XG_OK) {
        xg_record_stay(record, reason_declined(status, &record->gpu));
        record->gpu.kernel = NULL;
    }
}

/* Forwards later calls at once if the GPU cannot serve any in this process, unless statistics, a
 * trace or messages record calls. */
static void forward_for_good(const struct xg_conf *conf)
{
    bool never = xg_engine_state_get() == XG_ENGINE_FORKED ||
                 xg_library_start_is_absent(XG_TOOLKIT_CUSOLVER);
    if (never && !xg_conf_tells(conf))
        atomic_store_explicit(&floor_extent, INT64_MAX, memory_order_relaxed);
}

static bool compute(const char *symbol, const struct xg_routine *routine, const struct xg_cpu *cpu,
                    struct xg_shelter *shelter)
{
    const struct xg_conf *conf = xg_conf_get();
    struct xg_routine_decision decision;
    struct xg_model model;
    double products_s;
    pthread_once(&learnt_once, init_learnt);
    double begin = xg_clock_s();
    xg_dispatch_machine(conf, cpu, shelter, &model, &products_s);
    decide(routine, conf, &model, products_s, begin, &decision);
    struct xg_call_record record = {
        .symbol = symbol,
        .routine = xg_routine_text(routine->name, routine->type),
        .routine_flops = xg_routine_flops(routine),
        .routine_up_bytes = xg_routine_bytes(routine, false),
        .routine_down_bytes = xg_routine_bytes(routine, true),
        .call = {.type = routine->type, .m = routine->m, .n = routine->n, .k = routine->k},
        .place = decision.place,
        .reason = decision.reason,
        .predicted_cpu_s = decision.cpu_s,
        .predicted_gpu_s = decision.gpu_s,
    };
    if (xg_tally_own(XG_TALLY_KEPT))
        xg_record_stay(&record, XG_REASON_ROUTINE);
    if (record.place == XG_PLACE_BOTH && !xg_residual_covers(routine))
        xg_record_stay(&record, XG_REASON_MODE); /* no residual tells which side is right */
    if (record.place != XG_PLACE_CPU && !xg_stack_suffices())
        xg_record_stay(&record, XG_REASON_STACK);
    if (record.place != XG_PLACE_CPU)
        xg_shelter_wait(shelter);
    make_ready(conf, &decision, &record);
    bool computed = record.place == XG_PLACE_GPU &&
                    run_gpu(routine, conf, &model, &decision, cpu, shelter, &record);
    if (record.place == XG_PLACE_BOTH)
        run_both(routine, conf, cpu, shelter, &record);
    else if (!computed)
        run_cpu(routine, &model, &decision, cpu, shelter, &record);
    forward_for_good(conf);
    xg_dispatch_record(conf, cpu, &record, begin);
    return computed;
}

bool xg_dispatch_routine(const char *symbol, const struct xg_routine *routine,
                         const struct xg_cpu *cpu)
{
    int saved_errno = errno;
    struct xg_shelter shelter;
    if (xg_fork_unannounced()) {
        cpu->whole(cpu->ctx);
        return false;
    }
    xg_shelter_enter(&shelter);
    bool computed = compute(symbol, routine, cpu, &shelter);
    errno = saved_errno;
    xg_shelter_leave(&shelter);
    return computed;
}
