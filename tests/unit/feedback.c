/* SPDX-License-Identifier: MIT */
/* Corrections converge to the observed times, resist outliers, and apply to similar calls. */
#include <math.h>

#include "src/decide/feedback.h"
#include "tests/support/xt.h"

static struct xg_feedback feedback;

/* The place of a product. */
#define SHAPE(M, N, K, ...)                                                                        \
    xg_feedback_place(&(struct xg_call){                                                           \
        .problem = &(struct xg_problem){.m = (M), .n = (N), .k = (K), __VA_ARGS__}})

static void begin(void)
{
    memset(&feedback, 0, sizeof feedback);
}

static void observe(enum xg_side side, struct xg_feedback_place at, double ratio, int times)
{
    for (int i = 0; i < times; i++) {
        xg_feedback_observe(&feedback, side, &at, 1e-3, ratio * 1e-3);
        xg_feedback_account(&feedback, side, &at, ratio * 1e-3);
    }
}

static double scale(enum xg_side side, struct xg_feedback_place at)
{
    return xg_feedback_scale(&feedback, side, &at);
}

/* The first time of a class on a side does not count; the second one does. */
static void test_first(void)
{
    static const double ratios[] = {0.1, 1.5, 10.0};
    const struct xg_routine routine = {.name = XG_ROUTINE_GETRF, .m = 1000, .n = 1000};
    const struct xg_feedback_place places[] = {
        SHAPE(1000, 1000, 1000), xg_feedback_place(&(struct xg_call){.routine = &routine})};
    for (int i = 0; i < 6; i++) {
        const double ratio = ratios[i / 2];
        begin();
        observe(XG_SIDE_GPU, places[i % 2], ratio, 1);
        XT_CHECK(scale(XG_SIDE_GPU, places[i % 2]) == 1.0, "%g: the first one", ratio);
        observe(XG_SIDE_GPU, places[i % 2], ratio, 1);
        double learnt = log(scale(XG_SIDE_GPU, places[i % 2])) / log(ratio);
        XT_CHECK(learnt > 0.7 && learnt <= 1.0, "%g: %g of it", ratio, learnt);
    }
}

static void test_converges(void)
{
    static const double ratios[] = {0.01, 0.5, 1.0, 1.5, 3.0, 100.0};
    const struct xg_feedback_place at = SHAPE(1000, 1000, 1000);
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        begin();
        observe(XG_SIDE_CPU, at, ratios[i], 12);
        double got = scale(XG_SIDE_CPU, at) / ratios[i];
        XT_CHECK(got > 0.85 && got < 1.18, "%g: off by %g", ratios[i], got);
        XT_CHECK(scale(XG_SIDE_GPU, at) == 1.0, "the other side moved");
    }
}

/* Two batches with equally many rows: one has many small instances, the other a few large ones. */
static void test_batches(void)
{
    const struct xg_batch many = {.count = 16000}, few = {.count = 10};
    const struct xg_feedback_place of_many =
        SHAPE(64000, 200, 200, .op = XG_OP_GEMM_BATCH, .batch = &many);
    const struct xg_feedback_place of_few =
        SHAPE(64000, 200, 200, .op = XG_OP_GEMM_BATCH, .batch = &few);
    begin();
    observe(XG_SIDE_GPU, of_many, 1.0, 4);
    observe(XG_SIDE_GPU, of_few, 1.0, 4);
    observe(XG_SIDE_GPU, of_many, 20.0, 30);
    double apart = scale(XG_SIDE_GPU, of_many) / scale(XG_SIDE_GPU, of_few);
    XT_CHECK(apart > 3.0, "what the one took is thought of the other: %g", apart);
}

