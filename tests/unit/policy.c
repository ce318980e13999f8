/* SPDX-License-Identifier: MIT */
/* policy: the whole table of decisions, what start-up earns, and what is not asked about. */
#include <math.h>

#include "src/decide/decide.h"
#include "tests/support/xt.h"

static struct xg_problem shape(int64_t m, int64_t n, int64_t k)
{
    return (struct xg_problem){.m = m, .n = n, .k = k, .alpha = 1.0f};
}

static struct xg_policy policy;

enum { GPU = 1 << XG_RESOURCE_GPU }; /* all that these products need */
static double clock_s;
#define SPIN_S 0.134
static double spin_s; /* of the CPU library's threads */

static const struct xg_conf automatic = {.mode = XG_MODE_AUTO};

static void begin(int cores)
{
    spin_s = SPIN_S;
    memset(&policy, 0, sizeof policy);
    xg_model_init(&policy.model, cores);
}

static struct xg_decision decide_at(double now_s, const struct xg_conf *conf,
                                    enum xg_engine_state state, int threads,
                                    const struct xg_problem *call)
{
    struct xg_situation now = {
        .now_s = now_s, .state = state, .cpu_threads = threads, .spin_s = spin_s, .cores_left = 64};
    struct xg_decision decision;
    memset(&decision, 0xff, sizeof decision);
    xg_decide(&policy, conf, &(struct xg_call){.problem = call}, &now, &decision);
    return decision;
}

/* Nothing spins for a second. */
static struct xg_decision decide(const struct xg_conf *conf, enum xg_engine_state state,
                                 const struct xg_problem *call)
{
    return decide_at(clock_s += 1.0, conf, state, 0, call);
}

static void observe(enum xg_side side, const struct xg_problem *call,
                    const struct xg_decision *decision, double seconds)
{
    xg_decide_observe(&policy, side, &(struct xg_call){.problem = call}, decision, seconds,
                      decision->begin_s + seconds);
}

/* As if the model alone had been asked. */
static struct xg_decision model_of(const struct xg_problem *call)
{
    double cpu_s = xg_model_cpu_seconds(&policy.model, call);
    double gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, call);
    return (struct xg_decision){.reason = XG_REASON_MODEL,
                                .begin_s = clock_s,
                                .known = xg_feedback_place(&(struct xg_call){.problem = call}),
                                .cpu_s = cpu_s,
                                .gpu_s = gpu_s,
                                .model_s = {cpu_s, gpu_s}};
}

/* The CPU takes `scale` times what is expected, for so many calls. */
static void run_cpu(const struct xg_problem *call, double scale, int calls)
{
    const struct xg_decision decision = model_of(call);
    double seconds = scale * xg_model_cpu_seconds(&policy.model, call);
    for (int i = 0; i < calls; i++)
        observe(XG_SIDE_CPU, call, &decision, seconds);
}

