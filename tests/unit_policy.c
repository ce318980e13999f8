/* SPDX-License-Identifier: MIT */
/* policy: the whole table of decisions, what start-up earns, and what is not asked about. */
#include <math.h>

#include "src/policy.h"
#include "xt.h"

static struct xg_sgemm shape(int64_t m, int64_t n, int64_t k)
{
    struct xg_sgemm call = {.m = m, .n = n, .k = k, .alpha = 1.0f};

    return call;
}

static struct xg_policy policy;
static double clock_s;

static void begin(int cores)
{
    memset(&policy, 0, sizeof policy);
    xg_machine_init(&policy.machine, cores);
}

static struct xg_decision decide(const struct xg_conf *conf, enum xg_engine_state state,
                                 const struct xg_sgemm *call)
{
    struct xg_decision decision;
    memset(&decision, 0xff, sizeof decision);
    clock_s += 1.0; /* nothing spins that long */
    xg_policy_decide(&policy, conf, state, call, clock_s, &decision);
    return decision;
}

static struct xg_decision decide_at(double now_s, const struct xg_sgemm *call)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    struct xg_decision decision;
    xg_policy_decide(&policy, &conf, XG_ENGINE_READY, call, now_s, &decision);
    return decision;
}

/* The CPU takes `scale` times what is expected, for so many calls. */
static void run_cpu(const struct xg_sgemm *call, double scale, int calls)
{
    const struct xg_decision decision = {.reason = XG_REASON_MODEL};
    double seconds = scale * xg_machine_cpu_seconds(&policy.machine, call);
    for (int i = 0; i < calls; i++)
        xg_policy_observe_cpu(&policy, call, &decision, seconds, clock_s);
}

/* What is forwarded unasked would have stayed on the CPU, whatever its shape and the machine. */
static void test_floor(void)
{
    const struct xg_conf quiet = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm small = shape(60, 60, 60);
    struct xg_conf conf = quiet;
    int below = 0;

    for (int cores = 1; cores <= 64; cores *= 4) {
        begin(cores);
        double unseen = xg_policy_floor_mnk(&policy, &quiet, XG_ENGINE_COLD);
        run_cpu(&small, 1.0, 8);
        double floor = xg_policy_floor_mnk(&policy, &quiet, XG_ENGINE_READY);
        XT_CHECK(unseen == 32768.0 && floor == 262144.0, "%d cores: %g, %g", cores, unseen, floor);
        for (int i = 0; i < 20 * 20 * 20; i++) {
            struct xg_sgemm call =
                shape((int64_t)1 << i % 20, (int64_t)1 << i / 20 % 20, (int64_t)1 << i / 400);

            if ((double)call.m * (double)call.n * (double)call.k >= floor)
                continue;
            below++;
            XT_CHECK(xg_machine_cpu_seconds(&policy.machine, &call) <
                         xg_machine_gpu_seconds(&policy.machine, XG_MATH_ACCURATE, &call),
                     "%ld %ld %ld on %d cores", (long)call.m, (long)call.n, (long)call.k, cores);
        }
    }
    XT_CHECK(below > 1000, "%d", below);

    /* A plain loop: its small products are worth a question. */
    begin(16);
    run_cpu(&small, 40.0, 8);
    double slow = xg_policy_floor_mnk(&policy, &quiet, XG_ENGINE_READY);
    XT_CHECK(slow >= 32768.0 && slow < 100000.0, "%g", slow);
    conf.reproducible = 1;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_READY) == 262144.0, "by shape alone");

    XT_CHECK(xg_policy_floor_mnk(&policy, &quiet, XG_ENGINE_NONE) == HUGE_VAL, "no GPU");
    XT_CHECK(xg_policy_floor_mnk(&policy, &quiet, XG_ENGINE_FORKED) == HUGE_VAL, "no GPU here");
    conf = quiet;
    conf.stats = 1;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_NONE) == 0.0, "every call counts");
    conf.mode = XG_MODE_CPU;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "cpu mode too");
    conf.stats = 0;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == HUGE_VAL, "cpu");
    conf.verbose = 1;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "a line a call");
    conf.verbose = 0;
    conf.mode = XG_MODE_GPU;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "gpu");
    conf.mode = XG_MODE_COMPARE;
    XT_CHECK(xg_policy_floor_mnk(&policy, &conf, XG_ENGINE_COLD) == 0.0, "compare");
}

