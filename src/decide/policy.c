/* SPDX-License-Identifier: MIT */
/* The decision, from two corrected predictions, the phase, the engine's state and the earned time.
 */
#include "decide/policy.h"

#include <limits.h>
#include <math.h>

/*
 * A product that wakes no threads moves to the GPU if its predicted time there is below this
 * fraction of its CPU time: staging takes memory bandwidth from the rest of the process.
 */
#define GPU_FRACTION 0.92

/*
 * OpenBLAS computes 64^3 in 4 us, less than an empty GPU call (55 us); a plain loop (2 GFLOP/s)
 * takes that long for 38^3. A few small products show which kind of library this process has.
 */
#define FLOOR_MNK 262144.0
#define FLOOR_MNK_LEAST 32768.0
#define SMALL_WEIGHT 3.0f

/*
 * A shape and those near it are settled: they stay on the CPU for a while without a decision. The
 * decision itself takes time that shows in short calls. The conditions are:
 * - the call is short, and its CPU time is known from enough observations without doubts;
 * - the GPU would not be tried anyway: it is not ready, or it is known from enough observations, or
 *   it is too far behind (a phase hopes for BEST_FRACTION at most; a product that wakes no threads
 *   is tried up to SETTLED_RATIO);
 * - for products that wake threads, the phase is the CPU's and the pauses do not change that: calls
 *   without a decision tell us nothing about pauses;
 * - the mode is not reproducible, in which every call decides for itself.
 */
#define SETTLED_WEIGHT 2.0
#define SETTLED_RATIO 3.0
#define SETTLED_S 1e-3

/* The longest time of a product without a decision, as this multiple of the longest expected time;
 * it fades as other shapes settle. It bounds when the threads fall asleep. */
#define KEPT_VARIES 1.5
#define KEPT_FADES 0.9

/*
 * Waking the CPU library's threads adds a time to a product that does not depend on the product:
 * 0.15 to 0.3 ms for sixteen threads (bench/results/h200/spin.csv), 2 ms on some hosts. The policy
 * learns it from short products that the CPU has computed before. Each product is charged with the
 * share of products that wake threads: an isolated product pays the full cost, back-to-back
 * products pay almost none. The cost counts nowhere else: not as the product's own time (up to
 * twice the learnt cost, which varies), not against a phase on the CPU, and not in a trial's first
 * product.
 *
 * The calls after a waking one find cold caches and take 20 to 40 % longer than after about ten
 * calls (doc/explanation/lessons.md). So a trial of the CPU during a GPU phase runs for three
 * calls, at the slower side's time, plus 1.8 ms. Its price is three calls plus the waking cost
 * beyond WAKE_S. In ten seconds the trials of a shape take less than two thousandths of the time,
 * and six where waking takes 4 ms (tests/unit/wake.c).
 */
#define WAKE_S 0.3e-3
#define WAKE_MOST_S 5e-3
#define WAKE_VARIES 2.0
#define WAKE_SHARE 0.2
#define WAKE_SEEN_S 1e-3
#define PAUSED_SHARE 0.02
#define CROWD_ONE 1.1
#define TRIAL_CALLS 3
#define TRIAL_S 1.8e-3

/*
 * A shape that the CPU has not computed yet must promise this much more there: the model's CPU time
 * errs by as much, and a trial of the CPU wakes threads, while a trial of the GPU costs one call.
 */
#define GUESS_FACTOR 1.1

/* The best case of the GPU, as a fraction of its predicted time (phase.h). */
#define BEST_FRACTION 0.75

/* Threads that spin for longer spin forever; the phase then counts this time. */
#define SPIN_MOST_S 1.0

/*
 * A single-threaded product waits for a lane at most this multiple of its GPU time. A few waiting
 * threads keep the lanes busy, and the cores of the others compute meanwhile. Each thread would
 * gain by waiting longer, but all of them together would lose.
 */
#define QUEUE 2.0

/* The program's own threads fill the cores if this share of them has a single-threaded product. The
 * recent maximum of concurrent products fades with the time constant CROWD_S. */
