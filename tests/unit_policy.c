/* SPDX-License-Identifier: MIT */
/* policy: predictions against measured times, corrections, and the whole table of decisions. */
#include <math.h>

#include "src/policy.h"
#include "xt.h"

static struct xg_sgemm shape(int64_t m, int64_t n, int64_t k)
{
    struct xg_sgemm call = {.m = m, .n = n, .k = k, .alpha = 1.0f};

    return call;
}

/* OpenBLAS 0.3.26 on 16 cores, milliseconds. */
static void test_cpu_fit(void)
{
    static const struct {
        int64_t m, n, k;
        double ms;
    } measured[] = {
        {64, 64, 64, 0.0036},      {128, 128, 128, 0.046},    {256, 256, 256, 0.11},
        {512, 512, 512, 0.45},     {1000, 1000, 1000, 3.3},   {2048, 2048, 2048, 17.4},
        {4096, 4096, 4096, 120.0}, {8192, 8192, 8192, 942.0}, {8192, 4096, 64, 6.3},
        {64, 8192, 8192, 12.2},    {1, 8192, 8192, 6.2},      {100000, 64, 64, 2.4},
        {128, 128, 100000, 14.8},  {512, 4096, 1024, 4.6},    {3000, 777, 1533, 8.2},
    };
    struct xg_machine machine;

    xg_machine_init(&machine, 16);
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        struct xg_sgemm call = shape(measured[i].m, measured[i].n, measured[i].k);
        double ratio = xg_policy_cpu_seconds(&machine, &call) * 1e3 / measured[i].ms;

        XT_CHECK(ratio >= 0.6 && ratio <= 1.5, "%ld,%ld,%ld: %.2f of %g ms", (long)measured[i].m,
                 (long)measured[i].n, (long)measured[i].k, ratio, measured[i].ms);
    }
}

/* Never below what the link and the arithmetic allow, and within reach of it for large products. */
static void test_gpu_floor(void)
{
    struct xg_machine machine;

    xg_machine_init(&machine, 16);
    for (int64_t size = 1; size <= 16384; size *= 2) {
        struct xg_sgemm call = shape(size, size, size);
        double elements = (double)size * (double)size;
        double floor = fmax(8.0 * elements / machine.up_bytes_per_s,
                            2.0 * elements * (double)size / machine.gpu_flops);
        double predicted = xg_policy_gpu_seconds(&machine, &call);

        XT_CHECK(predicted > floor, "%ld", (long)size);
        XT_CHECK(size < 2048 || predicted < 1.7 * floor, "%ld: %g of %g", (long)size, predicted,
                 floor);
    }
}

static void test_extremes(void)
{
    static const int64_t sizes[] = {1, 7, 4096, INT32_MAX, (int64_t)1 << 40};
    struct xg_machine machine;

    for (int cores = 0; cores <= 256; cores = 2 * cores + 1) {
        xg_machine_init(&machine, cores);
        for (int i = 0; i < 125; i++) {
            struct xg_sgemm call = shape(sizes[i % 5], sizes[i / 5 % 5], sizes[i / 25]);
            double cpu = xg_policy_cpu_seconds(&machine, &call);
            double gpu = xg_policy_gpu_seconds(&machine, &call);

            XT_CHECK(isfinite(cpu) && cpu > 0.0, "%d cores: %g", cores, cpu);
            XT_CHECK(isfinite(gpu) && gpu > 0.0, "%d cores: %g", cores, gpu);
        }
    }
}