static void test_outliers(void)
{
    const struct xg_feedback_place at = SHAPE(1000, 1000, 1000);
    begin();
    observe(XG_SIDE_CPU, at, 50.0, 1);
    XT_CHECK(scale(XG_SIDE_CPU, at) == 1.0, "one outlier, never seen before: %g",
             scale(XG_SIDE_CPU, at));
    observe(XG_SIDE_CPU, at, 1.0, 10);
    double before = scale(XG_SIDE_CPU, at);
    for (int i = 0; i < 20; i++) {
        observe(XG_SIDE_CPU, at, 50.0, 1);
        observe(XG_SIDE_CPU, at, 1.0, 1);
    }
    XT_CHECK(fabs(scale(XG_SIDE_CPU, at) - before) < 0.01, "outliers: %g", scale(XG_SIDE_CPU, at));
    observe(XG_SIDE_CPU, at, 50.0, 2);
    XT_CHECK(fabs(scale(XG_SIDE_CPU, at) - before) < 0.01, "two: %g", scale(XG_SIDE_CPU, at));
    observe(XG_SIDE_CPU, at, 50.0, 6);
    XT_CHECK(scale(XG_SIDE_CPU, at) > 10.0, "it stays so: %g", scale(XG_SIDE_CPU, at));
}

/* Two calls in five are short and have biased the correction; it returns to the time of most calls.
 */
static void test_finds_back(void)
{
    const struct xg_feedback_place at = SHAPE(920, 256, 8);
    begin();
    observe(XG_SIDE_CPU, at, 0.25, 10);
    double sum = 0.0;
    for (int i = 0; i < 40; i++) {
        observe(XG_SIDE_CPU, at, 1.0, 2);
        observe(XG_SIDE_CPU, at, 0.25, 1);
        observe(XG_SIDE_CPU, at, 1.0, 1);
        observe(XG_SIDE_CPU, at, 0.25, 1);
        sum += scale(XG_SIDE_CPU, at);
    }
    XT_CHECK(sum / 40 > 0.4, "%g", sum / 40);
}

static void test_nonsense(void)
{
    static const double nonsense[] = {0.0, -1.0, NAN, INFINITY};
    const struct xg_feedback_place at = SHAPE(1000, 1000, 1000);
    begin();
    observe(XG_SIDE_GPU, at, 1.3, 4);
    double before = scale(XG_SIDE_GPU, at);
    for (int i = 0; i < 4; i++)
        observe(XG_SIDE_GPU, at, nonsense[i], 3);
    XT_CHECK(scale(XG_SIDE_GPU, at) == before, "%g", scale(XG_SIDE_GPU, at));
    observe(XG_SIDE_GPU, at, 1e300, 100);
    XT_CHECK(isfinite(scale(XG_SIDE_GPU, at)), "%g", scale(XG_SIDE_GPU, at));
}

/* Slow memory-bound products do not change the correction of compute-bound ones. */
static void test_kinds(void)
{
    begin();
    for (int64_t n = 4096; n < 6000; n += 64)
        observe(XG_SIDE_CPU, SHAPE(8, n, n), 10.0, 3);
    XT_CHECK(scale(XG_SIDE_CPU, SHAPE(8, 5000, 5000)) > 8.0, "not learnt");
    XT_CHECK(scale(XG_SIDE_CPU, SHAPE(8, 5500, 4800)) > 4.0, "not generalised");
    for (int64_t n = 128; n <= 8192; n *= 2)
        XT_CHECK(fabs(scale(XG_SIDE_CPU, SHAPE(n, n, n)) - 1.0) < 0.01, "%ld: %g", (long)n,
                 scale(XG_SIDE_CPU, SHAPE(n, n, n)));
    /* All kinds of one size are slow: new kinds of that size are expected to be slow. */
    begin();
    observe(XG_SIDE_CPU, SHAPE(16, 2000, 2000), 10.0, 5);
    observe(XG_SIDE_CPU, SHAPE(400, 400, 400), 10.0, 5);
    observe(XG_SIDE_CPU, SHAPE(2000, 2000, 16), 10.0, 5);
    XT_CHECK(scale(XG_SIDE_CPU, SHAPE(2000, 16, 2000)) > 2.0, "%g",
             scale(XG_SIDE_CPU, SHAPE(2000, 16, 2000)));
}

/* Returns how many calls of 1 ms on the side earn a trial that costs 1 ms; 0: it is allowed at
 * once. */
