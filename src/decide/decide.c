/* SPDX-License-Identifier: MIT */
/* What keeps a call from the GPU, in the order of the reasons that are reported; then the side. */
#include "decide/decide.h"

#include <limits.h>
#include <math.h>

#include "decide/policy.h"
#include "decide/tuning.h"

static void place(struct xg_decision *decision, enum xg_place place, enum xg_reason reason)
{
    decision->place = place;
    decision->reason = reason;
}

static void stay(struct xg_decision *decision, enum xg_reason reason)
{
    place(decision, XG_PLACE_CPU, reason);
}

/* The GPU computes it once all is ready, however long that takes. */
static void insist(struct xg_decision *decision, enum xg_reason reason)
{
    place(decision, XG_PLACE_GPU, reason);
    decision->start = decision->wait = true;
    decision->start_s = HUGE_VAL;
}

/* --- What the call needs ---------------------------------------------------------------------- */

/* In reproducible mode the model has the reference device; such a call then waits for what the open
 * device needs (needs.h). */
static unsigned needs_of(const struct xg_policy *policy, const struct xg_call *call)
{
    const struct xg_device_facts *device = &policy->model.device;
    const unsigned gpu = 1u << XG_RESOURCE_GPU;
    if (call->routine)
        return gpu | 1u << XG_RESOURCE_CUSOLVER;
    bool cublas = !device->cublas && xg_select_needs_cublas(device, call->problem);
    return gpu | (unsigned)cublas << XG_RESOURCE_CUBLAS;
}

static void load_of(enum xg_library_state library, struct xg_start *start)
{
    start->state = library == XG_LIBRARY_COLD        ? XG_START_COLD
                   : library == XG_LIBRARY_UNDER_WAY ? XG_START_UNDER_WAY
                                                     : XG_START_READY;
}

/* Products that gain go on in most programs, so a part of a start's time pays for it. Routines are
 * often the only ones, and pay for all of it, as do a GEMV, which gains only once its matrix is
 * there, and a program whose last start was in vain. */
static void price_starts(const struct xg_policy *policy, const struct xg_conf *conf,
                         const struct xg_call *call, const struct xg_situation *now,
                         struct xg_decision *decision, struct xg_start starts[XG_RESOURCE_COUNT])
{
    struct xg_start *gpu = &starts[XG_RESOURCE_GPU];
    *gpu = (struct xg_start){.takes_s = policy->model.starts_s[XG_RESOURCE_GPU]};
    gpu->state = now->state == XG_ENGINE_READY      ? XG_START_READY
                 : now->state == XG_ENGINE_STARTING ? XG_START_UNDER_WAY
                                                    : XG_START_COLD;
    decision->in_full =
        call->routine || policy->ledger.pays_in_full || !xg_policy_may_send(conf, call->problem);
    gpu->price_s = call->routine ? gpu->takes_s : xg_policy_start_price_s(policy, decision);
    if (decision->in_full)
        gpu->price_s = fmax(gpu->price_s, gpu->takes_s);
    const double cublas_s = policy->model.starts_s[XG_RESOURCE_CUBLAS];
    starts[XG_RESOURCE_CUBLAS] =
        (struct xg_start){.takes_s = cublas_s, .price_s = XG_TUNING_CUBLAS_SHARE * cublas_s};
    load_of(now->cublas, &starts[XG_RESOURCE_CUBLAS]);
    const double cusolver_s = policy->model.starts_s[XG_RESOURCE_CUSOLVER];
    starts[XG_RESOURCE_CUSOLVER] = (struct xg_start){.takes_s = cusolver_s, .price_s = cusolver_s};
    load_of(now->cusolver, &starts[XG_RESOURCE_CUSOLVER]);
}

/* The least advanced of the starts that the call needs. */
static enum xg_start_state state_of(unsigned needs, const struct xg_start starts[XG_RESOURCE_COUNT])
{
    enum xg_start_state least = XG_START_READY;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (needs & 1u << i && starts[i].state < least)
            least = starts[i].state;
    return least;
}

/* --- The decision ----------------------------------------------------------------------------- */

/* Whether the problem never leaves the CPU, so that no prediction is made; sets the reason. */
static bool is_excluded(const struct xg_conf *conf, const struct xg_problem *call,
                        const struct xg_situation *now, struct xg_decision *decision)
{
    if (call->m < 1 || call->n < 1 || call->k < 1 || xg_problem_alpha_zero(call))
        decision->reason = XG_REASON_DEGENERATE;
    else if (!xg_conf_operates(conf, xg_problem_kind(call)))
        decision->reason = XG_REASON_OPERATION;
    else if (now->unserved && now->state == XG_ENGINE_READY)
        decision->reason = XG_REASON_KERNEL;
    else
        return false;
    return true;
}