/* A short product that is where it belongs is not looked at each time; another one is. */
static void test_settled(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm clear = shape(66, 66, 66), near = shape(256, 256, 256);
    const struct xg_sgemm slow = shape(1, 32768, 32768);
    const struct xg_decision none = {.reason = XG_REASON_MODEL};

    begin(16);
    XT_CHECK(!decide(&conf, XG_ENGINE_READY, &near).settled, "never seen");
    run_cpu(&clear, 0.2, 5);
    struct xg_decision decision = decide(&conf, XG_ENGINE_READY, &clear);
    XT_CHECK(decision.place == XG_PLACE_CPU && decision.settled, "far from the GPU");
    decision = decide(&(struct xg_conf){.reproducible = 1}, XG_ENGINE_READY, &clear);
    XT_CHECK(decision.place == XG_PLACE_CPU && !decision.settled, "one shape decides for others");
    run_cpu(&near, 0.6, 5);
    XT_CHECK(!decide(&conf, XG_ENGINE_READY, &near).settled, "the GPU was never tried");
    XT_CHECK(decide(&conf, XG_ENGINE_COLD, &near).settled, "there is no GPU to try");
    for (int i = 0; i < 4; i++)
        xg_policy_observe_gpu(&policy, &conf, &near, &none, 2e-4);
    run_cpu(&near, 0.6, 1);
    XT_CHECK(decide(&conf, XG_ENGINE_READY, &near).settled, "the GPU was tried");
    run_cpu(&slow, 1.0, 5);
    XT_CHECK(!decide(&conf, XG_ENGINE_READY, &slow).settled, "asking does not show");
    XT_CHECK(!decide(&conf, XG_ENGINE_READY, &(struct xg_sgemm){0}).settled, "nothing");
}

/* The slower side is tried now and then, and what it takes decides from then on. */
static void test_trial(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm call = shape(180, 180, 180);
    double cpu_s, gpu_s;
    int first = 0, tries = 0;

    begin(16);
    cpu_s = xg_machine_cpu_seconds(&policy.machine, &call);
    gpu_s = xg_machine_gpu_seconds(&policy.machine, XG_MATH_ACCURATE, &call);
    XT_CHECK(cpu_s < gpu_s && gpu_s < 3 * cpu_s, "%g, %g: the shape is no test", cpu_s, gpu_s);
    for (int i = 0; i < 1000; i++) {
        struct xg_decision decision = decide(&conf, XG_ENGINE_READY, &call);
        if (decision.place == XG_PLACE_CPU) {
            xg_policy_observe_cpu(&policy, &call, &decision, cpu_s, clock_s);
        } else {
            tries++;
            first = first ? first : i;
            xg_policy_observe_gpu(&policy, &conf, &call, &decision, gpu_s);
        }
        XT_CHECK(decide(&(struct xg_conf){.reproducible = 1}, XG_ENGINE_READY, &call).place ==
                     XG_PLACE_CPU,
                 "tried in reproducible mode");
    }
    XT_CHECK(first > 0 && first < 50 && tries < 40, "first %d, %d of 1000", first, tries);
    for (int i = 0, gpu = 0; i < 2000 && gpu < 10; i++) {
        struct xg_decision decision = decide(&conf, XG_ENGINE_READY, &call);
        gpu = decision.place == XG_PLACE_GPU ? gpu + 1 : 0;
        if (gpu)
            xg_policy_observe_gpu(&policy, &conf, &call, &decision, 0.3 * cpu_s);
        else
            xg_policy_observe_cpu(&policy, &call, &decision, cpu_s, clock_s);
        XT_CHECK(i < 1999, "a GPU that became faster is never found");
    }
}

/* What the GPU takes while the CPU library's threads spin is not what it takes. */
static void test_disturbed(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm call = shape(1024, 1024, 1024), other = shape(128, 128, 128);
    const struct xg_decision none = {.reason = XG_REASON_MODEL};
    double now_s = 10.0;

    begin(16);
    double gpu_s = xg_machine_gpu_seconds(&policy.machine, XG_MATH_ACCURATE, &call);
    for (int i = 0; i < 10; i++, now_s += gpu_s) {
        struct xg_decision decision = decide_at(now_s, &call);
        XT_CHECK(decision.place == XG_PLACE_GPU && !decision.disturbed, "quiet, call %d", i);
        xg_policy_observe_gpu(&policy, &conf, &call, &decision, gpu_s);
    }
    xg_policy_observe_cpu(&policy, &other, &none, 1e-4, now_s);
    for (int i = 0, disturbed = 0; i < 200; i++) {
        struct xg_decision decision = decide_at(now_s, &call);
        double seconds = decision.disturbed ? 3.0 * gpu_s : gpu_s;
        disturbed += decision.disturbed;
        XT_CHECK(decision.place == XG_PLACE_GPU, "call %d fled", i);
        XT_CHECK(decision.gpu_s < 1.1 * gpu_s, "call %d: %g, not %g", i, decision.gpu_s, gpu_s);
        now_s += seconds;
        xg_policy_observe_gpu(&policy, &conf, &call, &decision, seconds);
        double spun = XG_MACHINE_SPIN_S / (3.0 * gpu_s);
        XT_CHECK(i < 199 || fabs(disturbed - spun) < 10, "%d disturbed, not %g", disturbed, spun);
    }
}

