/* SPDX-License-Identifier: MIT */
/* The decision: two corrected predictions, the engine's state, and what start-up has earned. */
#include "policy.h"

#include <math.h>

/*
 * A product moves to the GPU when it is predicted to take less than this fraction of its time on
 * the CPU: staging takes memory bandwidth from the rest of the process.
 */
#define GPU_FRACTION 0.92

/*
 * Nor does it need to be that good before the GPU's time for the shape is known: to try the GPU
 * costs one call, but to try the CPU wakes threads that spin for many.
 */
#define UNKNOWN_FRACTION 1.2
#define UNKNOWN_WEIGHT 1.0

/*
 * Products below 64^3 are over in OpenBLAS (4 us) before a GPU call (55 us) has begun; a plain loop
 * (2 GFLOP/s) needs as long for 38^3. What this process has is seen from a few of them.
 */
#define FLOOR_MNK 262144.0
#define FLOOR_MNK_LEAST 32768.0
#define SMALL_WEIGHT 3.0f

/*
 * A shape, and those near it, stay on the CPU for a while unasked when the call is so short that
 * asking shows, it was seen often enough there, and there is nothing to ask: no GPU yet, or one
 * that is far behind or was seen often enough too. Not in reproducible mode: a shape decides for
 * itself.
 */
#define SETTLED_WEIGHT 2.0
#define SETTLED_RATIO 3.0
#define SETTLED_S 1e-3

/*
 * GPU time among spinning threads that is more than one product's threads explain. Then products
 * flee to the CPU; they try the GPU again after a few seconds there, for as long.
 */
#define AWAKE_S XG_MACHINE_SPIN_S
#define FLED_MEMORY_S 4.0
#define QUIET_MEMORY_S 0.5
#define HORIZON_S 1.0

/* The CPU's first call after a while takes up to so much longer, for its threads sleep. */
#define WAKE_S 0.3e-3

/* A time below this fraction of what is expected undisturbed was no disturbed one. */
#define WRONG_FRACTION 0.8

static double mnk(const struct xg_sgemm *call)
{
    return (double)call->m * (double)call->n * (double)call->k;
}

static void predict(const struct xg_policy *policy, const struct xg_conf *conf,
                    const struct xg_sgemm *call, struct xg_decision *decision)
{
    decision->cpu_s = xg_machine_cpu_seconds(&policy->machine, call);
    decision->gpu_s = xg_machine_gpu_seconds(&policy->machine, conf->math, call);
    if (conf->reproducible)
        return;
    decision->cpu_s *= xg_learn_scale(&policy->learn, XG_SIDE_CPU, call);
    decision->gpu_s *= xg_learn_scale(&policy->learn, XG_SIDE_GPU, call);
}

/* gpu_s: what the product takes when nobody disturbs it, here and below. */
static double disturbed_ratio(const struct xg_policy *policy, const struct xg_sgemm *call,
                              double gpu_s)
{
    return fmax(1.0, xg_machine_spin_ratio(call, gpu_s) *
                         xg_learn_scale(&policy->learn, XG_LEARN_DISTURBED, call));
}

/*
 * What the GPU takes in this program. While the CPU library's threads spin it is slower, but each
 * product that goes there helps them to fall asleep, and one that flees to the CPU keeps them
 * awake: so what counts is whether something else keeps them awake, and if not, their share in the
 * near future of nothing but this product.
 */
static double gpu_in_program_s(const struct xg_policy *policy, const struct xg_sgemm *call,
                               const struct xg_decision *decision)
{
    double share = 0.0;
    if (decision->disturbed)
        share = fmax(policy->kept_awake, XG_MACHINE_SPIN_S / HORIZON_S);
    return decision->gpu_s * (1.0 + share * (disturbed_ratio(policy, call, decision->gpu_s) - 1.0));
}

static void decide_place(struct xg_decision *decision, enum xg_place place, enum xg_reason reason)
{
    decision->place = place;
    decision->reason = reason;
}

/* The CPU would finish first: this time too, or is it time to see whether the GPU really is slower?
 */
static void decide_cpu(const struct xg_policy *policy, const struct xg_conf *conf,
                       enum xg_engine_state state, const struct xg_sgemm *call,
                       struct xg_decision *decision)
{
    const struct xg_learn *learn = &policy->learn;
    double ratio = decision->disturbed ? disturbed_ratio(policy, call, decision->gpu_s) : 1.0;
    bool asks = state == XG_ENGINE_READY && !conf->reproducible &&
                xg_learn_dares(learn, XG_SIDE_GPU, call, ratio * decision->gpu_s - decision->cpu_s);

