/* SPDX-License-Identifier: MIT */
/* policy: the CPU library's threads sleep between products, and a product that finds them asleep
 * takes longer there. */
#include <math.h>

#include "src/decide/policy.h"
#include "tests/support/xt.h"

#define CORES 16
#define WAKE_S 0.2e-3

static const struct xg_conf conf = {.mode = XG_MODE_AUTO};
static struct xg_policy policy;

static struct xg_problem cube(int64_t size)
{
    return (struct xg_problem){
        .m = size, .n = size, .k = size, .lda = size, .ldb = size, .ldc = size, .alpha = 1.0f};
}

static void begin(void)
{
    memset(&policy, 0, sizeof policy);
    xg_model_init(&policy.model, CORES);
}

static struct xg_decision decide_in(enum xg_engine_state state, double now_s, double spin_s,
                                    const struct xg_problem *call)
{
    const struct xg_situation now = {.now_s = now_s,
                                     .state = state,
                                     .cpu_threads = CORES,
                                     .spin_s = spin_s,
                                     .cores_left = CORES};
    struct xg_decision decision;
    xg_policy_decide(&policy, &conf, call, &now, &decision);
    return decision;
}

static struct xg_decision decide(double now_s, double spin_s, const struct xg_problem *call)
{
    return decide_in(XG_ENGINE_READY, now_s, spin_s, call);
}

static void observe(enum xg_side side, const struct xg_problem *call,
                    const struct xg_decision *decision, double seconds)
{
    xg_policy_observe(&policy, side, call, decision, seconds, decision->begin_s + seconds);
}

/* Waking is not the product's own time, but no excuse for more. Where it takes long the product
 * must have been seen without. */
static void test_learnt(void)
{
    static const struct {
        double slow, wake_s;
    } rows[] = {{1.0, WAKE_S}, {1.0, 10.0 * WAKE_S}, {100.0, 0.0}};
    const struct xg_problem call = cube(512);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        begin();
        double cpu_s = rows[r].slow * xg_model_cpu_seconds(&policy.model, &call);
        for (int i = 1; i <= 30; i++) {
            struct xg_decision asleep = decide(i, 0.1, &call);
            observe(XG_SIDE_CPU, &call, &asleep, cpu_s + rows[r].wake_s);
            if (rows[r].wake_s > WAKE_S) {
                struct xg_decision awake = decide(i + 0.01, 0.1, &call);
                observe(XG_SIDE_CPU, &call, &awake, cpu_s);
            }
        }
        double learnt = xg_feedback_scale(&policy.feedback, XG_SIDE_CPU, &call);
        XT_CHECK(learnt > 0.5 * rows[r].slow && learnt < 1.1 * rows[r].slow, "%g times: %g",
                 rows[r].slow, learnt);
        if (rows[r].wake_s > 0.0)
            XT_CHECK(fabs(policy.wake_s / rows[r].wake_s - 1.0) < 0.1, "waking takes %g",
                     policy.wake_s);
    }
}

/* A neighbour that takes the cores for a while is not what waking takes; what comes again is. */
static void test_outlier(void)
{
    const struct xg_problem call = cube(256);

    begin();
    double cpu_s = xg_model_cpu_seconds(&policy.model, &call);
    for (int i = 1; i <= 60; i++) {
        struct xg_decision decision = decide(i, 0.5e-3, &call);
        bool outlier = i == 30 || i == 40 || i >= 50;
        observe(XG_SIDE_CPU, &call, &decision, cpu_s + (outlier ? 5e-3 : WAKE_S));
        if (i < 50)
            XT_CHECK(policy.wake_s < 2.0 * WAKE_S, "waking takes %g after product %d",
                     policy.wake_s, i);
    }
    XT_CHECK(policy.wake_s > 3e-3, "waking takes %g", policy.wake_s);
}

struct program {
    struct xg_problem call;
    double cpu_s, gpu_s; /* what a product takes, threads awake */
    double spin_s;       /* for how long they are awake after one */
    double gap_s;        /* from one product to the next */
    double seconds;      /* that it takes; 0: 2 */
    double wake_s;       /* what waking them takes; 0: WAKE_S */
    double cold;  /* part by which the next products take longer, in caches that have nothing */
    int burst;    /* gap_s is from one burst of so many products to the next; 0: 1 */
    double row_s; /* for so long there are no gaps yet */
};

struct outcome {
    double on_gpu; /* of the products of its second half, the part that ran there */
    double kept;   /* of all, the part that was not asked about */
    double cost;   /* time in all products over what they take on the GPU */
};

/* Where the program is in its run. */
struct moment {
    double now_s, awake_until_s, awake; /* awake: products on the CPU since threads woke */
    int kept;            /* products that will not be asked about, as in dispatch.c */
    double kept_begin_s; /* when the last of them began; 0: none since one was */
};