/* What is forwarded unasked would have stayed on the CPU, whatever its shape and the machine. */
static void test_floor(void)
{
    const struct xg_conf quiet = {.mode = XG_MODE_AUTO};
    const struct xg_problem small = shape(60, 60, 60);
    struct xg_conf conf = quiet;
    int below = 0;

    for (int cores = 1; cores <= 64; cores *= 4) {
        begin(cores);
        double unseen = xg_decide_floor_mnk(&policy, &quiet, XG_ENGINE_COLD);
        run_cpu(&small, 1.0, 8);
        double floor = xg_decide_floor_mnk(&policy, &quiet, XG_ENGINE_READY);
        XT_CHECK(unseen == 32768.0 && floor == 262144.0, "%d cores: %g, %g", cores, unseen, floor);
        for (int i = 0; i < 20 * 20 * 20; i++) {
            struct xg_problem call =
                shape((int64_t)1 << i % 20, (int64_t)1 << i / 20 % 20, (int64_t)1 << i / 400);

            if ((double)call.m * (double)call.n * (double)call.k >= floor)
                continue;
            below++;
            XT_CHECK(xg_model_cpu_seconds(&policy.model, &call) <
                         xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &call),
                     "%ld %ld %ld on %d cores", (long)call.m, (long)call.n, (long)call.k, cores);
        }
    }
    XT_CHECK(below > 1000, "%d", below);

    /* A plain loop: its small products are worth a question. */
    begin(16);
    run_cpu(&small, 40.0, 8);
    double slow = xg_decide_floor_mnk(&policy, &quiet, XG_ENGINE_READY);
    XT_CHECK(slow >= 32768.0 && slow < 100000.0, "%g", slow);
    conf.reproducible = 1;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_READY) == 262144.0, "by shape alone");

    XT_CHECK(xg_decide_floor_mnk(&policy, &quiet, XG_ENGINE_NONE) == HUGE_VAL, "no GPU");
    XT_CHECK(xg_decide_floor_mnk(&policy, &quiet, XG_ENGINE_FORKED) == HUGE_VAL, "no GPU here");
    conf = quiet;
    conf.stats = 1;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_NONE) == 0.0, "every call counts");
    conf.stats = 0;
    conf.account = "folder";
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_NONE) == 0.0, "in the account too");
    conf.account = NULL;
    conf.stats = 1;
    conf.mode = XG_MODE_CPU;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "cpu mode too");
    conf.stats = 0;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == HUGE_VAL, "cpu");
    conf.verbose = 1;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "a line a call");
    conf.verbose = 0;
    conf.mode = XG_MODE_GPU;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "gpu");
    conf.mode = XG_MODE_COMPARE;
    XT_CHECK(xg_decide_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "compare");
}

/* What is decided about the last of so many products in a row on the CPU, which is known. */
static struct xg_decision run_row(const struct xg_problem *call, double seconds, int calls)
{
    struct xg_decision decision = {.place = XG_PLACE_GPU};
    run_cpu(call, seconds / xg_model_cpu_seconds(&policy.model, call), 5);
    clock_s += 1.0;
    for (int i = 0; i < calls; i++) {
        decision = decide_at(clock_s, &automatic, XG_ENGINE_READY, 0, call);
        observe(XG_SIDE_CPU, call, &decision, seconds);
        clock_s += seconds;
    }
    return decision;
}

/* A short product that is where it belongs is not looked at each time; another one is. */
static void test_settled(void)
{
    enum { ROW = 40 };
    const struct xg_problem clear = shape(66, 66, 66), near = shape(256, 256, 256);
    const struct xg_problem slow = shape(1, 32768, 32768);

    begin(16);
    const struct xg_decision none = model_of(&near);
    XT_CHECK(!decide(&automatic, XG_ENGINE_READY, &near).settled, "never seen");
    struct xg_decision decision = run_row(&clear, 0.2 * model_of(&clear).cpu_s, ROW);
    XT_CHECK(decision.place == XG_PLACE_CPU && decision.settled, "far from the GPU");
    decision = decide(&(struct xg_conf){.reproducible = 1}, XG_ENGINE_READY, &clear);
    XT_CHECK(decision.place == XG_PLACE_CPU && !decision.settled, "one shape decides for others");
    decision = run_row(&near, 0.8 * none.gpu_s, ROW);
    XT_CHECK(decision.place == XG_PLACE_CPU && !decision.settled, "the GPU was never tried");
    decision = decide_at(clock_s, &automatic, XG_ENGINE_COLD, 0, &near);
    XT_CHECK(decision.settled, "there is no GPU to try");
    for (int i = 0; i < 4; i++)
        observe(XG_SIDE_GPU, &near, &none, 0.95 * none.gpu_s);
    decision = run_row(&near, 0.8 * none.gpu_s, ROW);
    XT_CHECK(decision.settled, "the GPU was tried");
    decision = run_row(&slow, model_of(&slow).cpu_s, ROW);
    XT_CHECK(decision.place == XG_PLACE_CPU && !decision.settled, "asking does not show");
    XT_CHECK(!decide(&automatic, XG_ENGINE_READY, &(struct xg_problem){0}).settled, "nothing");
}