#define CROWDED 0.75
#define CROWD_S 0.5

/*
 * A start takes 0.2 s of a core. In a program that fills its cores, threads that meet at the end of
 * each loop wait for the thread that shares its core with the start: a program on 16 cores lost
 * 0.17 to 0.19 s, at any priority of the start's thread (bench/results/h200/start.txt).
 */
#define START_CORE_S 0.2

/*
 * The program's other loops wake the threads of an OpenMP pool again. Staging threads then wait for
 * a core until those threads sleep, or for a time slice of the scheduler. GPU products of 0.25 ms
 * took 3.5 to 4 ms on 16 cores (bench/results/h100/torch.txt, training forced to the GPU). After
 * the start the observed times count instead.
 */
#define SLICE_S 3e-3

static double mnk(const struct xg_problem *call)
{
    return (double)call->m * (double)call->n * (double)call->k;
}

/* The model's GPU time with this many cores for staging. */
static double gpu_model_s(const struct xg_policy *policy, const struct xg_conf *conf,
                          const struct xg_problem *call, int cores_left)
{
    struct xg_model model = policy->model;
    xg_model_limit_staging(&model, cores_left);
    return xg_model_gpu_seconds(&model, conf->math, call);
}

static void predict(const struct xg_policy *policy, const struct xg_conf *conf,
                    const struct xg_problem *call, const struct xg_situation *now,
                    struct xg_decision *decision)
{
    int cores_left = now->cores_left;
    if (conf->reproducible)
        cores_left = INT_MAX;
    else if (decision->crowded)
        cores_left = 1;
    decision->model_s[XG_SIDE_CPU] = xg_model_cpu_seconds(&policy->model, call);
    decision->model_s[XG_SIDE_GPU] = gpu_model_s(policy, conf, call, cores_left);
    decision->cpu_s = decision->model_s[XG_SIDE_CPU];
    decision->gpu_s = decision->model_s[XG_SIDE_GPU];
    if (conf->reproducible)
        return;
    decision->cpu_s *= xg_feedback_scale(&policy->feedback, XG_SIDE_CPU, call);
    decision->gpu_s *= xg_feedback_scale(&policy->feedback, XG_SIDE_GPU, call);
    if (decision->wakes)
        decision->cpu_s += policy->paused * policy->wake_s;
    if (decision->wakes && now->pool_is_shared && now->state != XG_ENGINE_READY)
        decision->gpu_s += fmin(policy->phase.spin_s, SLICE_S);
}

/* Updates the recent maximum of concurrent products; threads pause between products, so one moment
 * is not enough. */
static void see_crowd(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_situation *now, struct xg_decision *decision)
{
    double since_s = fmax(0.0, now->now_s - policy->crowd_s); /* threads may come out of order */
    policy->crowd = fmax(fmax(1.0, now->under_way), policy->crowd * exp(-since_s / CROWD_S));
    policy->crowd_s = fmax(policy->crowd_s, now->now_s);
    decision->crowd = policy->crowd;
    /* If all products go to the GPU, threads wait there and leave their cores free. */
    bool all_gpu = conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE;
    decision->crowded = !all_gpu && decision->cpu_threads == 1 && now->cores > 1 &&
                        policy->crowd >= CROWDED * now->cores;
}

static void decide_place(struct xg_decision *decision, enum xg_place place, enum xg_reason reason)
{
    decision->place = place;
    decision->reason = reason;
}

/* The time on a GPU that nothing disturbs. */
static double gpu_best_s(const struct xg_decision *decision)
{
    return BEST_FRACTION * fmin(decision->gpu_s, decision->model_s[XG_SIDE_GPU]);
}

/* The largest cost of waking per product that the current row of products admits. */
static double pauses_s(const struct xg_policy *policy, const struct xg_decision *decision)
{
    return decision->wakes ? fmax(WAKE_S, policy->wake_s) / policy->row : 0.0;
}

