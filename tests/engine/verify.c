/* SPDX-License-Identifier: MIT */
/* A device computes wrong results and reports no error: XGEMM_VERIFY finds and corrects them.
 * Contract 9.6. */
#include <pthread.h>

#include "scenario.h"
#include "src/dispatch.h"
#include "src/engine/engine.h"
#include "src/verify/verify.h"
#include "tests/support/guarded.h"
#include "tests/support/threads.h"
#include "tests/support/typed.h"

static struct fakecuda fake;
static const struct fx_shape shape = {120, 150, 70, true, false, 1.5f, 0.5f, 1};

static void begin(void)
{
    fake = fx_fake();
}

/* Runs the product, whose result must be right. Returns whether the program's own library computed
 * all of it. */
static bool run(const struct fx_shape *of, uint64_t seed)
{
    static pthread_mutex_t checks = PTHREAD_MUTEX_INITIALIZER; /* for the counts of checks */
    struct fx_product product = fx_product_create(of, seed);
    struct xg_cpu cpu = fx_product_cpu(&product);
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    pthread_mutex_lock(&checks);
    fx_product_check(&product, 1, "verified");
    XT_CHECK(product.count.parts == 0 && product.count.wholes <= 1, "%ld wholes, %ld parts",
             product.count.wholes, product.count.parts);
    pthread_mutex_unlock(&checks);
    bool by_cpu = product.count.wholes;
    fx_product_destroy(&product);
    return by_cpu;
}

static void flip(long nth, int bit)
{
    fake.fail("flip", nth, bit, FAKECUDA_ONCE);
}

/* Without verification the wrong result is not found. This shows that the faults of the other
 * scenarios take effect. */
static void unnoticed(void)
{
    struct fx_product product = fx_product_create(&shape, 3);
    struct xg_cpu cpu = fx_product_cpu(&product);
    begin();
    flip(1, 30);
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(!(fx_error(&product, 1) <= 1.0) && fx_padding_intact(&product), "no bit was flipped");
    XT_CHECK(product.count.wholes == 0 && fake.faults("flip") == 1, "%ld by the CPU",
             product.count.wholes);
    fx_product_destroy(&product);
}

/* Sign, exponent and the upper bits of the fraction; all transposes, with and without C. */
static void found(void)
{
    static const int bits[] = {31, 30, 29, 26, 23};
    begin();
    for (int i = 0; i < 40; i++) {
        struct fx_shape of = shape;
        of.transa = i & 1;
        of.transb = i >> 1 & 1;
        of.beta = i & 4 ? 0.5f : 0;
        of.pad = i % 3;
        flip(1, bits[i % 5]);
        XT_CHECK(run(&of, (uint64_t)i), "bit %d: not found", bits[i % 5]);
        XT_CHECK(!run(&of, (uint64_t)i), "computed again though right");
    }
    XT_CHECK(fake.faults("flip") == 40, "%ld faults", fake.faults("flip"));
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "given up");
}

/* Runs one product of doubles with operands of this extent; returns the same as run. */
static bool run_double(int form, int64_t extent)
{
    enum { MOST = 600 };
    static double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], right[MOST * MOST];
    const int64_t m = extent, n = xg_min_i64(extent + 30, MOST), k = extent;
    uint64_t state = (uint64_t)form;
    struct xg_problem p = xt_problem(XG_TYPE_D, m, n, k, form & 1, form & 2, a, b, right);
    p.alpha = 1.5;
    p.beta = form & 4 ? 0.5 : 0;
    for (int i = 0; i < m * k; i++)
        a[i] = xt_random(&state);
    for (int i = 0; i < k * n; i++)
        b[i] = xt_random(&state);
    for (int i = 0; i < m * n; i++)
        c[i] = right[i] = xt_random(&state);
    xg_cpu_compute(&p);
    p.c = c;
    struct fx_cpu_count count = {.call = &p};
    struct xg_cpu cpu = fx_cpu(&count);
    xg_dispatch(&(struct xg_call){.symbol = "test_dgemm", .problem = &p}, &cpu);
    for (int i = 0; i < m * n; i++)
        XT_CHECK_LE(fabs(c[i] - right[i]), 1e-12, "element %d", i);
    return count.wholes;
}

/* Sign, exponent and fraction of a double. */
static void doubles(void)
{
    static const int bits[] = {31, 30, 26, 20, 14};
    begin();
    for (int i = 0; i < 40; i++) {
        flip(1, bits[i % 5]);
        XT_CHECK(run_double(i, 70), "bit %d: not found", bits[i % 5]);
        XT_CHECK(!run_double(i, 70), "computed again though right");
    }
    XT_CHECK(fake.faults("flip") == 40, "%ld faults", fake.faults("flip"));
}

/* A device with few FP64 units computes large products by residues, small ones by the units. */
static void geforce(void)
{
    begin();
    XT_CHECK(!run_double(4, 600) && !run_double(1, 30), "computed by the CPU");
}

/* Two wrong products in a row, with right ones between the pairs, do not end the engine. */
static void twice(void)
{
    begin();
    for (int i = 0; i < 12; i++) {
        if (i % 3 < 2)
            flip(1, 30);
        XT_CHECK(run(&shape, (uint64_t)i) == (i % 3 < 2), "product %d", i);
    }
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "given up");
}

