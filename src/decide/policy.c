/* SPDX-License-Identifier: MIT */
/* From two corrected predictions and the phase. */
#include "decide/policy.h"

#include <limits.h>
#include <math.h>

#include "decide/tuning.h"

double xg_policy_mnk(const struct xg_problem *call)
{
    return (double)call->m * (double)call->n * (double)call->k;
}

static enum xg_side other(enum xg_side side)
{
    return side == XG_SIDE_CPU ? XG_SIDE_GPU : XG_SIDE_CPU;
}

static void ask_model(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_call *call, struct xg_decision *decision)
{
    const struct xg_model *model = &policy->model;
    double *model_s = decision->model_s;
    if (call->problem) {
        struct xg_route route;
        const int cores_left = conf->reproducible ? INT_MAX : decision->stage_threads;
        model_s[XG_SIDE_CPU] = xg_model_cpu_seconds(model, call->problem);
        model_s[XG_SIDE_GPU] =
            xg_model_route_seconds(model, conf, cores_left, call->problem, &policy->recent, &route);
    } else {
        model_s[XG_SIDE_CPU] = xg_routine_cpu_seconds(model, call->routine);
        model_s[XG_SIDE_GPU] = xg_routine_gpu_seconds(model, call->routine);
        decision->decomposes = xg_routine_decomposes(model, call->routine, xg_conf_insists(conf));
    }
}

static double route_seconds(struct xg_policy *policy, const struct xg_conf *conf,
                            const struct xg_problem *problem, const struct xg_decision *decision)
{
    struct xg_route route;
    const double scale = decision->gpu_s / decision->model_s[XG_SIDE_GPU];
    return scale * xg_model_route_seconds(&policy->model, conf, decision->stage_threads, problem,
                                          &policy->recent, &route);
}

bool xg_policy_may_leave(const struct xg_conf *conf, const struct xg_problem *problem,
                         const struct xg_decision *decision, bool b, double more_s)
{
    const double extra_s = fmax(0.0, decision->gpu_s - decision->cpu_s);
    return problem->unchanged[b] > 0 && xg_conf_keeps(conf) && !decision->crowded &&
           extra_s <= problem->spare_s[b] + more_s &&
           extra_s <= fmin(problem->unchanged[b], XG_TUNING_USES) * decision->held_gain_s[b];
}

bool xg_policy_may_send(const struct xg_conf *conf, const struct xg_problem *problem)
{
    const double held = problem->held[0] + problem->held[1];
    return problem->op != XG_OP_GEMV ||
           (xg_conf_keeps(conf) && held > 0.5 * xg_problem_up_elems(problem));
}

/* What a GPU that holds all of an unchanged operand saves, compared with the side that would be
 * chosen, and what one that holds both saves of its own time. Before the GPU is ready this counts
 * as if all credit were lent: the calls show what a later run gains, to which all is lent at once.
 * This run may end before its credit suffices. */
static void predict_gains(struct xg_policy *policy, const struct xg_conf *conf,
                          const struct xg_problem *problem, bool ready,
                          struct xg_decision *decision)
{
    struct xg_problem all = *problem;
    const bool insists = xg_conf_insists(conf), chooses = problem->op != XG_OP_GEMV;
    if (!problem->unchanged[0] && !problem->unchanged[1])
        return;
    for (int b = 0; b < 2; b++) {
        struct xg_problem as = *problem;
        double gpu_s[2];
        if (!problem->unchanged[b])
            continue;
        for (int held = 0; held < 2; held++) {
            as.held[b] = 0;
            as.held[b] = held * xg_problem_travel_elems(&as, b);
            gpu_s[held] = route_seconds(policy, conf, &as, decision);
        }
        double else_s = insists ? gpu_s[0] : decision->cpu_s;
        if (chooses)
            else_s = fmin(else_s, gpu_s[0]);
        decision->held_gain_s[b] = fmax(0.0, else_s - gpu_s[1]);
        if (xg_policy_may_leave(conf, problem, decision, b, ready ? 0.0 : problem->loan_s))
            all.held[b] = as.held[b];
    }
    decision->unsent_s = fmax(0.0, decision->gpu_s - route_seconds(policy, conf, &all, decision));
}