static bool is_far_behind(const struct xg_decision *decision, double cpu_s)
{
    return decision->wakes ? gpu_best_s(decision) > cpu_s : decision->gpu_s > SETTLED_RATIO * cpu_s;
}

/* Whether the next calls of a shape that stays on the CPU need no decision. */
static bool is_settled(const struct xg_policy *policy, const struct xg_conf *conf, bool ready,
                       const struct xg_problem *call, const struct xg_decision *decision)
{
    const struct xg_feedback *feedback = &policy->feedback;
    double cpu_s = decision->cpu_s + pauses_s(policy, decision);
    return !conf->reproducible && decision->cpu_s < SETTLED_S &&
           decision->gpu_s >= GPU_FRACTION * cpu_s &&
           !(decision->wakes && policy->phase.side == XG_SIDE_GPU) &&
           xg_feedback_weight(feedback, XG_SIDE_CPU, call) >= SETTLED_WEIGHT &&
           !xg_feedback_doubts(feedback, XG_SIDE_CPU, call) &&
           (!ready || is_far_behind(decision, cpu_s) ||
            xg_feedback_weight(feedback, XG_SIDE_GPU, call) >= SETTLED_WEIGHT);
}

/* The CPU time that a phase counts with. */
static double cpu_in_phase_s(const struct xg_policy *policy, const struct xg_problem *call,
                             const struct xg_decision *decision)
{
    bool known = xg_feedback_knows(&policy->feedback, XG_SIDE_CPU, call);
    return (known ? 1.0 : GUESS_FACTOR) * decision->cpu_s;
}

/* Returns the side; *reason says whether the phase or the predictions decided. */
static enum xg_side with_phase(enum xg_side side, const struct xg_decision *decision,
                               enum xg_reason *reason)
{
    enum xg_side faster = decision->gpu_s < decision->cpu_s ? XG_SIDE_GPU : XG_SIDE_CPU;
    *reason = side == faster ? XG_REASON_MODEL : XG_REASON_PHASE;
    return side;
}

/* The side of a product that wakes threads: its phase's, or a trial of the other one. */
static enum xg_side choose_in_phase(struct xg_policy *policy, const struct xg_problem *call,
                                    double now_s, const struct xg_decision *decision,
                                    enum xg_reason *reason)
{
    struct xg_phase *phase = &policy->phase;
    double cpu_s = cpu_in_phase_s(policy, call, decision);
    double more_s = cpu_s - decision->gpu_s;
    bool asleep = xg_phase_paused(phase, now_s);
    if (xg_phase_choose(phase, now_s, cpu_s, decision->gpu_s) == XG_SIDE_CPU) {
        const struct xg_trial trial = {.extra_s = fabs(more_s)};
        if (!asleep || !xg_feedback_dares(&policy->feedback, XG_SIDE_GPU, call, &trial))
            return with_phase(XG_SIDE_CPU, decision, reason);
        *reason = XG_REASON_TRIAL;
        return XG_SIDE_GPU;
    }
    double disturbs_s = xg_phase_disturbs_s(phase);
    if (more_s + disturbs_s < 0.0)
        return with_phase(XG_SIDE_CPU, decision, reason);
    const struct xg_trial trial = {
        .extra_s =
            TRIAL_CALLS * fmax(0.0, more_s) + disturbs_s + fmax(0.0, policy->wake_s - WAKE_S),
        .call_s = cpu_s,
        .all_s = TRIAL_CALLS * fmax(cpu_s, decision->gpu_s) + TRIAL_S,
    };
    if (!xg_feedback_dares(&policy->feedback, XG_SIDE_CPU, call, &trial))
        return with_phase(XG_SIDE_GPU, decision, reason);
    *reason = XG_REASON_TRIAL;
    return XG_SIDE_CPU;
}