/* Where no threads spin the slower side is tried now and then; what it takes decides from then on.
 */
static void test_trial(void)
{
    const struct xg_problem call = shape(180, 180, 180);
    int first = 0, tries = 0;
    begin(16);
    double cpu_s = xg_model_cpu_seconds(&policy.model, &call);
    double gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &call);
    XT_CHECK(cpu_s < gpu_s && gpu_s < 3 * cpu_s, "%g, %g: the shape is no test", cpu_s, gpu_s);
    double spent_s = 0, all_s = 0;
    for (int i = 0; i < 4000; i++) {
        struct xg_decision decision =
            decide_at(clock_s += 1, &automatic, XG_ENGINE_READY, 1, &call);
        bool gpu = decision.place == XG_PLACE_GPU;
        XT_CHECK(!decision.wakes, "one thread");
        observe(gpu ? XG_SIDE_GPU : XG_SIDE_CPU, &call, &decision, gpu ? gpu_s : cpu_s);
        spent_s += gpu ? gpu_s - cpu_s : 0;
        all_s += gpu ? gpu_s : cpu_s;
        first = first || !gpu ? first : i;
        tries += gpu;
        XT_CHECK(decide(&(struct xg_conf){.reproducible = 1}, XG_ENGINE_READY, &call).place ==
                     XG_PLACE_CPU,
                 "tried in reproducible mode");
    }
    XT_CHECK(first > 0 && first < 200 && tries > 2, "first %d, %d of 4000", first, tries);
    XT_CHECK_LE(spent_s, 0.02 * all_s, "%g of %g s", spent_s, all_s);
    for (int i = 0, gpu = 0; i < 20000 && gpu < 10; i++) {
        struct xg_decision decision =
            decide_at(clock_s += 1, &automatic, XG_ENGINE_READY, 1, &call);
        gpu = decision.place == XG_PLACE_GPU ? gpu + 1 : 0;
        observe(gpu ? XG_SIDE_GPU : XG_SIDE_CPU, &call, &decision, gpu ? 0.3 * cpu_s : cpu_s);
        XT_CHECK(i < 19999, "a GPU that became faster is never found");
    }
}

/* What the GPU takes while the CPU library's threads spin is not what it takes. */
static void test_disturbed(void)
{
    const struct xg_problem call = shape(1024, 1024, 1024);

    begin(16);
    double gpu_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &call);
    struct xg_decision decision = {.wakes = true};
    for (int i = 0; i < 10; i++) {
        decision = decide(&automatic, XG_ENGINE_READY, &call);
        observe(XG_SIDE_GPU, &call, &decision, gpu_s);
    }
    observe(XG_SIDE_CPU, &call, &decision, 2e-3);
    decision.begin_s = clock_s + 0.01;
    for (int i = 0; i < 10; i++)
        observe(XG_SIDE_GPU, &call, &decision, 5.0 * gpu_s);
    double now_gpu_s = decide(&automatic, XG_ENGINE_READY, &call).gpu_s;
    XT_CHECK_LE(now_gpu_s, 1.1 * gpu_s, "%g, not %g", now_gpu_s, gpu_s);
    for (int i = 0; i < 10; i++) {
        decision.begin_s = clock_s += 1.0;
        observe(XG_SIDE_GPU, &call, &decision, 5.0 * gpu_s);
    }
    now_gpu_s = decide(&automatic, XG_ENGINE_READY, &call).gpu_s;
    XT_CHECK_LE(3.0 * gpu_s, now_gpu_s, "%g, not %g: it is undisturbed", now_gpu_s, 5.0 * gpu_s);
}