/* Whether there can be no GPU for it, or XGEMM_MODE decides; sets the place and the reason. */
static bool is_fixed(const struct xg_conf *conf, const struct xg_call *call,
                     const struct xg_situation *now, struct xg_decision *decision)
{
    if (conf->mode == XG_MODE_CPU)
        stay(decision, XG_REASON_MODE);
    else if (now->state == XG_ENGINE_NONE)
        stay(decision, xg_reason_of_absence(now->absence));
    else if (now->state == XG_ENGINE_COLD && xg_reason_is_absence(now->absence))
        stay(decision, now->absence);
    else if (now->state == XG_ENGINE_FORKED)
        stay(decision, XG_REASON_FORKED);
    else if (call->routine && now->cusolver == XG_LIBRARY_ABSENT)
        stay(decision, XG_REASON_KERNEL);
    else if (xg_conf_insists(conf))
        insist(decision, XG_REASON_MODE);
    else
        return false;
    return true;
}

/* Something that the call needs is not ready: would the GPU finish first, and does a start pay? */
static void decide_before(struct xg_policy *policy, const struct xg_conf *conf,
                          const struct xg_call *call, const struct xg_situation *now,
                          const struct xg_start starts[XG_RESOURCE_COUNT],
                          struct xg_decision *decision)
{
    const double kept_s = decision->gpu_s - decision->unsent_s;
    const bool sends = !call->problem || xg_policy_may_send(conf, call->problem);
    if (!(kept_s < XG_TUNING_GPU_FRACTION * decision->cpu_s) ||
        !(sends || decision->unsent_s > 0.0)) {
        stay(decision, XG_REASON_MODEL);
        decision->settled = xg_policy_is_settled(policy, conf, false, call, decision);
        return;
    }
    if (conf->reproducible) {
        insist(decision, XG_REASON_MODEL);
        return;
    }
    if (now->is_counted) {
        stay(decision, now->state == XG_ENGINE_STARTING ? XG_REASON_STARTING : XG_REASON_EARNING);
        return;
    }
    const struct xg_ledger_call asks = {.needs = decision->needs,
                                        .cpu_s = decision->cpu_s,
                                        .gpu_s = decision->gpu_s,
                                        .now_s = now->now_s,
                                        .promised = now->promised,
                                        .in_full = decision->in_full,
                                        .waits_never = decision->crowded || !sends};
    const struct xg_ledger_answer answer = xg_ledger_ask(&policy->ledger, starts, &asks);
    decision->earns = true;
    decision->start = answer.start;
    decision->wait = answer.wait;
    decision->start_s = answer.most_s;
    decision->waits_s = decision->cpu_s;
    if (answer.wait)
        place(decision, XG_PLACE_GPU, XG_REASON_MODEL);
    else
        stay(decision, answer.earning && now->state != XG_ENGINE_STARTING ? XG_REASON_EARNING
                                                                          : XG_REASON_STARTING);
}

/* A product is faster on the CPU only because of an operand's way to the device, where it could
 * stay: this call takes it there. */
static void admit(const struct xg_conf *conf, const struct xg_problem *problem,
                  struct xg_decision *decision)
{
    if (decision->place != XG_PLACE_CPU || decision->reason != XG_REASON_MODEL)
        return;
    decision->leaves = xg_policy_may_leave(conf, problem, decision, false, 0.0) ||
                       xg_policy_may_leave(conf, problem, decision, true, 0.0);
    if (!decision->leaves)
        return;
    place(decision, XG_PLACE_GPU, XG_REASON_MODEL);
    decision->settled = false;
    decision->waits_s = 0.0;
}

static void decide_ready(struct xg_policy *policy, const struct xg_conf *conf,
                         const struct xg_call *call, struct xg_decision *decision)
{
    if (!call->problem || xg_policy_may_send(conf, call->problem)) {
        xg_policy_choose(policy, conf, call, decision);
    } else {
        stay(decision, XG_REASON_MODEL);
        decision->settled = xg_policy_is_settled(policy, conf, true, call, decision);
    }
    if (call->problem && call->problem->resident)
        admit(conf, call->problem, decision);
    decision->wait = conf->reproducible && decision->place == XG_PLACE_GPU;
    decision->start_s = HUGE_VAL;
}

/* Keeps a call from the GPU whose thread, operands or caller do not allow it. A start that is due
 * begins all the same. */
static void veto(const struct xg_call *call, const struct xg_situation *now,
                 struct xg_decision *decision)
{
    if (decision->place == XG_PLACE_CPU)
        return;
    if (now->kept)
        stay(decision, XG_REASON_ROUTINE);
    else if (call->problem && now->overlaps && now->overlaps(call->problem))
        stay(decision, XG_REASON_OVERLAP);
    else if (decision->place == XG_PLACE_BOTH && now->incomparable)
        stay(decision, call->problem ? XG_REASON_IN_PLACE : XG_REASON_MODE);
    else if (now->stack_short)
        stay(decision, XG_REASON_STACK);
    decision->wait &= decision->place != XG_PLACE_CPU;
}