static int calls_until_trial(enum xg_side side, struct xg_feedback_place at)
{
    int calls = 0;
    while (calls < 10000 && !xg_feedback_tries(&feedback, side, &at, 1e-3)) {
        observe(side, at, 1.0, 1);
        calls++;
    }
    return calls;
}

/* Trials may cost a fiftieth of the time: one call in fifty that takes twice as long, and fewer
 * after each failed trial. */
static void test_tries(void)
{
    const struct xg_feedback_place at = SHAPE(300, 300, 300);
    begin();
    XT_CHECK(!xg_feedback_tries(&feedback, XG_SIDE_CPU, &at, 0.0), "before any call");
    for (int failed = 0; failed < 4; failed++) {
        int calls = calls_until_trial(XG_SIDE_CPU, at);
        int least = 50 * (failed + 1) * (failed + 1);
        XT_CHECK(calls >= least - 1 && calls <= least + 2, "%d calls, %d failed", calls, failed);
        XT_CHECK(!xg_feedback_tries(&feedback, XG_SIDE_CPU, &at, 1e-3), "twice for one credit");
        xg_feedback_end_trial(&feedback, XG_SIDE_CPU, &at, 1e-3, false);
    }
}

/* After a successful trial the next one is allowed at once, until a trial fails. */
static void test_better(void)
{
    const struct xg_feedback_place at = SHAPE(300, 300, 300);
    begin();
    calls_until_trial(XG_SIDE_CPU, at);
    xg_feedback_end_trial(&feedback, XG_SIDE_CPU, &at, 1e-3, false);
    calls_until_trial(XG_SIDE_CPU, at);
    for (int i = 0; i < 5; i++) {
        xg_feedback_end_trial(&feedback, XG_SIDE_CPU, &at, 1e-3, true);
        XT_CHECK(calls_until_trial(XG_SIDE_CPU, at) == 0, "repeat %d", i);
    }
    xg_feedback_end_trial(&feedback, XG_SIDE_CPU, &at, 1e-3, false);
    int calls = calls_until_trial(XG_SIDE_CPU, at);
    XT_CHECK(calls >= 199 && calls <= 202, "%d calls after one failed", calls);
}

/* The time on a side earns trials away from that side only, and failures count for that side only.
 */
static void test_sides(void)
{
    const struct xg_feedback_place at = SHAPE(300, 300, 300);
    begin();
    observe(XG_SIDE_CPU, at, 1.0, 100);
    XT_CHECK(!xg_feedback_tries(&feedback, XG_SIDE_GPU, &at, 1e-6), "the CPU's credit");
    XT_CHECK(xg_feedback_tries(&feedback, XG_SIDE_CPU, &at, 1e-3), "spent by the GPU");
    xg_feedback_end_trial(&feedback, XG_SIDE_CPU, &at, 1e-3, false);
    int calls = calls_until_trial(XG_SIDE_GPU, at);
    XT_CHECK(calls >= 49 && calls <= 52, "%d calls on the GPU", calls);
    xg_feedback_end_trial(&feedback, XG_SIDE_GPU, &at, 1e-3, true);
    XT_CHECK(!xg_feedback_tries(&feedback, XG_SIDE_CPU, &at, 1e-3), "the GPU's credit");
}

/* With more shapes than the table has places, recent shapes are still known. */
static void test_many(void)
{
    begin();
    for (int64_t m = 1; m < (int64_t)1 << 40; m = m * 3 / 2 + 1)
        for (int64_t n = 1; n < (int64_t)1 << 40; n = n * 3 / 2 + 1)
            for (int64_t k = 1; k < 1000; k += 333) {
                const struct xg_feedback_place at = SHAPE(m, n, k);
                observe(XG_SIDE_GPU, at, 1.5, 2);
                XT_CHECK(xg_feedback_weight(&feedback, XG_SIDE_GPU, &at) >= 1.0,
                         "%ld,%ld,%ld is not known", (long)m, (long)n, (long)k);
            }
}

int main(void)
{
    test_first();
    test_converges();
    test_batches();
    test_outliers();
    test_finds_back();
    test_nonsense();
    test_kinds();
    test_tries();
    test_better();
    test_sides();
    test_many();
    return xt_done();
}
