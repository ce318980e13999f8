/* SPDX-License-Identifier: MIT */
/* The decision: two corrected predictions, the phase, the engine's state, what start-up earned. */
#include "decide/policy.h"

#include <limits.h>
#include <math.h>

/*
 * A product that wakes no threads moves to the GPU when it is predicted to take less than this
 * fraction of its time on the CPU: staging takes memory bandwidth from the rest of the process.
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
 * asking shows (2.5 us on the H200's host, of products that take 20: half of what 200 random shapes
 * lost), it was seen often enough there, and there is nothing to ask: no GPU yet, or one that was
 * seen often enough too, or is so far behind that it will not be tried: a phase hopes for
 * BEST_FRACTION at most, and trials of what wakes no threads cost little. Where threads are woken
 * that is known of a row only: who is not asked about tells nothing of pauses. Nor is it where the
 * shape took far longer of late: the next call tells whether that was chance, not the hundredth.
 * Not in reproducible mode: a shape decides for itself.
 */
#define SETTLED_WEIGHT 2.0
#define SETTLED_RATIO 3.0
#define SETTLED_S 1e-3

/* What products that are not asked about take at most, for when threads fall asleep: so many times
 * the longest that was expected of one, which fades as others settle. */
#define KEPT_VARIES 1.5
#define KEPT_FADES 0.9

/*
 * A product that finds the CPU library's threads asleep takes so much longer there, 0.15 to 0.3 ms
 * for sixteen (bench/results/h200/spin.csv) and 2 ms on some hosts, whatever it is. How much here
 * is learnt from short ones that the CPU has computed before, and each product is charged with the
 * part of them that does: all of it where each comes after a pause, next to nothing where they
 * follow each other. Nowhere else does it count: neither as the product's own time (up to twice
 * what waking takes, for that varies), nor against a phase on the CPU, which its first product
 * would end on such hosts, nor as the time of a trial's first product, which would be all of it.
 *
 * The calls after that one find nothing in the cores' caches: 20 to 40 % more than after some ten
 * of them (doc/explanation/lessons.md). So a trial of the CPU from the GPU's phase takes the time
 * of three calls, on the side that takes longer, and 1.8 ms more. It is paid for as three calls,
 * and as what waking takes beyond WAKE_S: of ten seconds a shape's trials take less than two
 * thousandths, and six where waking takes 4 ms (tests/unit_wake.c).
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
 * The model's guess of the CPU errs by as much, and to try the CPU wakes threads, where to try the
 * GPU costs a call: a shape that the CPU has not computed yet must promise so much more there.
 */
#define GUESS_FACTOR 1.1

/* The GPU at its best may take this much of what it is thought to: worth a trial (phase.h). */
#define BEST_FRACTION 0.75

/* Threads that spin for longer have been told to spin for ever: then the clock alone decides. */
#define SPIN_MOST_S 1.0

/*
 * A thread that computes alone waits for a lane only where few do: those keep the lanes busy, and
 * the others' cores compute meanwhile. Each would gain by waiting longer, and all would lose.
 */
#define QUEUE 2.0

/* Most of the cores have a product, with a library of one thread: the program's own threads fill
 * them. A moment with more products than now fades with this time constant. */
#define CROWDED 0.75
#define CROWD_S 0.5

/*
 * A start takes 0.2 s of a core. Threads that meet at the end of each of their loops wait for the
 * one whose core that is, in a core's time each: a program that filled 16 cores lost 0.17 to 0.19
 * s, at any priority of the start's thread (bench/results/h200/start.txt).
 */
#define START_CORE_S 0.2

/*
 * An OpenMP pool serves the program's other loops too, and they wake its threads again. Staging
 * threads then wait for cores: a time slice of the system's, or until those threads sleep. Products
 * of 0.25 ms took 3.5 to 4 ms on 16 cores (bench/results/h100/torch.txt, training forced to the
 * GPU). After the start the measured times count instead.
 */
#define SLICE_S 3e-3

static double mnk(const struct xg_problem *call)
{
    return (double)call->m * (double)call->n * (double)call->k;
}

/* Staging has the cores that products on the CPU leave. */
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

/* How many products there are at once: threads rest between theirs, so one moment tells little. */
static void see_crowd(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_situation *now, struct xg_decision *decision)
{
    double since_s = fmax(0.0, now->now_s - policy->crowd_s); /* threads take turns out of order */
    policy->crowd = fmax(fmax(1.0, now->under_way), policy->crowd * exp(-since_s / CROWD_S));
    policy->crowd_s = fmax(policy->crowd_s, now->now_s);
    decision->crowd = policy->crowd;
    /* Where all go to the GPU they wait there, and their cores are free. */
    bool all_gpu = conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE;
    decision->crowded = !all_gpu && decision->cpu_threads == 1 && now->cores > 1 &&
                        policy->crowd >= CROWDED * now->cores;
}