void xg_decide(struct xg_policy *policy, const struct xg_conf *conf, const struct xg_call *call,
               const struct xg_situation *now, struct xg_decision *decision)
{
    *decision = (struct xg_decision){.place = XG_PLACE_CPU,
                                     .reason = XG_REASON_BUSY,
                                     .cpu_threads = now->cpu_threads,
                                     .stage_threads = call->problem ? now->cores_left : INT_MAX,
                                     .begin_s = now->now_s};
    if (now->latch_lost)
        return;
    struct xg_start starts[XG_RESOURCE_COUNT];
    if (call->problem && is_excluded(conf, call->problem, now, decision))
        return;
    xg_policy_see(policy, conf, call, now, decision);
    decision->needs = needs_of(policy, call);
    price_starts(policy, conf, call, now, decision, starts);
    const enum xg_start_state state = state_of(decision->needs, starts);
    if (is_fixed(conf, call, now, decision)) {
        if (conf->mode == XG_MODE_COMPARE && decision->place == XG_PLACE_GPU)
            decision->place = XG_PLACE_BOTH;
    } else if (call->problem && xg_policy_mnk(call->problem) < xg_policy_floor_mnk(policy, conf)) {
        stay(decision, XG_REASON_SMALL);
    } else if (state == XG_START_READY) {
        decide_ready(policy, conf, call, decision);
    } else {
        decide_before(policy, conf, call, now, starts, decision);
    }
    decision->start &= state == XG_START_COLD;
    veto(call, now, decision);
}

/* --- Afterwards ------------------------------------------------------------------------------- */

/*
 * The program's time that the GPU would have saved. As many concurrent products run there as there
 * are lanes; the others stay on the CPU. x: the speed-up of all of them, less 1.
 */
static double saved_s(double cpu_s, const struct xg_decision *decision)
{
    double crowd = decision->crowd, gpu_s = decision->gpu_s - decision->unsent_s;
    double x = fmin(1.0, XG_POLICY_LANES / crowd) * fmax(0.0, cpu_s / gpu_s - 1.0);
    return cpu_s / crowd * x / (1.0 + x);
}

/* The call's time on the CPU. Until this run has seen such calls there, the model's error is that
 * of an earlier run, or a run that started early would seem to have saved less, or more. */
static double cpu_seconds(const struct xg_policy *policy, const struct xg_decision *decision)
{
    const bool seen = decision->cpu_s != decision->model_s[XG_SIDE_CPU];
    return decision->cpu_s *
           (!seen && policy->ledger.cpu_ratio > 0.0 ? policy->ledger.cpu_ratio : 1.0);
}

void xg_decide_observe(struct xg_policy *policy, enum xg_side side, const struct xg_call *call,
                       const struct xg_decision *decision, double seconds, double now_s)
{
    xg_policy_observe(policy, side, call, decision, seconds, now_s);
    if (side == XG_SIDE_CPU && decision->earns && seconds > 0.0 && isfinite(seconds)) {
        xg_ledger_miss(&policy->ledger, decision->needs, decision->in_full,
                       saved_s(fmin(seconds, decision->cpu_s), decision));
        policy->ledger.cpu_s += fmin(seconds, XG_TUNING_STOPPED * decision->cpu_s);
        policy->ledger.cpu_model_s += decision->model_s[XG_SIDE_CPU];
    }
    if (side == XG_SIDE_GPU && decision->reason == XG_REASON_MODEL && seconds > 0.0)
        xg_ledger_save(&policy->ledger, decision->needs,
                       (cpu_seconds(policy, decision) - seconds) / decision->crowd);
}

void xg_decide_observe_settled(struct xg_policy *policy, double then_s)
{
    xg_phase_wake(&policy->phase, then_s + XG_TUNING_SETTLED_S);
}

double xg_decide_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf,
                           enum xg_engine_state state)
{
    if (xg_conf_tells(conf))
        return 0.0;
    if (conf->mode == XG_MODE_CPU || state == XG_ENGINE_NONE || state == XG_ENGINE_FORKED)
        return HUGE_VAL;
    if (xg_conf_insists(conf))
        return 0.0;
    return xg_policy_floor_mnk(policy, conf);
}

double xg_decide_floor_bytes(const struct xg_conf *conf)
{
    const bool keeps = xg_conf_keeps(conf) && conf->mode != XG_MODE_CPU;
    if (xg_conf_insists(conf))
        return 0.0;
    return keeps || xg_conf_tells(conf) ? XG_TUNING_FLOOR_BYTES : HUGE_VAL;
}