/* In a phase on the GPU a small product goes there too, unless the CPU's threads do not spin. */
static void test_small_in_phase(void)
{
    const struct xg_problem large = shape(1024, 1024, 1024), small = shape(100, 100, 100);
    for (int threads = 1; threads <= 16; threads += 15) {
        begin(16);
        double now_s = clock_s + 10.0, gpu_s = 0;
        for (int i = 0; i < 20; i++, now_s += gpu_s) {
            struct xg_decision decision =
                decide_at(now_s, &automatic, XG_ENGINE_READY, threads, &large);
            gpu_s = decision.gpu_s;
            XT_CHECK(decision.place == XG_PLACE_GPU, "%d threads, call %d", threads, i);
            observe(XG_SIDE_GPU, &large, &decision, gpu_s);
        }
        struct xg_decision decision =
            decide_at(now_s, &automatic, XG_ENGINE_READY, threads, &small);
        XT_CHECK(decision.cpu_s < decision.gpu_s, "%g, %g", decision.cpu_s, decision.gpu_s);
        XT_CHECK((decision.place == XG_PLACE_GPU) == (threads > 1), "%d threads", threads);
        XT_CHECK(!(threads > 1 && decision.settled), "settled");
        clock_s = now_s;
    }
}

/* Threads that were told to spin for ever are no reason to wait for a lane, or to stay, for ever.
 */
static void test_endless_spin(void)
{
    const struct xg_problem call = shape(1024, 1024, 1024);
    begin(16);
    for (int i = 0; i < 10; i++) {
        const struct xg_situation now = {
            .now_s = clock_s, .state = XG_ENGINE_READY, .cpu_threads = 16, .spin_s = INFINITY};
        struct xg_decision decision;
        xg_decide(&policy, &automatic, &(struct xg_call){.problem = &call}, &now, &decision);
        XT_CHECK(decision.place == XG_PLACE_GPU && decision.waits_s < 2.0, "waits %g s",
                 decision.waits_s);
        observe(XG_SIDE_GPU, &call, &decision, decision.gpu_s);
        clock_s += decision.gpu_s;
    }
}

/* Makes the times of both sides known, the GPU's as a multiple of the CPU's, and no trial earned.
 */
static void know(const struct xg_problem *call, double gpu)
{
    const struct xg_decision none = model_of(call);
    for (int i = 0; i < 8; i++) {
        observe(XG_SIDE_CPU, call, &none, none.cpu_s);
        observe(XG_SIDE_GPU, call, &none, gpu * none.cpu_s);
    }
    for (int side = 0; side < XG_SIDE_COUNT; side++)
        xg_feedback_tries(&policy.feedback, (enum xg_side)side, &none.known, 0.0);
}

/* A reason names what has decided: the product's own times, or the products around it. */
static void test_reasons(void)
{
    const struct xg_problem call = shape(512, 512, 512), large = shape(2048, 2048, 2048);
    static const struct {
        double gpu;  /* of the CPU's time */
        int threads; /* of the CPU library */
        bool spins;  /* its threads do */
        bool phase;  /* on the GPU */
        enum xg_place place;
        enum xg_reason reason;
    } rows[] = {
        {0.5, 1, false, false, XG_PLACE_GPU, XG_REASON_MODEL},
        {0.95, 1, false, false, XG_PLACE_CPU, XG_REASON_MODEL}, /* hardly better */
        {0.5, 1, true, false, XG_PLACE_CPU, XG_REASON_PHASE},
        {1.5, 1, true, false, XG_PLACE_CPU, XG_REASON_MODEL},
        {0.5, 16, false, false, XG_PLACE_GPU, XG_REASON_MODEL},
        {0.5, 16, true, false, XG_PLACE_CPU, XG_REASON_PHASE},
        {1.5, 16, false, false, XG_PLACE_CPU, XG_REASON_MODEL},
        {1.5, 16, false, true, XG_PLACE_GPU, XG_REASON_PHASE},
        {1000.0, 16, false, true, XG_PLACE_CPU, XG_REASON_MODEL}, /* saves more than the spin */
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        begin(16);
        double now_s = clock_s += 10.0;
        spin_s = 5e-3;
        know(&call, rows[row].gpu);
        policy.phase = (struct xg_phase){.spin_s = spin_s};
        if (rows[row].phase) {
            struct xg_decision decision = decide_at(now_s, &automatic, XG_ENGINE_READY, 16, &large);
            XT_CHECK(decision.place == XG_PLACE_GPU, "row %d: no phase", (int)row);
            observe(XG_SIDE_GPU, &large, &decision, decision.gpu_s);
            now_s += decision.gpu_s;
        }
        if (rows[row].spins)
            xg_phase_wake(&policy.phase, now_s);
        struct xg_decision decision =
            decide_at(now_s, &automatic, XG_ENGINE_READY, rows[row].threads, &call);
        XT_CHECK(decision.place == rows[row].place && decision.reason == rows[row].reason,
                 "row %d: place %d, %s; %g and %g s", (int)row, decision.place,
                 xg_reason_text(decision.reason), decision.cpu_s, decision.gpu_s);
    }
}

