/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <math.h>

#include "base/clock.h"
#include "engine/both_sides.h"
#include "engine/engine.h"
#include "engine/learnt.h"
#include "engine/leftover.h"
#include "engine/settled.h"
#include "host/tally.h"
#include "pipeline/least_squares.h"
#include "report/recorder.h"

static void conclude(const struct xg_run *run, enum xg_place place, enum xg_reason reason)
{
    run->record->place = place;
    run->record->reason =
        run->call->routine && reason == XG_REASON_KERNEL ? XG_REASON_SOLVER : reason;
}

static void observe(const struct xg_run *run, enum xg_side side, double seconds, double now_s)
{
    xg_learnt_observe(run->conf, side, run->call, run->decision, seconds, now_s);
}

/* --- On the CPU ------------------------------------------------------------------------------- */

/* Computes a product, or the parts that are left of it; their order matters to in-place operations.
 */
static void compute_product(const struct xg_run *run, const struct xg_leftover *rest)
{
    if (!rest->whole && rest->count == 0)
        return;
    xg_tally_add(XG_TALLY_CORES, run->decision->cpu_threads);
    if (rest->whole) {
        xg_shelter_leave_to(run->shelter, rest->cpu);
    } else {
        xg_shelter_leave(run->shelter);
        for (int64_t i = 0; i < rest->count; i++)
            rest->cpu->part(rest->cpu->ctx, &rest->parts[i]);
        xg_shelter_enter_again(run->shelter);
    }
    xg_tally_take(XG_TALLY_CORES, run->decision->cpu_threads);
}

static void compute_routine(const struct xg_run *run)
{
    /* A search for a pivot among NaN has no defined result: inner products that give each element
     * its right value would still not give the caller's LAPACK the pivots that it finds alone. */
    const int kept = run->record->gpu.nonfinite, counted = run->decision->earns;
    double entered = xg_recorder_enter();
    xg_tally_add(XG_TALLY_KEPT, kept);
    xg_tally_add(XG_TALLY_COUNTED, counted);
    xg_shelter_leave_to(run->shelter, run->cpu);
    xg_tally_take(XG_TALLY_COUNTED, counted);
    xg_tally_take(XG_TALLY_KEPT, kept);
    run->record->inside_s += xg_recorder_leave(entered);
}

static void run_cpu(const struct xg_run *run)
{
    const struct xg_problem *problem = run->call->problem;
    const struct xg_decision *decision = run->decision;
    double begin = xg_clock_s();
    if (problem)
        compute_product(run, &(struct xg_leftover){.cpu = run->cpu, .whole = true});
    else
        compute_routine(run);
    double end = xg_clock_s();
    run->record->place = XG_PLACE_CPU;
    observe(run, XG_SIDE_CPU, end - begin, end);
    if (decision->wakes && run->cpu->own_pool && xg_engine_state_get() == XG_ENGINE_READY)
        run->record->spin_s = xg_cpu_spin_s(run->cpu);
    if (decision->settled && !xg_learnt_wants_all())
        xg_settled_add(problem);
}

/* --- On the GPU ------------------------------------------------------------------------------- */

/* Why the GPU did not compute the call. */
static enum xg_reason reason_of(const struct xg_run *run, enum xg_status status)
{
    const struct xg_result *result = &run->record->gpu;
    if (status != XG_DECLINED)
        return status == XG_ERR_WRONG ? XG_REASON_WRONG : XG_REASON_FAILED;
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return XG_REASON_NO_GPU;
    if (result->busy)
        return XG_REASON_BUSY;
    if (result->failed)
        return XG_REASON_FAILED;
    if (result->unserved)
        return XG_REASON_KERNEL;
    return run->call->problem ? XG_REASON_MEMORY : XG_REASON_ROUTINE;
}

static struct xg_patience patience_of(const struct xg_decision *decision)
{
    const bool insists = decision->wait && decision->start_s == HUGE_VAL;
    return (struct xg_patience){.takes_s = decision->gpu_s - decision->loops_s,
                                .waits_s = insists ? HUGE_VAL : decision->waits_s,
                                .most_s = insists ? 0.0 : decision->cpu_s,
                                .threads = decision->stage_threads};
}

