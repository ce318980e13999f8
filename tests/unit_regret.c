/* SPDX-License-Identifier: MIT */
/* The policy on simulated machines that are not as predicted: what its choices lose to the best. */
#include <math.h>

#include "src/policy.h"
#include "xt.h"

enum { SHAPES = 200, CALLS = 41 };

/* What a machine really does: a model of its own, and how far each shape is from it. */
struct truth {
    const char *name;
    int believed_cores; /* what the policy begins with */
    struct xg_machine machine;
    double odd;   /* deviation of a shape from the model, standard deviation of its logarithm */
    double noise; /* of a call from its shape */
    bool reproducible;
    double worst, in_all; /* bounds of the regret: of a shape, and with what finding out costs */
};

static double normal(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += (double)xt_random(state);
    return sum / sqrt(2.0); /* variance of a uniform number in (-1, 1) is 1/3 */
}

static int64_t log_uniform(uint64_t *state, double least, double most)
{
    double u = 0.5 + 0.5 * (double)xt_random(state);
    return (int64_t)(least * pow(most / least, u));
}

struct sample {
    struct xg_sgemm call;
    double seconds[XG_SIDE_COUNT]; /* without noise */
    double took[CALLS];
};

static void samples_init(struct sample samples[SHAPES], const struct truth *truth, uint64_t *state)
{
    for (int i = 0; i < SHAPES; i++) {
        struct xg_sgemm call = {.alpha = 1.0f};
        call.m = log_uniform(state, 8, 8192);
        call.n = log_uniform(state, 8, 8192);
        call.k = log_uniform(state, 8, 8192);
        samples[i].call = call;
        samples[i].seconds[XG_SIDE_CPU] =
            xg_machine_cpu_seconds(&truth->machine, &call) * exp(truth->odd * normal(state));
        samples[i].seconds[XG_SIDE_GPU] =
            xg_machine_gpu_seconds(&truth->machine, XG_MATH_ACCURATE, &call) *
            exp(truth->odd * normal(state));
    }
}

/* One call: decided, "run", observed. One in 200 meets something that takes 5 times as long.
 */
static double run(struct xg_policy *policy, const struct truth *truth, const struct sample *sample,
                  uint64_t *state)
{
    const struct xg_conf conf = {.reproducible = truth->reproducible};
    const struct xg_sgemm *call = &sample->call;
    double mnk = (double)call->m * (double)call->n * (double)call->k;
    double stretch = exp(truth->noise * normal(state));
    struct xg_decision decision;
    if (xt_random(state) > 0.99f)
        stretch *= 5;
    if (mnk < xg_policy_floor_mnk(policy, &conf, XG_ENGINE_READY))
        return sample->seconds[XG_SIDE_CPU] * stretch;
    xg_policy_decide(policy, &conf, XG_ENGINE_READY, call, &decision);
    if (decision.place == XG_PLACE_CPU) {
        double seconds = sample->seconds[XG_SIDE_CPU] * stretch;
        xg_policy_observe_cpu(policy, call, &decision, seconds);
        return seconds;
    }
    double seconds = sample->seconds[XG_SIDE_GPU] * stretch;
    xg_policy_observe_gpu(policy, &conf, call, seconds);
    return seconds;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * turns: the shapes take turns, as in a program; otherwise each is called many times in a row, as
 * in a benchmark. Judged are the medians of the shapes, and all the time that it took.
 */
static void simulate(const struct truth *truth, bool turns, uint64_t seed)
{
    static struct sample samples[SHAPES];
    static struct xg_policy policy;
    double log_sum = 0, worst = 0, took = 0, least = 0;
    memset(&policy, 0, sizeof policy);
    xg_machine_init(&policy.machine, truth->believed_cores);
    samples_init(samples, truth, &seed);
    for (int i = 0; i < SHAPES * CALLS; i++) {
        int shape = turns ? i % SHAPES : i / CALLS, turn = turns ? i / SHAPES : i % CALLS;
        samples[shape].took[turn] = run(&policy, truth, &samples[shape], &seed);
        took += samples[shape].took[turn];
    }
    for (int i = 0; i < SHAPES; i++) {
        double best = fmin(samples[i].seconds[XG_SIDE_CPU], samples[i].seconds[XG_SIDE_GPU]);
        qsort(samples[i].took, CALLS, sizeof samples[i].took[0], by_value);
        double regret = samples[i].took[CALLS / 2] / best;
        log_sum += log(regret);
        worst = fmax(worst, regret);
        least += best * CALLS;
    }
    double mean = exp(log_sum / SHAPES);
    printf("%-32s %-12s mean %.3f, worst %.2f, in all %.3f\n", truth->name,
           turns ? "in turns" : "in a row", mean, worst, took / least);
    XT_CHECK_LE(mean, 1.10, "%s: geometric mean %.3f", truth->name, mean);
    XT_CHECK_LE(worst, truth->worst, "%s: worst %.2f", truth->name, worst);
    XT_CHECK_LE(took, truth->in_all * least, "%s: in all %.3f", truth->name, took / least);
}

int main(void)
{
    struct xg_machine reference, one_core, loops, slow_link;
    xg_machine_init(&reference, 16);
    xg_machine_init(&one_core, 1);
    loops = reference;
    loops.cpu_flops = 2e9;
    loops.cpu_call_s = 1e-7;
    loops.cpu_step_s = 0;
    xg_machine_init(&slow_link, 64);
    slow_link.up_bytes_per_s = slow_link.down_bytes_per_s = 5e9;
    slow_link.gpu_call_s = 200e-6;
    /* The last bound holds 2 % of outliers, and the calls that found out. */
    const struct truth truths[] = {
        {"as predicted", 16, reference, 0.05, 0.03, false, 1.5, 1.2},
        {"as predicted, odd shapes", 16, reference, 0.2, 0.1, false, 1.5, 1.2},
        {"one core", 1, one_core, 0.2, 0.1, false, 1.5, 1.2},
        {"one core, taken for 16", 16, one_core, 0.2, 0.1, false, 4.0, 1.3},
        {"reference BLAS, 2 GFLOP/s", 16, loops, 0.2, 0.1, false, 1.5, 2.0},
        {"64 cores, slow link", 64, slow_link, 0.2, 0.1, false, 1.5, 1.2},
        {"nothing may be corrected", 16, reference, 0.05, 0.03, true, 1.5, 1.2},
    };
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            simulate(&truths[i], seed % 2 == 0, seed);
    return xt_done();
}