/* The model comes to what is measured, in steps of at most 2, and one outlier hardly moves it. */
static void test_observe(void)
{
    struct xg_machine machine;
    struct xg_sgemm call = shape(1000, 1000, 1000), small = shape(8, 8, 8);
    double first, before, after;

    xg_machine_init(&machine, 16);
    first = xg_policy_cpu_seconds(&machine, &call);
    for (int i = 0; i < 60; i++) {
        before = xg_policy_cpu_seconds(&machine, &call);
        xg_policy_observe_cpu(&machine, &call, 100.0 * first);
        after = xg_policy_cpu_seconds(&machine, &call);
        XT_CHECK(after >= before * (1.0 - 1e-9) && after <= 2.0 * before, "%g to %g", before,
                 after);
    }
    XT_CHECK(fabs(after / (100.0 * first) - 1.0) < 0.05, "%g", after / first);
    xg_policy_observe_cpu(&machine, &call, 1e9);
    XT_CHECK_LE(xg_policy_cpu_seconds(&machine, &call), 1.16 * after, "outlier");

    before = xg_policy_cpu_seconds(&machine, &call);
    xg_policy_observe_cpu(&machine, &call, 0.0);
    xg_policy_observe_cpu(&machine, &call, -1.0);
    xg_policy_observe_cpu(&machine, &call, NAN);
    xg_policy_observe_cpu(&machine, &call, INFINITY);
    call.k = 0;
    xg_policy_observe_cpu(&machine, &call, 1.0);
    call.k = 1000;
    XT_CHECK(xg_policy_cpu_seconds(&machine, &call) == before, "nonsense moves nothing");
    for (int i = 0; i < 100; i++)
        xg_policy_observe_cpu(&machine, &small, 1e-3);
    XT_CHECK(xg_policy_cpu_seconds(&machine, &call) == before, "small products move nothing");

    before = xg_policy_gpu_seconds(&machine, &call);
    xg_policy_observe_gpu(&machine, &call, 5.0);
    XT_CHECK(xg_policy_gpu_seconds(&machine, &call) == before, "the first GPU call is ignored");
    xg_policy_observe_gpu(&machine, &call, 1.5 * before);
    XT_CHECK(fabs(xg_policy_gpu_seconds(&machine, &call) / before - 1.5) < 1e-9,
             "the second counts");
}

/* No product below the floor is predicted to pay on the GPU, on whatever number of cores. */
static void test_floor(void)
{
    struct xg_conf conf = {0};
    struct xg_machine machine;
    double floor = xg_policy_floor_mnk(&conf);
    int below = 0;

    XT_CHECK(floor >= 32.0 * 32.0 * 32.0 && floor <= 128.0 * 128.0 * 128.0, "%g", floor);
    for (int cores = 1; cores <= 64; cores *= 4) {
        xg_machine_init(&machine, cores);
        for (int i = 0; i < 20 * 20 * 20; i++) {
            struct xg_sgemm call =
                shape((int64_t)1 << i % 20, (int64_t)1 << i / 20 % 20, (int64_t)1 << i / 400);

            if ((double)call.m * (double)call.n * (double)call.k >= floor)
                continue;
            below++;
            XT_CHECK(xg_policy_cpu_seconds(&machine, &call) <
                         xg_policy_gpu_seconds(&machine, &call),
                     "%ld %ld %ld on %d cores", (long)call.m, (long)call.n, (long)call.k, cores);
        }
    }
    XT_CHECK(below > 1000, "%d", below);

    conf.stats = 1;
    XT_CHECK(xg_policy_floor_mnk(&conf) == 0.0, "statistics count every call");
    conf.mode = XG_MODE_CPU;
    XT_CHECK(xg_policy_floor_mnk(&conf) == 0.0, "cpu mode too");
    conf.stats = 0;
    XT_CHECK(xg_policy_floor_mnk(&conf) == HUGE_VAL, "cpu");
    conf.verbose = 1;
    XT_CHECK(xg_policy_floor_mnk(&conf) == 0.0, "a line a call");
    conf.verbose = 0;
    conf.mode = XG_MODE_GPU;
    XT_CHECK(xg_policy_floor_mnk(&conf) == 0.0, "gpu");
    conf.mode = XG_MODE_COMPARE;
    XT_CHECK(xg_policy_floor_mnk(&conf) == 0.0, "compare");
}

static void check(const struct xg_conf *conf, enum xg_engine_state state, double earned_s,
                  struct xg_sgemm call, enum xg_place place, enum xg_reason reason, bool start,
                  bool wait)
{
    struct xg_machine machine;
    struct xg_decision d;

    xg_machine_init(&machine, 16);
    memset(&d, 0xff, sizeof d);
    xg_policy_decide(&machine, conf, state, earned_s, &call, &d);
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
        struct xg_machine machine;
        struct xg_decision d;

        xg_machine_init(&machine, 16);
        for (int o = 0; o < 40; o++) {
            xg_policy_observe_cpu(&machine, &calls[0], i / 9 == 1 ? 1e-6 : 10.0);
            xg_policy_observe_gpu(&machine, &calls[0], i / 9 == 1 ? 10.0 : 1e-6);
        }
        xg_policy_decide(&machine, &conf, states[i / 3 % 3], i / 9, &calls[i % 3], &d);
        XT_CHECK(d.place == places[i % 3], "%d: %d", i, d.place);
        XT_CHECK(d.wait == (d.place == XG_PLACE_GPU), "%d", i);
    }
}

int main(void)
{
    test_cpu_fit();
    test_gpu_floor();
    test_extremes();
    test_observe();
    test_floor();
    test_auto();
    test_modes();
    test_reproducible();
    return xt_done();
}