static void predict(struct xg_policy *policy, const struct xg_conf *conf,
                    const struct xg_call *call, const struct xg_situation *now,
                    struct xg_decision *decision)
{
    ask_model(policy, conf, call, decision);
    decision->cpu_s = decision->model_s[XG_SIDE_CPU];
    decision->gpu_s = decision->model_s[XG_SIDE_GPU];
    decision->known = xg_feedback_place(call);
    if (conf->reproducible)
        return;
    decision->cpu_s *= xg_feedback_scale(&policy->feedback, XG_SIDE_CPU, &decision->known);
    decision->gpu_s *= xg_feedback_scale(&policy->feedback, XG_SIDE_GPU, &decision->known);
    if (call->problem && call->problem->resident)
        predict_gains(policy, conf, call->problem, now->state == XG_ENGINE_READY, decision);
    double slice_s = decision->loops_s / XG_TUNING_LOOP_SLICES;
    decision->gpu_s += decision->loops_s + (now->state != XG_ENGINE_READY ? slice_s : 0.0);
}

/* Updates the recent maximum of concurrent products; threads pause between products, so one moment
 * is not enough. */
static void see_crowd(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_situation *now, struct xg_decision *decision)
{
    double since_s = fmax(0.0, now->now_s - policy->crowd_s); /* threads may come out of order */
    policy->crowd =
        fmax(fmax(1.0, now->under_way), policy->crowd * exp(-since_s / XG_TUNING_CROWD_S));
    policy->crowd_s = fmax(policy->crowd_s, now->now_s);
    decision->crowd = policy->crowd;
    /* If all products go to the GPU, threads wait there and leave their cores free. */
    decision->crowded = !xg_conf_insists(conf) && decision->cpu_threads == 1 && now->cores > 1 &&
                        policy->crowd >= XG_TUNING_CROWDED * now->cores;
}

bool xg_policy_is_settled(const struct xg_policy *policy, const struct xg_conf *conf, bool ready,
                          const struct xg_call *call, const struct xg_decision *decision)
{
    const struct xg_feedback *feedback = &policy->feedback;
    if (call->problem && call->problem->op == XG_OP_GEMV && call->problem->resident &&
        !decision->crowded)
        return false;
    return call->problem && !conf->reproducible && decision->cpu_s < XG_TUNING_SETTLED_S &&
           decision->gpu_s - decision->unsent_s >= XG_TUNING_GPU_FRACTION * decision->cpu_s &&
           !(decision->wakes && policy->phase.side == XG_SIDE_GPU) &&
           xg_feedback_weight(feedback, XG_SIDE_CPU, &decision->known) >= XG_TUNING_SURE_WEIGHT &&
           (!ready || decision->gpu_s > XG_TUNING_SETTLED_RATIO * decision->cpu_s ||
            xg_feedback_weight(feedback, XG_SIDE_GPU, &decision->known) >= XG_TUNING_SURE_WEIGHT);
}

/* The side of a product that wakes threads: its phase's, unless the CPU saves more than waking its
 * threads costs. */
static enum xg_side choose_in_phase(struct xg_policy *policy, const struct xg_decision *decision)
{
    struct xg_phase *phase = &policy->phase;
    enum xg_side side = xg_phase_choose(phase, decision->begin_s, decision->cpu_s, decision->gpu_s);
    double loss_s = decision->gpu_s - decision->cpu_s;
    return loss_s > xg_phase_disturbs_s(phase) ? XG_SIDE_CPU : side;
}

/* The side of a routine or of a product that wakes no threads: the GPU if it finishes there first,
 * though threads may still spin for that long. */
static enum xg_side choose_alone(const struct xg_decision *decision, double spins_s)
{
    double saved_s = XG_TUNING_GPU_FRACTION * decision->cpu_s - decision->gpu_s;
    return saved_s > spins_s ? XG_SIDE_GPU : XG_SIDE_CPU;
}

/* What a trial of the other side may cost: the difference of the times, and the delay by spinning
 * threads. */
