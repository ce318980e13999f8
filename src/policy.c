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
    bool asks = state == XG_ENGINE_READY && !conf->reproducible &&
                xg_learn_dares(learn, XG_SIDE_GPU, call, decision->gpu_s - decision->cpu_s);

    decide_place(decision, asks ? XG_PLACE_GPU : XG_PLACE_CPU, XG_REASON_MODEL);
    decision->settled =
        !asks && !conf->reproducible && decision->cpu_s < SETTLED_S &&
        xg_learn_weight(learn, XG_SIDE_CPU, call) >= SETTLED_WEIGHT &&
        (state != XG_ENGINE_READY || decision->gpu_s > SETTLED_RATIO * decision->cpu_s ||
         xg_learn_weight(learn, XG_SIDE_GPU, call) >= SETTLED_WEIGHT);
}

/* The GPU would finish first: does it, now? */
static void decide_gpu(const struct xg_policy *policy, const struct xg_conf *conf,
                       enum xg_engine_state state, const struct xg_sgemm *call,
                       struct xg_decision *decision)
{
    double saving_s = decision->cpu_s - decision->gpu_s;
    double start_s = policy->machine.gpu_start_s;

    if (state == XG_ENGINE_READY) {
        bool asks =
            !conf->reproducible && xg_learn_dares(&policy->learn, XG_SIDE_CPU, call, saving_s);
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

void xg_policy_decide(const struct xg_policy *policy, const struct xg_conf *conf,
                      enum xg_engine_state state, const struct xg_sgemm *call,
                      struct xg_decision *decision)
{
    *decision = (struct xg_decision){.place = XG_PLACE_CPU};
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
    } else if (decision->gpu_s >= GPU_FRACTION * decision->cpu_s) {
        decide_cpu(policy, conf, state, call, decision);
    } else {
        decide_gpu(policy, conf, state, call, decision);
    }
}

/* Tiny products teach nothing: their time is overhead, and nothing is decided about them. */
static bool teaches(const struct xg_sgemm *call, double seconds)
{
    return mnk(call) >= FLOOR_MNK_LEAST && seconds > 0.0 && isfinite(seconds);
}

void xg_policy_observe_cpu(struct xg_policy *policy, const struct xg_sgemm *call,
                           const struct xg_decision *decision, double seconds)
{
    if (!teaches(call, seconds))
        return;
    double predicted_s = xg_machine_cpu_seconds(&policy->machine, call);
    xg_learn_observe(&policy->learn, XG_SIDE_CPU, call, predicted_s, seconds);
    if (mnk(call) <= FLOOR_MNK)
        xg_correction_add(&policy->small, 0.0f, (float)log(seconds / predicted_s));
    if (decision->reason == XG_REASON_EARNING || decision->reason == XG_REASON_STARTING)
        policy->earned_s += fmax(0.0, fmin(seconds, decision->cpu_s) - decision->gpu_s);
}

void xg_policy_observe_gpu(struct xg_policy *policy, const struct xg_conf *conf,
                           const struct xg_sgemm *call, double seconds)
{
    if (!teaches(call, seconds))
        return;
    xg_learn_observe(&policy->learn, XG_SIDE_GPU, call,
                     xg_machine_gpu_seconds(&policy->machine, conf->math, call), seconds);
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