    decide_place(decision, asks ? XG_PLACE_GPU : XG_PLACE_CPU, XG_REASON_MODEL);
    decision->settled =
        !asks && !conf->reproducible && decision->cpu_s < SETTLED_S &&
        decision->gpu_s >= GPU_FRACTION * decision->cpu_s &&
        xg_learn_weight(learn, XG_SIDE_CPU, call) >= SETTLED_WEIGHT &&
        (state != XG_ENGINE_READY || decision->gpu_s > SETTLED_RATIO * decision->cpu_s ||
         xg_learn_weight(learn, XG_SIDE_GPU, call) >= SETTLED_WEIGHT);
}

/* What a trial of the CPU costs besides its own time: nothing where its threads spin already. */
static double spin_loss(const struct xg_policy *policy, const struct xg_sgemm *call, double gpu_s,
                        double now_s)
{
    double spinning = fmax(0.0, policy->spin_until_s - now_s) / XG_MACHINE_SPIN_S;
    return xg_machine_spin_loss(&policy->machine, call, gpu_s) * fmax(0.0, 1.0 - spinning);
}

/* The GPU would finish first: does it, now? */
static void decide_gpu(const struct xg_policy *policy, const struct xg_conf *conf,
                       enum xg_engine_state state, const struct xg_sgemm *call, double now_s,
                       struct xg_decision *decision)
{
    double saving_s = decision->cpu_s - decision->gpu_s;
    double start_s = policy->machine.gpu_start_s;

    if (state == XG_ENGINE_READY) {
        bool asks = !conf->reproducible &&
                    xg_learn_dares(&policy->learn, XG_SIDE_CPU, call,
                                   saving_s + spin_loss(policy, call, decision->gpu_s, now_s));
        decide_place(decision, asks ? XG_PLACE_CPU : XG_PLACE_GPU, XG_REASON_MODEL);
        decision->wait = conf->reproducible;
    } else if (conf->reproducible || saving_s > start_s) {
        decide_place(decision, XG_PLACE_GPU, XG_REASON_MODEL);
        decision->start = state == XG_ENGINE_COLD;
        decision->wait = true;
    } else if (state == XG_ENGINE_STARTING) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_STARTING);
    } else {
        decision->start = policy->earned_s + saving_s > start_s;
        decide_place(decision, XG_PLACE_CPU,
                     decision->start ? XG_REASON_STARTING : XG_REASON_EARNING);
    }
}

/* In mode auto; xg_policy_floor_mnk says what it is. */
static double floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf)
{
    if (conf->reproducible)
        return FLOOR_MNK;
    if (policy->small.weight < SMALL_WEIGHT)
        return FLOOR_MNK_LEAST;
    double even = xg_machine_even_mnk(&policy->machine, exp((double)policy->small.log_ratio));
    return fmax(fmin(even, FLOOR_MNK), FLOOR_MNK_LEAST);
}

static bool gpu_pays(const struct xg_policy *policy, const struct xg_conf *conf,
                     enum xg_engine_state state, const struct xg_sgemm *call,
                     const struct xg_decision *decision)
{
    if (conf->reproducible || state != XG_ENGINE_READY)
        return decision->gpu_s < GPU_FRACTION * decision->cpu_s;
    bool unknown = xg_machine_wakes_threads(&policy->machine, call) && !decision->disturbed &&
                   xg_learn_weight(&policy->learn, XG_SIDE_GPU, call) < UNKNOWN_WEIGHT;
    return gpu_in_program_s(policy, call, decision) <
           (unknown ? UNKNOWN_FRACTION : GPU_FRACTION) * decision->cpu_s;
}

void xg_policy_decide(const struct xg_policy *policy, const struct xg_conf *conf,
                      enum xg_engine_state state, const struct xg_sgemm *call, double now_s,
                      struct xg_decision *decision)
{
    *decision =
        (struct xg_decision){.place = XG_PLACE_CPU, .disturbed = now_s < policy->spin_until_s};
    if (call->m < 1 || call->n < 1 || call->k < 1 || call->alpha == 0.0f) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_DEGENERATE);
        return;
    }
    predict(policy, conf, call, decision);

    if (conf->mode == XG_MODE_CPU) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_MODE);
    } else if (state == XG_ENGINE_NONE) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_NO_GPU);
    } else if (state == XG_ENGINE_FORKED) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_FORKED);
    } else if (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE) {
        decide_place(decision, conf->mode == XG_MODE_GPU ? XG_PLACE_GPU : XG_PLACE_BOTH,
                     XG_REASON_MODE);
        decision->start = state == XG_ENGINE_COLD;
        decision->wait = true;
    } else if (mnk(call) < floor_mnk(policy, conf)) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_SMALL);
    } else if (!gpu_pays(policy, conf, state, call, decision)) {
        decide_cpu(policy, conf, state, call, decision);
    } else {
        decide_gpu(policy, conf, state, call, now_s, decision);
    }
}