static double trial_s(const struct xg_policy *policy, enum xg_side side,
                      const struct xg_decision *decision, double spins_s)
{
    double extra_s = fabs(decision->cpu_s - decision->gpu_s);
    if (side == XG_SIDE_CPU)
        return extra_s + spins_s;
    return extra_s + (decision->wakes ? policy->phase.spin_s : 0.0);
}

/* The side, or a trial of the other one. A trial of the GPU that ends before the CPU library's
 * threads sleep would teach nothing, so the trial begins a phase. */
static enum xg_side choose(struct xg_policy *policy, const struct xg_call *call,
                           struct xg_decision *decision)
{
    double spins_s = call->problem ? xg_phase_spins_s(&policy->phase, decision->begin_s) : 0.0;
    enum xg_side faster, side;
    if (decision->wakes) {
        faster = decision->gpu_s < decision->cpu_s ? XG_SIDE_GPU : XG_SIDE_CPU;
        side = choose_in_phase(policy, decision);
    } else {
        faster = choose_alone(decision, 0.0);
        side = choose_alone(decision, spins_s);
    }
    double extra_s = trial_s(policy, side, decision, spins_s);
    decision->reason = side == faster ? XG_REASON_MODEL : XG_REASON_PHASE;
    if (!xg_feedback_tries(&policy->feedback, side, &decision->known, extra_s))
        return side;
    decision->reason = XG_REASON_TRIAL;
    decision->trial_s = extra_s;
    if (side == XG_SIDE_CPU && decision->wakes && spins_s > decision->gpu_s)
        xg_phase_try(&policy->phase, decision->begin_s);
    return other(side);
}

void xg_policy_choose(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_call *call, struct xg_decision *decision)
{
    decision->reason = XG_REASON_MODEL;
    enum xg_side side =
        conf->reproducible ? choose_alone(decision, 0.0) : choose(policy, call, decision);
    decision->place = side == XG_SIDE_GPU ? XG_PLACE_GPU : XG_PLACE_CPU;
    decision->waits_s = decision->cpu_s - decision->gpu_s;
    if (decision->wakes)
        decision->waits_s += xg_phase_disturbs_s(&policy->phase);
    else if (decision->cpu_threads == 1)
        decision->waits_s = fmin(decision->waits_s, XG_TUNING_QUEUE * decision->gpu_s);
    if (side == XG_SIDE_CPU)
        decision->settled = xg_policy_is_settled(policy, conf, true, call, decision);
}

/*
 * What a start costs the program now. Spinning threads and the start's thread slow each other down,
 * and the first GPU products too: scikit-learn's LogisticRegression, which ends during the start,
 * lost 0.05 to 0.7 s (median 0.2), and nothing without spinning.
 */
double xg_policy_start_price_s(const struct xg_policy *policy, const struct xg_decision *decision)
{
    double spin_s = decision->wakes ? policy->phase.spin_s : 0.0;
    return policy->model.gpu_price_s +
           (decision->crowded ? XG_TUNING_START_CORE_S
                              : fmin(XG_TUNING_START_SPINS * spin_s, XG_TUNING_START_CORE_S));
}

double xg_policy_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf)
{
    if (conf->reproducible)
        return XG_TUNING_FLOOR_MNK;
    if (policy->small.weight < XG_TUNING_SURE_WEIGHT)
        return XG_TUNING_FLOOR_LEAST_MNK;
    double even = xg_model_even_mnk(&policy->model, exp((double)policy->small.log_ratio));
    return fmax(fmin(even, XG_TUNING_FLOOR_MNK), XG_TUNING_FLOOR_LEAST_MNK);
}

static int threads_on_cpu(const struct xg_policy *policy, const struct xg_problem *call,
                          const struct xg_situation *now)
{
    if (xg_policy_mnk(call) <= XG_MODEL_ALONE_MNK)
        return 1;
    return now->cpu_threads ? now->cpu_threads : policy->model.cpu_threads;
}