/* A product: where it ran, and what it took. */
static double compute(const struct program *program, struct moment *at, bool *on_gpu)
{
    enum { KEPT_CALLS = 100 };
    const double waking_s = program->wake_s > 0.0 ? program->wake_s : WAKE_S;
    const double warm_calls = 8.0; /* the caches fill within about so many */
    bool asks = at->kept == 0 || policy.phase.side == XG_SIDE_GPU;
    struct xg_decision decision = {.place = XG_PLACE_CPU};
    if (asks && at->kept_begin_s > 0.0)
        xg_policy_observe_kept(&policy, at->kept_begin_s);
    if (asks)
        decision = decide(at->now_s, program->spin_s, &program->call);
    at->kept_begin_s = asks ? 0.0 : at->now_s;
    at->kept -= !asks;
    *on_gpu = decision.place == XG_PLACE_GPU;
    double wake_s = at->now_s > at->awake_until_s ? waking_s : 0.0;
    at->awake = wake_s > 0.0 ? 0.0 : at->awake;
    double cold = program->cold * exp(-at->awake / warm_calls);
    double took_s = *on_gpu ? program->gpu_s : (1.0 + cold) * program->cpu_s + wake_s;
    if (!*on_gpu) {
        at->awake_until_s = at->now_s + took_s + program->spin_s;
        at->awake++;
    }
    if (asks)
        observe(*on_gpu ? XG_SIDE_GPU : XG_SIDE_CPU, &program->call, &decision, took_s);
    if (decision.settled)
        at->kept = KEPT_CALLS;
    at->now_s += took_s;
    return took_s;
}

static struct outcome run(const struct program *program)
{
    const double begin_s = 10.0, seconds = program->seconds > 0.0 ? program->seconds : 2.0;
    const int burst = program->burst ? program->burst : 1;
    struct moment at = {.now_s = begin_s};
    double gpu = 0.0, all = 0.0, products_s = 0.0, kept = 0.0;
    int calls = 0;

    begin();
    while (at.now_s < begin_s + seconds) {
        bool half = at.now_s >= begin_s + 0.5 * seconds, on_gpu;
        products_s += compute(program, &at, &on_gpu);
        all += half;
        gpu += half && on_gpu;
        kept += at.kept_begin_s > 0.0;
        calls++;
        if (calls % burst == 0 && at.now_s >= begin_s + program->row_s)
            at.now_s += program->gap_s;
    }
    return (struct outcome){gpu / all, kept / calls, products_s / (calls * program->gpu_s)};
}

/* The CPU is better than was thought: a trial sees it, though its first call wakes threads (on some
 * hosts for longer than on others), and though those after that one are slow too. */
static void test_trial(void)
{
    static const struct {
        int64_t size;
        double cpu; /* over what the GPU takes */
        double seconds, wake, cold;
    } rows[] = {{384, 0.4, 2.0, WAKE_S, 0.0},
                {256, 0.7, 0.12, WAKE_S, 0.5},
                {256, 0.7, 0.12, 5.0 * WAKE_S, 0.5},
                {256, 0.7, 0.12, 10.0 * WAKE_S, 0.5},
                {256, 0.7, 0.12, 20.0 * WAKE_S, 0.5}};

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct program program = {.call = cube(rows[r].size),
                                  .spin_s = 0.5e-3,
                                  .seconds = rows[r].seconds,
                                  .wake_s = rows[r].wake,
                                  .cold = rows[r].cold};

        begin();
        program.gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &program.call);
        program.cpu_s = rows[r].cpu * program.gpu_s;
        XT_CHECK(program.gpu_s < xg_model_cpu_seconds(&policy.model, &program.call),
                 "the model's guess is the GPU");
        double share = run(&program).on_gpu;
        XT_CHECK(share < 0.1, "%g on the GPU, cold %g, waking %g", share, rows[r].cold,
                 rows[r].wake);
    }
}

/* The CPU is better, as was thought, and the first product there waits for threads to wake: that is
 * no reason to leave it. */
static void test_stays(void)
{
    for (double wake_s = WAKE_S; wake_s < 5e-3; wake_s *= 2.0) {
        struct program program = {
            .call = cube(128), .spin_s = 0.5e-3, .seconds = 0.05, .wake_s = wake_s};

        begin();
        program.gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &program.call);
        program.cpu_s = 0.6 * program.gpu_s;
        XT_CHECK(xg_model_cpu_seconds(&policy.model, &program.call) < program.gpu_s,
                 "the model's guess is the CPU");
        struct outcome outcome = run(&program);
        XT_CHECK(outcome.on_gpu < 0.1, "%g on the GPU, waking %g", outcome.on_gpu, wake_s);
        double most = 0.6 + 1.1 * wake_s / 0.05;
        XT_CHECK(outcome.cost < most, "%g of the GPU's time, waking %g", outcome.cost, wake_s);
    }
}