/* Start-up is earned by what the GPU would have saved, and by nothing else. */
static void test_earning(void)
{
    const struct xg_problem cpu_call = shape(1, 8192, 8192);
    begin(16);
    for (int i = 0; i < 1000; i++) {
        struct xg_decision decision = decide(&automatic, XG_ENGINE_COLD, &cpu_call);
        XT_CHECK(!decision.start && decision.place == XG_PLACE_CPU, "earned by CPU products");
        observe(XG_SIDE_CPU, &cpu_call, &decision, decision.cpu_s);
    }
    XT_CHECK(policy.ledger.missed_s[GPU] == 0.0, "%g", policy.ledger.missed_s[GPU]);
}

/* At about 1.9 ms a call. */
static void test_price(void)
{
    static const struct {
        bool leaves;
        double spin_s;
        bool in_full;
        int least, most;
    } rows[] = {
        {false, 0, false, 100, 140},    /* 0.22 s: exit waits for the GPU */
        {false, 0.1, false, 200, 250},  /* and 0.2 s for a start among threads that spin */
        {false, 0.02, false, 120, 160}, /* twice that */
        {false, 10, false, 200, 250},   /* no more than 0.2 s */
        {true, 0, false, 20, 40},       /* exit does not wait */
        {true, 0.1, false, 120, 160},
        {true, 0, true, 190, 230}, /* 0.4 s, all that a start takes: the last one was in vain */
        {false, 0.1, true, 200, 250},
    };
    const struct xg_problem call = shape(1024, 1024, 1024);

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        int calls = 0;
        begin(16);
        spin_s = rows[row].spin_s;
        if (rows[row].leaves)
            xg_model_leave_exit(&policy.model);
        policy.ledger.pays_in_full = rows[row].in_full;
        for (bool started = false; !started && calls < 10000; calls++) {
            struct xg_decision decision = decide(&automatic, XG_ENGINE_COLD, &call);
            started = decision.start;
            XT_CHECK(decision.place == XG_PLACE_CPU && !decision.wait, "a wait");
            observe(XG_SIDE_CPU, &call, &decision, 2.3e-3);
        }
        XT_CHECK(calls >= rows[row].least && calls <= rows[row].most,
                 "row %d: started after %d calls", (int)row, calls);
    }
}