/* The side of a product that wakes no threads: where it finishes first, or a trial. */
static enum xg_side choose_alone(struct xg_policy *policy, const struct xg_problem *call,
                                 double now_s, const struct xg_decision *decision,
                                 enum xg_reason *reason)
{
    double saved_s = GPU_FRACTION * decision->cpu_s - decision->gpu_s;
    bool gpu = saved_s > xg_phase_spins_s(&policy->phase, now_s) * policy->phase.share;
    const struct xg_trial trial = {.extra_s = fabs(decision->cpu_s - decision->gpu_s)};
    bool tries =
        xg_feedback_dares(&policy->feedback, gpu ? XG_SIDE_CPU : XG_SIDE_GPU, call, &trial);
    *reason = tries ? XG_REASON_TRIAL : gpu || saved_s <= 0.0 ? XG_REASON_MODEL : XG_REASON_PHASE;
    return gpu != tries ? XG_SIDE_GPU : XG_SIDE_CPU;
}

static void decide_ready(struct xg_policy *policy, const struct xg_conf *conf,
                         const struct xg_problem *call, double now_s, struct xg_decision *decision)
{
    enum xg_reason reason = XG_REASON_MODEL;
    enum xg_side side;
    if (conf->reproducible)
        side = decision->gpu_s < GPU_FRACTION * decision->cpu_s ? XG_SIDE_GPU : XG_SIDE_CPU;
    else if (decision->wakes)
        side = choose_in_phase(policy, call, now_s, decision, &reason);
    else
        side = choose_alone(policy, call, now_s, decision, &reason);
    decide_place(decision, side == XG_SIDE_GPU ? XG_PLACE_GPU : XG_PLACE_CPU, reason);
    decision->wait = conf->reproducible && side == XG_SIDE_GPU;
    decision->waits_s = decision->cpu_s - decision->gpu_s;
    if (decision->wakes)
        decision->waits_s += xg_phase_disturbs_s(&policy->phase);
    else if (decision->cpu_threads == 1)
        decision->waits_s = fmin(decision->waits_s, QUEUE * decision->gpu_s);
    if (side == XG_SIDE_CPU)
        decision->settled = is_settled(policy, conf, true, call, decision);
}

/*
 * The program's time that the GPU would have saved. Of concurrent products as many run there as
 * there are lanes; the others go on. x: the speed-up of all of them, less 1.
 */
static double saved_s(double cpu_s, const struct xg_decision *decision)
{
    double crowd = decision->crowd;
    double x = fmin(1.0, XG_POLICY_LANES / crowd) * fmax(0.0, cpu_s / decision->gpu_s - 1.0);
    return cpu_s / crowd * x / (1.0 + x);
}

/*
 * What a start costs the program now. Spinning threads slow down the start's thread and the first
 * GPU products, and the reverse: scikit-learn's LogisticRegression, which ends during the start,
 * lost 0.05 to 0.7 s (median 0.2), and nothing without spinning.
 */
static double price_s(const struct xg_policy *policy, const struct xg_decision *decision)
{
    const double spins = 2.0;
    double spin_s = decision->wakes ? policy->phase.spin_s : 0.0;
    return policy->model.gpu_price_s +
           (decision->crowded ? START_CORE_S : fmin(spins * spin_s, START_CORE_S));
}

/* Before the engine is ready: would the GPU finish first, and is a start earned? */
static void decide_before(const struct xg_policy *policy, const struct xg_conf *conf,
                          enum xg_engine_state state, const struct xg_problem *call,
                          struct xg_decision *decision)
{
    double saving_s = decision->cpu_s - decision->gpu_s;
    double price = price_s(policy, decision);

    if (decision->gpu_s >= GPU_FRACTION * decision->cpu_s) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_MODEL);
        decision->settled = is_settled(policy, conf, false, call, decision);
    } else if (conf->reproducible || saving_s > policy->model.gpu_start_s + price) {
        decide_place(decision, XG_PLACE_GPU, XG_REASON_MODEL);
        decision->start = state == XG_ENGINE_COLD;
        decision->wait = true;
    } else if (state == XG_ENGINE_STARTING) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_STARTING);
    } else {
        decision->start = policy->earned_s + saved_s(decision->cpu_s, decision) > price;
        decide_place(decision, XG_PLACE_CPU,
                     decision->start ? XG_REASON_STARTING : XG_REASON_EARNING);
    }
}