static void given_up(void)
{
    begin();
    for (int i = 0; i < 6; i++)
        XT_CHECK(run(&shape, (uint64_t)i), "product %d", i);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
    XT_CHECK(fake.faults("flip") == 3, "%ld faults", fake.faults("flip"));
}

/* Every product is wrong and some are verified: those count, and the others between them do not
 * reset the count. */
static void sampled(void)
{
    enum { PRODUCTS = 60 };
    int wrong = 0, verified = 0;
    begin();
    for (uint64_t number = 0; number < PRODUCTS && wrong < 3; number++) {
        struct fx_product product = fx_product_create(&shape, number);
        struct xg_cpu cpu = fx_product_cpu(&product);
        bool looked_at = xg_verify_samples(number, 0.25);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        XT_CHECK(product.count.wholes == looked_at, "product %ld", (long)number);
        wrong += product.count.wholes > 0;
        verified += looked_at;
        fx_product_destroy(&product);
    }
    XT_CHECK(wrong == 3 && verified == 3, "%d wrong of %d", wrong, verified);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
}

/* Shapes for products of pieces, and an element of one of several tiles. */
static void shapes(void)
{
    static const struct fx_shape of[] = {
        {1, 1, 1, false, false, 1, 0, 0},       {300, 1, 200, true, true, 1, 0, 0},
        {1, 300, 200, false, true, 2, 1, 0},    {5, 9, 3000, false, false, 1, 0, 2},
        {500, 450, 400, false, true, 1, 0, 0},  {257, 31, 65, true, false, -1, 0.25f, 3},
        {64, 64, 64, false, false, 1e-3f, 0, 0}};
    begin();
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        XT_CHECK(!run(&of[i], i), "shape %zu: computed again though right", i);
        flip(1, 30);
        XT_CHECK(run(&of[i], i), "shape %zu: not found", i);
        XT_CHECK(!run(&of[i], i), "shape %zu: computed again though right", i);
    }
}

static void *run_some(void *seed)
{
    for (uint64_t i = 0; i < 10; i++)
        run(&shape, *(uint64_t *)seed + i);
    return NULL;
}

/* Faults strike products of several threads: all get right results. */
static void threads(void)
{
    enum { THREADS = 4 };
    uint64_t seeds[THREADS];
    begin();
    /* Timing decides which product a flip hits. In a number near 0 a flipped low bit can pass for
     * rounding. */
    for (long nth = 3; nth < 40; nth += 4)
        flip(nth, 30);
    for (uint64_t i = 0; i < THREADS; i++)
        seeds[i] = 100 * i;
    xt_threads_run(THREADS, run_some, seeds, sizeof seeds[0]);
    XT_CHECK(fake.faults("flip") == 10, "%ld faults", fake.faults("flip"));
}

static const char again[] = "by the CPU: 7; could not be verified: 0;";
static const struct fx_scenario scenarios[] = {
    {"unnoticed", unnoticed, "XGEMM_MODE=gpu", NULL, NULL},
    {"found", found, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1",
     "verified: 80 calls; wrong, and computed again by the CPU: 40;", "GPU's result was wrong"},
    {"found_told", found, "XGEMM_MODE=gpu XGEMM_VERIFY=1.0", "computed a wrong product (120x150x70",
     NULL},
    {"doubles", doubles, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1",
     "verified: 80 calls; wrong, and computed again by the CPU: 40;", NULL},
    {"residues", doubles, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 XGEMM_KERNEL=ozaki2_mma",
     "verified: 80 calls; wrong, and computed again by the CPU: 40;", NULL},
    {"geforce", geforce, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 FAKECUDA_SM=86",
     "GPU   ozaki2_mma", "verified: 2 calls; wrong, and computed again by the CPU: 0;"},
    {"geforce_strict", geforce,
     "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 XGEMM_MATH=strict FAKECUDA_SM=86", "GPU   dmma",
     "verified: 2 calls; wrong, and computed again by the CPU: 0;"},
    {"twice", twice, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1",
     "verified: 12 calls; wrong, and computed again by the CPU: 8;", NULL},
    {"given_up", given_up,
     "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 FAKECUDA_FAIL=flip:1:30:always",
     "(wrong result): products run on the CPU from here on", "by the CPU: 3;"},
    {"sampled", sampled,
     "XGEMM_MODE=gpu XGEMM_VERIFY=0.25 XGEMM_STATS=1 FAKECUDA_FAIL=flip:1:30:always",
     "from here on", "verified: 3 calls;"},
    {"shapes", shapes, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1", again, NULL},
    {"shapes_strict", shapes, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 XGEMM_MATH=strict",
     again, NULL},
    {"shapes_limited", shapes, "XGEMM_MODE=gpu XGEMM_VERIFY=1 XGEMM_STATS=1 XGEMM_MEM_LIMIT=2M",
     again, NULL},
    {"threads", threads, "XGEMM_MODE=gpu XGEMM_VERIFY=1", "computed a wrong product", NULL},
};

FX_SCENARIO_MAIN(scenarios)