/* Sixteen threads at once, each with a thread of the library: two lanes save little of that. */
static void test_earning_at_once(void)
{
    const struct xg_problem call = shape(384, 384, 384);
    double earned_s[2];
    for (int crowd = 0; crowd < 2; crowd++) {
        begin(16);
        struct xg_situation now = {.now_s = clock_s += 1.0,
                                   .state = XG_ENGINE_COLD,
                                   .cpu_threads = 1,
                                   .spin_s = SPIN_S,
                                   .under_way = crowd ? 16 : 1,
                                   .cores_left = crowd ? 1 : 16};
        struct xg_decision decision;
        for (int i = 0; i < 10; i++) {
            xg_decide(&policy, &automatic, &(struct xg_call){.problem = &call}, &now, &decision);
            observe(XG_SIDE_CPU, &call, &decision, 1e-3);
        }
        earned_s[crowd] = policy.ledger.missed_s[GPU];
    }
    XT_CHECK(earned_s[0] > 1e-3, "%g", earned_s[0]);
    XT_CHECK_LE(earned_s[1], earned_s[0] / 40.0, "%g of %g", earned_s[1], earned_s[0]);
}

/* A product of a thread of its own, among so many, on 16 cores. */
static struct xg_decision decide_among(int under_way, double now_s, enum xg_engine_state state,
                                       const struct xg_problem *call)
{
    const struct xg_situation now = {.now_s = now_s,
                                     .state = state,
                                     .cpu_threads = 1,
                                     .under_way = under_way,
                                     .cores = 16,
                                     .cores_left = 16};
    struct xg_decision decision;
    xg_decide(&policy, &automatic, &(struct xg_call){.problem = call}, &now, &decision);
    return decision;
}

/* Threads that fill the cores wait for a start as long as it takes of one. */
static void test_crowd_pays_for_start(void)
{
    const struct xg_problem call = shape(1024, 1024, 1024);
    for (int crowd = 1; crowd <= 16; crowd += 15) {
        begin(16);
        xg_model_leave_exit(&policy.model);
        policy.ledger.missed_s[GPU] = policy.model.gpu_price_s;
        decide_among(crowd, 1.0, XG_ENGINE_COLD, &call);
        struct xg_decision now = decide_among(1, 1.01, XG_ENGINE_COLD, &call);
        XT_CHECK(now.start == (crowd == 1), "%d threads a moment ago", crowd);
        struct xg_decision late = decide_among(1, 9.0, XG_ENGINE_COLD, &call);
        XT_CHECK(late.start, "%d threads some time ago", crowd);
        policy.ledger.missed_s[GPU] += 0.21;
        XT_CHECK(decide_among(crowd, 10.0, XG_ENGINE_COLD, &call).start, "%d threads", crowd);
    }
}

/* What GPU and CPU take is expected with the cores that a crowd leaves, which is none. */
static void test_crowd_stages_alone(void)
{
    const struct xg_problem call = shape(1024, 1024, 256);
    begin(16);
    double few_s = decide_among(2, 1.0, XG_ENGINE_READY, &call).gpu_s;
    double many_s = decide_among(16, 1.0, XG_ENGINE_READY, &call).gpu_s;
    XT_CHECK(many_s > 2 * few_s, "%g s, and %g s among many", few_s, many_s);
}

/* A thread that can compute by itself does not queue for a lane behind more than one a lane. */
static void test_queue(void)
{
    const struct xg_problem call = shape(1024, 1024, 1024);
    begin(16);
    struct xg_decision alone = decide_among(2, 1.0, XG_ENGINE_READY, &call);
    XT_CHECK(alone.place == XG_PLACE_GPU && alone.cpu_s > 4 * alone.gpu_s, "%g, %g", alone.cpu_s,
             alone.gpu_s);
    XT_CHECK(alone.waits_s >= alone.gpu_s && alone.waits_s <= 2 * alone.gpu_s, "waits %g of %g s",
             alone.waits_s, alone.gpu_s);
    struct xg_decision all = decide_at(2.0, &automatic, XG_ENGINE_READY, 16, &call);
    XT_CHECK(all.waits_s >= all.cpu_s - all.gpu_s, "waits %g s", all.waits_s);
}