/* xg_policy_floor_mnk in mode auto. */
static double floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf)
{
    if (conf->reproducible)
        return FLOOR_MNK;
    if (policy->small.weight < SMALL_WEIGHT)
        return FLOOR_MNK_LEAST;
    double even = xg_model_even_mnk(&policy->model, exp((double)policy->small.log_ratio));
    return fmax(fmin(even, FLOOR_MNK), FLOOR_MNK_LEAST);
}

static int threads_on_cpu(const struct xg_policy *policy, const struct xg_problem *call,
                          const struct xg_situation *now)
{
    if (mnk(call) <= XG_MODEL_ALONE_MNK)
        return 1;
    return now->cpu_threads ? now->cpu_threads : policy->model.cpu_threads;
}

void xg_policy_decide(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_problem *call, const struct xg_situation *now,
                      struct xg_decision *decision)
{
    *decision = (struct xg_decision){
        .place = XG_PLACE_CPU,
        .begin_s = now->now_s,
        .cpu_threads = threads_on_cpu(policy, call, now),
    };
    if (call->m < 1 || call->n < 1 || call->k < 1 || xg_problem_alpha_zero(call)) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_DEGENERATE);
        return;
    }
    if (!xg_conf_operates(conf, xg_problem_kind(call))) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_OPERATION);
        return;
    }
    if (now->unserved && now->state == XG_ENGINE_READY) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_KERNEL);
        return;
    }
    decision->wakes = decision->cpu_threads > 1 && now->spin_s > 0.0;
    if (decision->wakes) {
        policy->phase.spin_s = fmin(now->spin_s, SPIN_MOST_S);
        bool paused = xg_phase_paused(&policy->phase, now->now_s);
        policy->paused += PAUSED_SHARE * (paused - policy->paused);
        policy->row = paused ? 1.0 : policy->row + 1.0;
    }
    see_crowd(policy, conf, now, decision);
    predict(policy, conf, call, now, decision);

    if (conf->mode == XG_MODE_CPU) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_MODE);
    } else if (now->state == XG_ENGINE_NONE) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_NO_GPU);
    } else if (now->state == XG_ENGINE_COLD && xg_reason_is_absence(now->absence)) {
        decide_place(decision, XG_PLACE_CPU, now->absence);
    } else if (now->state == XG_ENGINE_FORKED) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_FORKED);
    } else if (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE) {
        decide_place(decision, conf->mode == XG_MODE_GPU ? XG_PLACE_GPU : XG_PLACE_BOTH,
                     XG_REASON_MODE);
        decision->start = now->state == XG_ENGINE_COLD;
        decision->wait = true;
    } else if (mnk(call) < floor_mnk(policy, conf)) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_SMALL);
    } else if (now->state == XG_ENGINE_READY) {
        decide_ready(policy, conf, call, now->now_s, decision);
    } else {
        decide_before(policy, conf, now->state, call, decision);
    }
    if (decision->settled)
        policy->kept_s = fmax(KEPT_FADES * policy->kept_s, KEPT_VARIES * decision->cpu_s);
}

/* --- Observations -------------------------------------------------------------------------- */

/* Tiny products are not learnt from: their time is overhead, and they need no decision. */
static bool teaches(const struct xg_problem *call, double seconds)
{
    return mnk(call) >= FLOOR_MNK_LEAST && seconds > 0.0 && isfinite(seconds);
}

static double wake_most_s(const struct xg_policy *policy)
{
    return fmax(WAKE_S, WAKE_VARIES * policy->wake_s);
}

/* A much longer time counts only if it comes twice: another process may cause as much. */
static void learn_wake(struct xg_policy *policy, double seconds)
{
    double most_s = wake_most_s(policy);
    bool much = seconds > most_s;
    if (!policy->wake_doubted)
        seconds = fmin(seconds, most_s);
    policy->wake_doubted = much;
    policy->wake_s += WAKE_SHARE * (seconds - policy->wake_s);
}