/* The product's threads, and those of the whole program. */
static void see_threads(struct xg_policy *policy, const struct xg_conf *conf,
                        const struct xg_problem *call, const struct xg_situation *now,
                        struct xg_decision *decision)
{
    decision->cpu_threads = threads_on_cpu(policy, call, now);
    decision->wakes = decision->cpu_threads > 1 && now->spin_s > 0.0;
    if (decision->wakes)
        policy->phase.spin_s = fmin(now->spin_s, XG_TUNING_SPIN_MOST_S);
    if (decision->wakes && now->pool_is_shared)
        decision->loops_s = XG_TUNING_LOOP_SLICES * fmin(now->spin_s, XG_TUNING_SLICE_S);
    see_crowd(policy, conf, now, decision);
    if (decision->crowded)
        decision->stage_threads = 1;
}

void xg_policy_see(struct xg_policy *policy, const struct xg_conf *conf, const struct xg_call *call,
                   const struct xg_situation *now, struct xg_decision *decision)
{
    decision->crowd = 1.0;
    if (call->problem)
        see_threads(policy, conf, call->problem, now, decision);
    predict(policy, conf, call, now, decision);
}

/* --- Observations -------------------------------------------------------------------------- */

/* Tiny products teach nothing: their time is overhead, and they need no decision. */
static bool teaches(const struct xg_problem *call)
{
    return !call || xg_policy_mnk(call) >= XG_TUNING_FLOOR_LEAST_MNK;
}

/* A longer time of a product among spinning threads says nothing about the GPU. */
static bool is_disturbed(const struct xg_policy *policy, const struct xg_call *call,
                         const struct xg_decision *decision, double seconds)
{
    if (!call->problem || xg_phase_spins_s(&policy->phase, decision->begin_s) == 0.0)
        return false;
    return seconds >= decision->model_s[XG_SIDE_GPU] *
                          xg_feedback_scale(&policy->feedback, XG_SIDE_GPU, &decision->known);
}

static void learn(struct xg_policy *policy, enum xg_side side, const struct xg_call *call,
                  const struct xg_decision *decision, double seconds)
{
    double predicted_s = decision->model_s[side];
    if (side == XG_SIDE_GPU && is_disturbed(policy, call, decision, seconds))
        return;
    xg_feedback_observe(&policy->feedback, side, &decision->known, predicted_s, seconds);
    if (side == XG_SIDE_CPU && call->problem && xg_policy_mnk(call->problem) <= XG_TUNING_FLOOR_MNK)
        xg_correction_add(&policy->small, 0.0f, (float)log(seconds / predicted_s));
}

/* A trial spends what the other side has earned; every other product earns. */
static void account(struct xg_policy *policy, enum xg_side side, const struct xg_decision *decision,
                    double seconds)
{
    enum xg_side decided = decision->place == XG_PLACE_CPU ? XG_SIDE_CPU : XG_SIDE_GPU;
    if (decision->reason != XG_REASON_TRIAL || side != decided) {
        xg_feedback_account(&policy->feedback, side, &decision->known, seconds);
        return;
    }
    double other_s = side == XG_SIDE_CPU ? decision->gpu_s : decision->cpu_s;
    double all_s = seconds + (side == XG_SIDE_CPU ? xg_phase_disturbs_s(&policy->phase) : 0.0);
    xg_feedback_end_trial(&policy->feedback, other(side), &decision->known, decision->trial_s,
                          all_s < other_s);
}

void xg_policy_observe(struct xg_policy *policy, enum xg_side side, const struct xg_call *call,
                       const struct xg_decision *decision, double seconds, double now_s)
{
    double expected_s = side == XG_SIDE_CPU ? decision->cpu_s : decision->gpu_s;
    double loops_s = side == XG_SIDE_GPU ? decision->loops_s : 0.0;
    struct xg_phase_product product = {
        .side = side,
        .begin_s = decision->begin_s - loops_s,
        .end_s = now_s,
        .expected_s = expected_s,
        .other_s = side == XG_SIDE_CPU ? decision->gpu_s : decision->cpu_s,
    };
    if (teaches(call->problem) && seconds > 0.0 && isfinite(seconds) && decision->cpu_s > 0.0) {
        learn(policy, side, call, decision, seconds);
        account(policy, side, decision, loops_s + fmin(seconds, XG_TUNING_STOPPED * expected_s));
    }
    if (decision->wakes)
        xg_phase_observe(&policy->phase, &product);
}