static void check(const struct xg_conf *conf, enum xg_engine_state state, double earned_s,
                  struct xg_problem call, enum xg_place place, enum xg_reason reason, bool start,
                  bool wait)
{
    begin(16);
    policy.ledger.missed_s[GPU] = earned_s;
    struct xg_decision d = decide(conf, state, &call);
    XT_CHECK(d.place == place && d.reason == reason && d.start == start && d.wait == wait,
             "mode %d state %d earned %g %ldx%ldx%ld: place %d, %s, start %d, wait %d", conf->mode,
             state, earned_s, (long)call.m, (long)call.n, (long)call.k, d.place,
             xg_reason_text(d.reason), d.start, d.wait);
}

static void test_auto(void)
{
    const struct xg_problem large = shape(4096, 4096, 4096), huge = shape(16384, 16384, 16384);
    const struct xg_problem small = shape(8, 8, 8), row = shape(1, 8192, 8192);
    const struct xg_problem medium = shape(2048, 2048, 2048);

    check(&automatic, XG_ENGINE_READY, 0, large, XG_PLACE_GPU, XG_REASON_MODEL, false, false);
    check(&automatic, XG_ENGINE_READY, 0, small, XG_PLACE_CPU, XG_REASON_SMALL, false, false);
    check(&automatic, XG_ENGINE_READY, 9, row, XG_PLACE_CPU, XG_REASON_MODEL, false, false);
    check(&automatic, XG_ENGINE_COLD, 0, medium, XG_PLACE_CPU, XG_REASON_EARNING, false, false);
    check(&automatic, XG_ENGINE_COLD, 0.35, large, XG_PLACE_CPU, XG_REASON_STARTING, true, false);
    check(&automatic, XG_ENGINE_COLD, 9, small, XG_PLACE_CPU, XG_REASON_SMALL, false, false);
    check(&automatic, XG_ENGINE_COLD, 9, row, XG_PLACE_CPU, XG_REASON_MODEL, false, false);
    check(&automatic, XG_ENGINE_STARTING, 9, large, XG_PLACE_CPU, XG_REASON_STARTING, false, false);
    check(&automatic, XG_ENGINE_NONE, 9, huge, XG_PLACE_CPU, XG_REASON_NO_GPU, false, false);
    check(&automatic, XG_ENGINE_FORKED, 9, huge, XG_PLACE_CPU, XG_REASON_FORKED, false, false);
    /* One product that saves more than all of start-up waits for it. */
    check(&automatic, XG_ENGINE_COLD, 0, huge, XG_PLACE_GPU, XG_REASON_MODEL, true, true);
    check(&automatic, XG_ENGINE_STARTING, 0, huge, XG_PLACE_GPU, XG_REASON_MODEL, false, true);
}

static void test_modes(void)
{
    const struct xg_conf cpu = {.mode = XG_MODE_CPU}, gpu = {.mode = XG_MODE_GPU};
    const struct xg_conf compare = {.mode = XG_MODE_COMPARE};
    const struct xg_problem large = shape(4096, 4096, 4096), one = shape(1, 1, 1);
    struct xg_problem zero_alpha = large;

    check(&cpu, XG_ENGINE_READY, 9, large, XG_PLACE_CPU, XG_REASON_MODE, false, false);
    check(&gpu, XG_ENGINE_COLD, 0, one, XG_PLACE_GPU, XG_REASON_MODE, true, true);
    check(&gpu, XG_ENGINE_STARTING, 0, one, XG_PLACE_GPU, XG_REASON_MODE, false, true);
    check(&gpu, XG_ENGINE_READY, 0, one, XG_PLACE_GPU, XG_REASON_MODE, false, true);
    check(&gpu, XG_ENGINE_NONE, 0, large, XG_PLACE_CPU, XG_REASON_NO_GPU, false, false);
    check(&gpu, XG_ENGINE_FORKED, 0, large, XG_PLACE_CPU, XG_REASON_FORKED, false, false);
    check(&compare, XG_ENGINE_COLD, 0, one, XG_PLACE_BOTH, XG_REASON_MODE, true, true);
    check(&compare, XG_ENGINE_NONE, 0, one, XG_PLACE_CPU, XG_REASON_NO_GPU, false, false);

    zero_alpha.alpha = 0.0f;
    check(&gpu, XG_ENGINE_READY, 0, zero_alpha, XG_PLACE_CPU, XG_REASON_DEGENERATE, false, false);
    check(&gpu, XG_ENGINE_READY, 0, shape(0, 5, 5), XG_PLACE_CPU, XG_REASON_DEGENERATE, false,
          false);
    check(&compare, XG_ENGINE_READY, 0, shape(5, 0, 5), XG_PLACE_CPU, XG_REASON_DEGENERATE, false,
          false);
    check(&gpu, XG_ENGINE_READY, 0, shape(5, 5, 0), XG_PLACE_CPU, XG_REASON_DEGENERATE, false,
          false);
}