/* The CPU's first call after a while wakes threads: that is not its time, but no excuse for more.
 */
static void test_wake(void)
{
    const struct xg_sgemm call = shape(512, 512, 512);
    for (int slow = 0; slow < 2; slow++) {
        begin(16);
        double cpu_s = xg_machine_cpu_seconds(&policy.machine, &call), now_s = 10.0;
        for (int i = 0; i < 10; i++, now_s += 1.0) {
            struct xg_decision decision = decide_at(now_s, &call);
            double seconds = slow ? 100.0 * cpu_s : cpu_s + 0.2e-3;
            xg_policy_observe_cpu(&policy, &call, &decision, seconds, now_s);
        }
        double learnt = decide_at(now_s, &call).cpu_s / cpu_s;
        XT_CHECK(slow ? learnt > 50.0 : learnt < 1.1, "%s: %g", slow ? "slow" : "woken", learnt);
    }
}

/* Among products that stay on the CPU it is what the GPU takes; and when they end, no longer. */
static void test_flight(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm call = shape(41, 5179, 3434), other = shape(128, 128, 128);
    const struct xg_decision none = {.reason = XG_REASON_MODEL};
    double now_s = 10.0, fled = 0;

    begin(16);
    double gpu_s = xg_machine_gpu_seconds(&policy.machine, XG_MATH_ACCURATE, &call);
    double cpu_s = 2.0 * gpu_s;
    for (int i = 0; i < 8000; i++) {
        bool mixed = i < 2000;
        if (mixed)
            xg_policy_observe_cpu(&policy, &other, &none, 1e-4, now_s);
        struct xg_decision decision = decide_at(now_s, &call);
        bool cpu = decision.place == XG_PLACE_CPU;
        double seconds = cpu ? cpu_s : decision.disturbed ? 4.0 * gpu_s : gpu_s;
        now_s += seconds;
        fled += cpu && mixed && i >= 1000;
        XT_CHECK(!cpu || i < 7900, "call %d is still on the CPU", i);
        if (cpu)
            xg_policy_observe_cpu(&policy, &call, &decision, seconds, now_s);
        else
            xg_policy_observe_gpu(&policy, &conf, &call, &decision, seconds);
    }
    XT_CHECK(fled >= 900, "%g of 1000 fled", fled);
}

/* A trial of the CPU is paid for with what its threads take afterwards. */
static void test_spin_price(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm call = shape(1024, 1024, 1024);
    int first[2];

    for (int threads = 0; threads < 2; threads++) {
        begin(16);
        double gpu_s = xg_machine_gpu_seconds(&policy.machine, XG_MATH_ACCURATE, &call);
        if (!threads)
            policy.machine.cpu_threads = 1;
        for (first[threads] = 0; first[threads] < 5000; first[threads]++) {
            struct xg_decision decision = decide(&conf, XG_ENGINE_READY, &call);
            if (decision.place == XG_PLACE_CPU)
                break;
            xg_policy_observe_gpu(&policy, &conf, &call, &decision, gpu_s);
        }
    }
    XT_CHECK(first[0] > 10 && first[0] < 200, "no threads: after %d calls", first[0]);
    XT_CHECK(first[1] > 5 * first[0] && first[1] < 5000, "threads: after %d calls", first[1]);
}

/* Start-up is earned by what the GPU would have saved, and by nothing else. */
static void test_earning(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm call = shape(1024, 1024, 1024), cpu_call = shape(1, 8192, 8192);
    int calls = 0;

    begin(16);
    for (int i = 0; i < 1000; i++) {
        struct xg_decision decision = decide(&conf, XG_ENGINE_COLD, &cpu_call);
        XT_CHECK(!decision.start && decision.place == XG_PLACE_CPU, "earned by CPU products");
        xg_policy_observe_cpu(&policy, &cpu_call, &decision, decision.cpu_s, clock_s);
    }
    XT_CHECK(policy.earned_s == 0.0, "%g", policy.earned_s);
    for (bool started = false; !started && calls < 10000; calls++) {
        struct xg_decision decision = decide(&conf, XG_ENGINE_COLD, &call);
        started = decision.start;
        XT_CHECK(decision.place == XG_PLACE_CPU && !decision.wait, "a wait");
        xg_policy_observe_cpu(&policy, &call, &decision, 2.3e-3, clock_s);
    }
    /* 0.5 s, at about 1.9 ms a call. */
    XT_CHECK(calls > 200 && calls < 400, "started after %d calls", calls);
}