/* Returns how long the product waited for threads to wake. */
static double learn_cpu(struct xg_policy *policy, const struct xg_problem *call,
                        const struct xg_decision *decision, double seconds)
{
    double predicted_s = decision->model_s[XG_SIDE_CPU], took_s = seconds, waking_s = 0.0;
    if (decision->wakes && xg_phase_spins_s(&policy->phase, decision->begin_s) == 0.0) {
        bool known = xg_feedback_knows(&policy->feedback, XG_SIDE_CPU, call);
        double expected_s = predicted_s * xg_feedback_scale(&policy->feedback, XG_SIDE_CPU, call);
        double more_s = fmax(0.0, seconds - expected_s);
        double wake_s = fmin(more_s, known ? WAKE_MOST_S : WAKE_S);
        if (expected_s < WAKE_SEEN_S && decision->crowd < CROWD_ONE) /* no concurrent product */
            learn_wake(policy, wake_s);
        seconds -= fmin(wake_s, wake_most_s(policy));
        waking_s = fmin(more_s, WAKE_MOST_S);
    }
    xg_feedback_observe(&policy->feedback, XG_SIDE_CPU, call, predicted_s, seconds);
    if (mnk(call) <= FLOOR_MNK)
        xg_correction_add(&policy->small, 0.0f, (float)log(seconds / predicted_s));
    if (decision->reason == XG_REASON_EARNING || decision->reason == XG_REASON_STARTING)
        policy->earned_s += saved_s(fmin(took_s, decision->cpu_s), decision);
    return waking_s;
}

/* A longer time among spinning threads says nothing about the GPU. */
static void learn_gpu(struct xg_policy *policy, const struct xg_problem *call,
                      const struct xg_decision *decision, double seconds)
{
    double predicted_s = decision->model_s[XG_SIDE_GPU];
    double expected_s = predicted_s * xg_feedback_scale(&policy->feedback, XG_SIDE_GPU, call);
    if (xg_phase_spins_s(&policy->phase, decision->begin_s) == 0.0 || seconds < expected_s)
        xg_feedback_observe(&policy->feedback, XG_SIDE_GPU, call, predicted_s, seconds);
}

void xg_policy_observe(struct xg_policy *policy, enum xg_side side, const struct xg_problem *call,
                       const struct xg_decision *decision, double seconds, double now_s)
{
    struct xg_phase_product product = {
        .side = side,
        .wakes = decision->wakes,
        .begin_s = decision->begin_s,
        .end_s = now_s,
        .other_s = side == XG_SIDE_CPU ? decision->gpu_s : cpu_in_phase_s(policy, call, decision),
        .best_s = gpu_best_s(decision),
    };
    if (teaches(call, seconds) && decision->cpu_s > 0.0) {
        if (side == XG_SIDE_CPU)
            product.waking_s = learn_cpu(policy, call, decision, seconds);
        else
            learn_gpu(policy, call, decision, seconds);
        xg_feedback_account(&policy->feedback, side, call, seconds, product.waking_s);
    }
    if (decision->wakes)
        xg_phase_observe(&policy->phase, &product);
}

void xg_policy_observe_kept(struct xg_policy *policy, double then_s)
{
    struct xg_phase *phase = &policy->phase;
    double end_s = then_s + policy->kept_s; /* an upper bound: it began at then_s */
    phase->spin_until_s = fmax(phase->spin_until_s, end_s + phase->spin_s);
    phase->last_s = fmax(phase->last_s, end_s);
}

double xg_policy_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf,
                           enum xg_engine_state state)
{
    if (xg_conf_tells(conf))
        return 0.0;
    if (conf->mode == XG_MODE_CPU || state == XG_ENGINE_NONE || state == XG_ENGINE_FORKED)
        return HUGE_VAL;
    if (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE)
        return 0.0;
    return floor_mnk(policy, conf);
}