/* After a pause a product wakes the CPU's threads each time, and is faster on the GPU. */
static void test_paused(void)
{
    for (int paused = 0; paused < 2; paused++) {
        struct program program = {
            .call = cube(256), .spin_s = 2e-3, .gap_s = paused ? 5e-3 : 0.2e-3};

        begin();
        program.cpu_s = xg_model_cpu_seconds(&policy.model, &program.call);
        program.gpu_s = program.cpu_s + 0.5 * WAKE_S;
        double share = run(&program).on_gpu;
        XT_CHECK(paused ? share > 0.9 : share < 0.1, "%g on the GPU, paused %d", share, paused);
    }
}

/*
 * In a row the CPU is twice as fast, and is not asked about. With pauses the GPU is better, which a
 * program is found out about that has them from the start, or comes to have them.
 */
static void test_kept(void)
{
    static const struct {
        int burst;
        double gap_s, wake_s, row_s;
    } rows[] = {{1, 0.0, WAKE_S, 0.0},         {3, 50e-3, WAKE_S, 0.0}, {3, 0.8e-3, WAKE_S, 0.0},
                {5, 50e-3, 5.0 * WAKE_S, 0.0}, {1, 20e-3, WAKE_S, 0.5}, {3, 0.8e-3, WAKE_S, 0.5},
                {2, 20e-3, 5.0 * WAKE_S, 0.5}};

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct program program = {.call = cube(160),
                                  .spin_s = 0.5e-3,
                                  .gap_s = rows[r].gap_s,
                                  .wake_s = rows[r].wake_s,
                                  .burst = rows[r].burst,
                                  .row_s = rows[r].row_s,
                                  .seconds = 20.0};
        begin();
        program.gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &program.call);
        program.cpu_s = 0.5 * program.gpu_s;
        struct outcome outcome = run(&program);
        if (rows[r].gap_s == 0.0)
            XT_CHECK(outcome.kept > 0.95 && outcome.on_gpu == 0.0, "%g kept, %g on the GPU",
                     outcome.kept, outcome.on_gpu);
        else
            XT_CHECK(outcome.on_gpu > 0.9, "%d every %g s, a row for %g s: %g on the GPU",
                     rows[r].burst, rows[r].gap_s, rows[r].row_s, outcome.on_gpu);
    }
}

/* The CPU is worse, and much worse than was thought: what its trials cost. */
static void test_cost(void)
{
    static const double times[] = {1.2, 2.0, 100.0};
    for (int i = 0; i < 6; i++) {
        struct program program = {
            .call = cube(1024), .spin_s = i < 3 ? 0.5e-3 : 0.1, .seconds = 30.0};

        begin();
        program.gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &program.call);
        program.cpu_s =
            times[i % 3] * fmax(program.gpu_s, xg_model_cpu_seconds(&policy.model, &program.call));
        double cost = run(&program).cost;
        XT_CHECK(cost < 1.03, "%g times: %g", times[i % 3], cost);
    }
}

/* Short products, which a trial has more of than are paid for: all trials of ten seconds. */
static void test_cost_short(void)
{
    static const struct {
        double wake_s, gap_s, cost;
    } rows[] = {{WAKE_S, 0.0, 1.002},
                {10.0 * WAKE_S, 0.0, 1.004},
                {20.0 * WAKE_S, 0.0, 1.006},
                {1.5 * WAKE_S, 3e-3, 1.02}};

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct program program = {.call = cube(256),
                                  .spin_s = 0.5e-3,
                                  .seconds = 10.0,
                                  .wake_s = rows[r].wake_s,
                                  .gap_s = rows[r].gap_s,
                                  .cold = 0.4};
        begin();
        program.gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &program.call);
        program.cpu_s = 2.0 * program.gpu_s;
        double cost = run(&program).cost;
        XT_CHECK(cost < rows[r].cost, "%g, waking %g", cost, rows[r].wake_s);
    }
}

/* What waking costs is saved by the GPU too, and earns a start; in a row there is none to save. */
static void test_earning(void)
{
    enum { PRODUCTS = 4000 };
    const struct xg_problem call = cube(256);
    const double spin_s = 2e-3;

    for (int paused = 0; paused < 2; paused++) {
        bool started = false;
        double now_s = 10.0, gap_s = paused ? 5e-3 : 0.0;

        begin();
        double gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &call);
        double cpu_s = 0.9 * gpu_s;
        for (int i = 0; i < PRODUCTS && !started; i++) {
            struct xg_decision decision = decide_in(XG_ENGINE_COLD, now_s, spin_s, &call);
            double took_s = cpu_s + (paused ? WAKE_S : 0.0);

            started = decision.start;
            observe(XG_SIDE_CPU, &call, &decision, took_s);
            now_s += took_s + gap_s;
        }
        XT_CHECK(started == paused, "paused %d, earned %g s", paused, policy.earned_s);
    }
}

int main(void)
{
    test_learnt();
    test_outlier();
    test_trial();
    test_stays();
    test_paused();
    test_kept();
    test_cost();
    test_cost_short();
    test_earning();
    return xt_done();
}