/* What the GPU cannot compute has no other side: it neither moves a phase nor teaches anything. */
static void test_unserved(void)
{
    const struct xg_problem call = {.type = XG_TYPE_D, .m = 2000, .n = 2000, .k = 2000, .alpha = 1};
    const struct xg_conf conf = {.operations = XG_KINDS_ALL};
    struct xg_situation now = {.state = XG_ENGINE_READY,
                               .unserved = true,
                               .cpu_threads = 8,
                               .spin_s = SPIN_S,
                               .cores_left = 64};
    struct xg_policy before;
    begin(8);
    memcpy(&before, &policy, sizeof policy);
    for (int i = 0; i < 20; i++) {
        struct xg_decision decision;
        now.now_s = clock_s += 1.0;
        xg_decide(&policy, &conf, &(struct xg_call){.problem = &call}, &now, &decision);
        XT_CHECK(decision.place == XG_PLACE_CPU && decision.reason == XG_REASON_KERNEL,
                 "place %d, reason %d", (int)decision.place, (int)decision.reason);
        observe(XG_SIDE_CPU, &call, &decision, 0.5);
    }
    XT_CHECK(!memcmp(&before, &policy, sizeof policy), "something was learnt");
}

/* Observations, earned time and the engine's state do not change where a shape runs. */
static void test_reproducible(void)
{
    const struct xg_conf conf = {.reproducible = 1};
    static const enum xg_engine_state states[] = {XG_ENGINE_COLD, XG_ENGINE_STARTING,
                                                  XG_ENGINE_READY};
    const struct xg_problem calls[] = {shape(4096, 4096, 4096), shape(1, 8192, 8192),
                                       shape(8, 8, 8)};
    static const enum xg_place places[] = {XG_PLACE_GPU, XG_PLACE_CPU, XG_PLACE_CPU};

    for (int i = 0; i < 27; i++) {
        begin(16);
        const struct xg_decision none = model_of(&calls[0]);
        policy.ledger.missed_s[GPU] = i / 9;
        for (int o = 0; o < 40; o++) {
            observe(XG_SIDE_CPU, &calls[0], &none, i / 9 == 1 ? 1e-6 : 10.0);
            observe(XG_SIDE_GPU, &calls[0], &none, i / 9 == 1 ? 10.0 : 1e-6);
        }
        struct xg_decision d = decide(&conf, states[i / 3 % 3], &calls[i % 3]);
        XT_CHECK(d.place == places[i % 3], "%d: %d", i, d.place);
        XT_CHECK(d.wait == (d.place == XG_PLACE_GPU), "%d", i);
    }
}

int main(void)
{
    test_floor();
    test_settled();
    test_trial();
    test_disturbed();
    test_small_in_phase();
    test_endless_spin();
    test_reasons();
    test_earning();
    test_price();
    test_earning_at_once();
    test_crowd_pays_for_start();
    test_crowd_stages_alone();
    test_queue();
    test_auto();
    test_modes();
    test_unserved();
    test_reproducible();
    return xt_done();
}