/* Tiny products teach nothing: their time is overhead, and nothing is decided about them. */
static bool teaches(const struct xg_sgemm *call, double seconds)
{
    return mnk(call) >= FLOOR_MNK_LEAST && seconds > 0.0 && isfinite(seconds);
}

/* Nothing kept the threads awake meanwhile: lasts, in memories. */
static void stay_quiet(struct xg_policy *policy, double lasts)
{
    policy->disturbed_s = 0.0;
    policy->kept_awake *= exp(-lasts);
}

void xg_policy_observe_cpu(struct xg_policy *policy, const struct xg_sgemm *call,
                           const struct xg_decision *decision, double seconds, double now_s)
{
    if (xg_machine_wakes_threads(&policy->machine, call))
        policy->spin_until_s = fmax(policy->spin_until_s, now_s + XG_MACHINE_SPIN_S);
    if (!teaches(call, seconds))
        return;
    if (decision->gpu_s < GPU_FRACTION * decision->cpu_s)
        stay_quiet(policy, seconds / FLED_MEMORY_S);
    double predicted_s = xg_machine_cpu_seconds(&policy->machine, call);
    if (xg_machine_wakes_threads(&policy->machine, call) && !decision->disturbed) {
        double expected_s = predicted_s * xg_learn_scale(&policy->learn, XG_SIDE_CPU, call);
        seconds = fmax(fmin(seconds, expected_s), seconds - WAKE_S);
    }
    xg_learn_observe(&policy->learn, XG_SIDE_CPU, call, predicted_s, seconds);
    if (mnk(call) <= FLOOR_MNK)
        xg_correction_add(&policy->small, 0.0f, (float)log(seconds / predicted_s));
    if (decision->reason == XG_REASON_EARNING || decision->reason == XG_REASON_STARTING)
        policy->earned_s += fmax(0.0, fmin(seconds, decision->cpu_s) - decision->gpu_s);
}

void xg_policy_observe_gpu(struct xg_policy *policy, const struct xg_conf *conf,
                           const struct xg_sgemm *call, const struct xg_decision *decision,
                           double seconds)
{
    if (!teaches(call, seconds))
        return;
    double predicted_s = xg_machine_gpu_seconds(&policy->machine, conf->math, call);
    if (!decision->disturbed) {
        stay_quiet(policy, seconds / QUIET_MEMORY_S);
        xg_learn_observe(&policy->learn, XG_SIDE_GPU, call, predicted_s, seconds);
        return;
    }
    policy->disturbed_s += seconds;
    if (policy->disturbed_s > AWAKE_S)
        policy->kept_awake = 1.0;
    /*
     * Either the disturbance is not what was thought, or the GPU: the latter where even undisturbed
     * it would not have been that fast, or even disturbed not that slow and it is not known better.
     */
    double expected_s = predicted_s * xg_learn_scale(&policy->learn, XG_SIDE_GPU, call);
    double ratio = disturbed_ratio(policy, call, expected_s);
    if (seconds < WRONG_FRACTION * expected_s)
        xg_learn_observe(&policy->learn, XG_SIDE_GPU, call, predicted_s, seconds);
    else if (seconds > ratio * expected_s &&
             xg_learn_weight(&policy->learn, XG_SIDE_GPU, call) < SETTLED_WEIGHT)
        xg_learn_observe(&policy->learn, XG_SIDE_GPU, call, predicted_s, seconds / ratio);
    else
        xg_learn_observe(&policy->learn, XG_LEARN_DISTURBED, call,
                         expected_s * xg_machine_spin_ratio(call, expected_s), seconds);
}

double xg_policy_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf,
                           enum xg_engine_state state)
{
    if (conf->stats || conf->verbose >= 1)
        return 0.0;
    if (conf->mode == XG_MODE_CPU || state == XG_ENGINE_NONE || state == XG_ENGINE_FORKED)
        return HUGE_VAL;
    if (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE)
        return 0.0;
    return floor_mnk(policy, conf);
}