static void decide_place(struct xg_decision *decision, enum xg_place place, enum xg_reason reason)
{
    decision->place = place;
    decision->reason = reason;
}

/* What the GPU takes where nothing ever disturbs it. */
static double gpu_best_s(const struct xg_decision *decision)
{
    return BEST_FRACTION * fmin(decision->gpu_s, decision->model_s[XG_SIDE_GPU]);
}

/* What waking may cost each product, for all that this row of them says. */
static double pauses_s(const struct xg_policy *policy, const struct xg_decision *decision)
{
    return decision->wakes ? fmax(WAKE_S, policy->wake_s) / policy->row : 0.0;
}

static bool is_far_behind(const struct xg_decision *decision, double cpu_s)
{
    return decision->wakes ? gpu_best_s(decision) > cpu_s : decision->gpu_s > SETTLED_RATIO * cpu_s;
}

/* Stays on the CPU: are the next calls worth a question? */
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

/* What the CPU takes, to a phase. */
static double cpu_in_phase_s(const struct xg_policy *policy, const struct xg_problem *call,
                             const struct xg_decision *decision)
{
    bool known = xg_feedback_knows(&policy->feedback, XG_SIDE_CPU, call);
    return (known ? 1.0 : GUESS_FACTOR) * decision->cpu_s;
}

/* The side of a product's phase, and whether that or the two predictions decided. */
static enum xg_side with_phase(enum xg_side side, const struct xg_decision *decision,
                               enum xg_reason *reason)
{
    enum xg_side faster = decision->gpu_s < decision->cpu_s ? XG_SIDE_GPU : XG_SIDE_CPU;
    *reason = side == faster ? XG_REASON_MODEL : XG_REASON_PHASE;
    return side;
}

/* It wakes threads: where does the phase run, and is the other side worth a look? */
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

/* It wakes none: where does it finish first, now? */
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
 * What the GPU would have saved of the program's time: of products under way at once as many run
 * there as there are lanes, and the others go on. x: how much faster all get by that.
 */
static double saved_s(double cpu_s, const struct xg_decision *decision)
{
    double crowd = decision->crowd;
    double x = fmin(1.0, XG_POLICY_LANES / crowd) * fmax(0.0, cpu_s / decision->gpu_s - 1.0);
    return cpu_s / crowd * x / (1.0 + x);
}

/*
 * What a start costs the program now. Where threads spin after a product they and the start's hold
 * each other up, and then the first products there: scikit-learn's LogisticRegression, which ends
 * in the start, lost 0.05 to 0.7 s to it, 0.2 in the median, and nothing where they do not spin.
 */
static double price_s(const struct xg_policy *policy, const struct xg_decision *decision)
{
    const double spins = 2.0;
    double spin_s = decision->wakes ? policy->phase.spin_s : 0.0;
    return policy->model.gpu_price_s +
           (decision->crowded ? START_CORE_S : fmin(spins * spin_s, START_CORE_S));
}

/* Not started yet, or starting: would the GPU finish first, and has that earned a start? */
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

/* In mode auto; xg_policy_floor_mnk says what it is. */
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

/* Tiny products teach nothing: their time is overhead, and nothing is decided about them. */
static bool teaches(const struct xg_problem *call, double seconds)
{
    return mnk(call) >= FLOOR_MNK_LEAST && seconds > 0.0 && isfinite(seconds);
}

static double wake_most_s(const struct xg_policy *policy)
{
    return fmax(WAKE_S, WAKE_VARIES * policy->wake_s);
}

/* Much more than was known counts when it comes twice: a neighbour that wakes takes as long. */
static void learn_wake(struct xg_policy *policy, double seconds)
{
    double most_s = wake_most_s(policy);
    bool much = seconds > most_s;
    if (!policy->wake_doubted)
        seconds = fmin(seconds, most_s);
    policy->wake_doubted = much;
    policy->wake_s += WAKE_SHARE * (seconds - policy->wake_s);
}

/* Returns for how long the product waited for threads to wake. */
static double learn_cpu(struct xg_policy *policy, const struct xg_problem *call,
                        const struct xg_decision *decision, double seconds)
{
    double predicted_s = decision->model_s[XG_SIDE_CPU], took_s = seconds, waking_s = 0.0;
    if (decision->wakes && xg_phase_spins_s(&policy->phase, decision->begin_s) == 0.0) {
        bool known = xg_feedback_knows(&policy->feedback, XG_SIDE_CPU, call);
        double expected_s = predicted_s * xg_feedback_scale(&policy->feedback, XG_SIDE_CPU, call);
        double more_s = fmax(0.0, seconds - expected_s);
        double wake_s = fmin(more_s, known ? WAKE_MOST_S : WAKE_S);
        if (expected_s < WAKE_SEEN_S && decision->crowd < CROWD_ONE) /* nobody else's product */
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

/* Among threads that spin a product takes longer, which says nothing about the GPU. */
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
    double end_s = then_s + policy->kept_s; /* at most: then it began */
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