static void check(const struct xg_conf *conf, enum xg_engine_state state, double earned_s,
                  struct xg_sgemm call, enum xg_place place, enum xg_reason reason, bool start,
                  bool wait)
{
    begin(16);
    policy.earned_s = earned_s;
    struct xg_decision d = decide(conf, state, &call);
    XT_CHECK(d.place == place && d.reason == reason && d.start == start && d.wait == wait,
             "mode %d state %d earned %g %ldx%ldx%ld: place %d, %s, start %d, wait %d", conf->mode,
             state, earned_s, (long)call.m, (long)call.n, (long)call.k, d.place,
             xg_reason_text(d.reason), d.start, d.wait);
}

static void test_auto(void)
{
    const struct xg_conf conf = {.mode = XG_MODE_AUTO};
    const struct xg_sgemm large = shape(4096, 4096, 4096), huge = shape(16384, 16384, 16384);
    const struct xg_sgemm small = shape(8, 8, 8), row = shape(1, 8192, 8192);

    check(&conf, XG_ENGINE_READY, 0, large, XG_PLACE_GPU, XG_REASON_MODEL, false, false);
    check(&conf, XG_ENGINE_READY, 0, small, XG_PLACE_CPU, XG_REASON_SMALL, false, false);
    check(&conf, XG_ENGINE_READY, 9, row, XG_PLACE_CPU, XG_REASON_MODEL, false, false);
    check(&conf, XG_ENGINE_COLD, 0, large, XG_PLACE_CPU, XG_REASON_EARNING, false, false);
    check(&conf, XG_ENGINE_COLD, 0.49, large, XG_PLACE_CPU, XG_REASON_STARTING, true, false);
    check(&conf, XG_ENGINE_COLD, 9, small, XG_PLACE_CPU, XG_REASON_SMALL, false, false);
    check(&conf, XG_ENGINE_COLD, 9, row, XG_PLACE_CPU, XG_REASON_MODEL, false, false);
    check(&conf, XG_ENGINE_STARTING, 9, large, XG_PLACE_CPU, XG_REASON_STARTING, false, false);
    check(&conf, XG_ENGINE_NONE, 9, huge, XG_PLACE_CPU, XG_REASON_NO_GPU, false, false);
    check(&conf, XG_ENGINE_FORKED, 9, huge, XG_PLACE_CPU, XG_REASON_FORKED, false, false);
    /* One product that saves more than all of start-up waits for it. */
    check(&conf, XG_ENGINE_COLD, 0, huge, XG_PLACE_GPU, XG_REASON_MODEL, true, true);
    check(&conf, XG_ENGINE_STARTING, 0, huge, XG_PLACE_GPU, XG_REASON_MODEL, false, true);
}

static void test_modes(void)
{
    const struct xg_conf cpu = {.mode = XG_MODE_CPU}, gpu = {.mode = XG_MODE_GPU};
    const struct xg_conf compare = {.mode = XG_MODE_COMPARE};
    const struct xg_sgemm large = shape(4096, 4096, 4096), one = shape(1, 1, 1);
    struct xg_sgemm zero_alpha = large;

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

/* Neither what was observed nor what was earned nor the engine's state changes where a shape runs.
 */
static void test_reproducible(void)
{
    const struct xg_conf conf = {.reproducible = 1};
    static const enum xg_engine_state states[] = {XG_ENGINE_COLD, XG_ENGINE_STARTING,
                                                  XG_ENGINE_READY};
    const struct xg_sgemm calls[] = {shape(4096, 4096, 4096), shape(1, 8192, 8192), shape(8, 8, 8)};
    static const enum xg_place places[] = {XG_PLACE_GPU, XG_PLACE_CPU, XG_PLACE_CPU};

    for (int i = 0; i < 27; i++) {
        const struct xg_decision none = {.reason = XG_REASON_MODEL};

        begin(16);
        policy.earned_s = i / 9;
        for (int o = 0; o < 40; o++) {
            xg_policy_observe_cpu(&policy, &calls[0], &none, i / 9 == 1 ? 1e-6 : 10.0, clock_s);
            xg_policy_observe_gpu(&policy, &conf, &calls[0], &none, i / 9 == 1 ? 10.0 : 1e-6);
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
    test_wake();
    test_flight();
    test_spin_price();
    test_earning();
    test_auto();
    test_modes();
    test_reproducible();
    return xt_done();
}