/* False: the GPU declined, and nothing was touched. */
static bool run_product(const struct xg_run *run)
{
    const struct xg_problem *problem = run->call->problem;
    const struct xg_patience patience = patience_of(run->decision);
    struct xg_leftover rest = {.cpu = run->cpu, .frame = __builtin_frame_address(0)};
    const struct xg_cpu fallback = xg_leftover_cpu(&rest);
    struct xg_result *result = &run->record->gpu;
    double begin = xg_clock_s();
    enum xg_status status = xg_engine_compute(run->call, run->conf, &fallback, &patience, result);
    double end = xg_clock_s();
    compute_product(run, &rest);
    bool some = !rest.whole;
    xg_leftover_fini(&rest);
    if (status == XG_DECLINED && result->unserved)
        xg_learnt_set_unserved(xg_problem_kind(problem));
    if (status == XG_OK)
        observe(run, XG_SIDE_GPU, end - begin - result->waited_s - result->verify_s, end);
    else
        conclude(run, some && status != XG_DECLINED ? XG_PLACE_BOTH : XG_PLACE_CPU,
                 reason_of(run, status));
    return status != XG_DECLINED;
}

/* The program's library goes on from R and Qᴴ B. */
static bool run_factored(const struct xg_run *run, const struct xg_routine *routine)
{
    double entered = xg_recorder_enter();
    xg_shelter_leave(run->shelter);
    bool done = run->cpu->factored(run->cpu->ctx, routine);
    xg_shelter_enter_again(run->shelter);
    run->record->inside_s += xg_recorder_leave(entered);
    if (done)
        xg_least_squares_give(routine, &routine->operand[XG_SLOT_U]);
    return done;
}

/* False: the CPU has to compute the routine. */
static bool run_routine(const struct xg_run *run)
{
    const struct xg_patience patience = patience_of(run->decision);
    struct xg_routine routine = *run->call->routine;
    const struct xg_call call = {.symbol = run->call->symbol, .routine = &routine};
    struct xg_result *result = &run->record->gpu;
    enum xg_status status = XG_ERR_NOMEM;
    double begin = xg_clock_s();
    routine.decomposes = run->decision->decomposes;
    if (xg_least_squares_open(&routine, __builtin_frame_address(0)))
        status = xg_engine_compute(&call, run->conf, NULL, &patience, result);
    bool done = result->factored ? run_factored(run, &routine) : status == XG_OK;
    double end = xg_clock_s();
    xg_least_squares_close(&routine);
    if (done) {
        observe(run, XG_SIDE_GPU, end - begin - result->waited_s - result->verify_s, end);
        return true;
    }
    conclude(run, XG_PLACE_CPU, result->factored ? XG_REASON_ROUTINE : reason_of(run, status));
    result->kernel = NULL;
    return false;
}

/* --- On both sides ---------------------------------------------------------------------------- */

static enum xg_status compare(const struct xg_run *run)
{
    struct xg_result *result = &run->record->gpu;
    if (run->call->problem)
        return xg_both_sides_compute(run->call, run->conf, run->cpu, run->shelter, result);
    /* Inner products stay on the CPU: compared, they would take the GPU's time beside the CPU's. */
    double entered = xg_recorder_enter();
    xg_tally_add(XG_TALLY_KEPT, 1);
    enum xg_status status =
        xg_both_sides_compute(run->call, run->conf, run->cpu, run->shelter, result);
    xg_tally_take(XG_TALLY_KEPT, 1);
    run->record->inside_s += xg_recorder_leave(entered);
    return status;
}

/* The program gets the CPU's result. */
static void run_both(const struct xg_run *run)
{
    enum xg_status status = compare(run);
    if (status == XG_OK)
        return;
    conclude(run, XG_PLACE_CPU, reason_of(run, status));
    if (run->call->routine)
        run->record->gpu.kernel = NULL;
}

/* The GPU was ready and declined, so the call misses nothing that a start would bring. */
static void run_declined(const struct xg_run *run)
{
    struct xg_decision decision = *run->decision;
    struct xg_run on_cpu = *run;
    decision.earns = false;
    on_cpu.decision = &decision;
    run_cpu(&on_cpu);
}

bool xg_run(const struct xg_run *run, enum xg_place place, enum xg_reason reason)
{
    conclude(run, place, reason);
    if (place == XG_PLACE_BOTH)
        run_both(run);
    else if (place == XG_PLACE_CPU)
        run_cpu(run);
    else if (!(run->call->problem ? run_product : run_routine)(run))
        run_declined(run);
    return run->record->place == XG_PLACE_GPU;
}
