/* SPDX-License-Identifier: MIT */
/* policy among pools of threads that wake and spin: what a start must earn, and which side is
 * tried. */
#include "src/decide/policy.h"
#include "tests/support/xt.h"

static struct xg_policy policy;
static double clock_s;
static const struct xg_conf conf = {.mode = XG_MODE_AUTO};

static void begin(void)
{
    policy = (struct xg_policy){0};
    xg_model_init(&policy.model, 16);
}

static struct xg_problem square(int64_t n)
{
    return (struct xg_problem){.m = n, .n = n, .k = n, .alpha = 1};
}

/*
 * PyTorch's training: products of 1.5 ms whose threads the program's other loops keep spinning. A
 * GPU among those gains nothing, so nothing is started; nor is a large product held back.
 */
static void test_shared_pool(void)
{
    static const struct {
        int64_t n;
        bool shared;
        double spin_s, took_s;
        bool starts;
    } rows[] = {
        {1000, true, 6e-3, 1.5e-3, false},
        {1000, false, 6e-3, 1.5e-3, true},
        {1000, true, 0.2e-3, 1.5e-3, true}, /* quiet, as xgemm-run has them */
        {3000, true, 6e-3, 44e-3, true},    /* takes longer than they spin */
    };

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const struct xg_problem call = square(rows[row].n);
        struct xg_situation now = {.state = XG_ENGINE_COLD,
                                   .cpu_threads = 16,
                                   .spin_s = rows[row].spin_s,
                                   .pool_is_shared = rows[row].shared,
                                   .cores_left = 16};
        bool started = false;
        begin();
        for (int i = 0; i < 2000 && !started; i++) {
            struct xg_decision decision;
            now.now_s = clock_s += 2.0 * rows[row].took_s;
            xg_policy_decide(&policy, &conf, &call, &now, &decision);
            started = decision.start;
            xg_policy_observe(&policy, XG_SIDE_CPU, &call, &decision, rows[row].took_s,
                              now.now_s + rows[row].took_s);
        }
        XT_CHECK(started == rows[row].starts, "row %d: %s", (int)row,
                 started ? "started" : "not started");
    }
}

/*
 * The GPU was slow at first, while the program's threads filled the cores, and is not any more. The
 * CPU's threads are asleep when each product begins, so a trial costs that product alone.
 */
static void test_slow_at_first(void)
{
    enum { CALLS = 3000, SLOW = 6, LAST = 500 };
    const struct xg_problem call = square(1000);
    struct xg_situation now = {
        .state = XG_ENGINE_READY, .cpu_threads = 16, .spin_s = 0.2e-3, .cores_left = 16};
    int on_gpu = 0, last_on_gpu = 0;

    begin();
    for (int i = 0; i < CALLS; i++) {
        struct xg_decision decision;
        now.now_s = clock_s += 5e-3;
        xg_policy_decide(&policy, &conf, &call, &now, &decision);
        bool gpu = decision.place == XG_PLACE_GPU;
        on_gpu += gpu;
        last_on_gpu += gpu && i >= CALLS - LAST;
        double gpu_s = on_gpu <= SLOW ? 3e-3 : 0.4e-3, took_s = gpu ? gpu_s : 1e-3;
        xg_policy_observe(&policy, gpu ? XG_SIDE_GPU : XG_SIDE_CPU, &call, &decision, took_s,
                          now.now_s + took_s);
    }
    XT_CHECK(last_on_gpu > LAST * 9 / 10, "%d of the last %d", last_on_gpu, (int)LAST);
}

int main(void)
{
    test_shared_pool();
    test_slow_at_first();
    return xt_done();
}
