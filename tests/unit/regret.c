/* SPDX-License-Identifier: MIT */
/* The policy on simulated machines that are not as predicted: what its choices lose to the best. */
#include <math.h>

#include "src/decide/decide.h"
#include "tests/support/xt.h"

enum { SHAPES = 200, CALLS_MIN = 9, CALLS_MAX = 2000, TURNS = 41 };
#define SPIN_S 0.134
#define ROW_S 0.12 /* of one shape in a row, as bench/host does */

/* The simulated machine: its own model, and how far the times of shapes are from that model. */
struct truth {
    const char *name;
    int believed_cores; /* of the model with which the policy begins */
    struct xg_model model;
    double odd;   /* standard deviation of a shape's log(time / the model's time) */
    double noise; /* the same, of a call's time and its shape's */
    bool reproducible;
    bool spins; /* the CPU library's threads spin, and the GPU's calls are slower meanwhile */
    double worst, in_all; /* bounds of the regret: of a shape, and of all calls with trials */
    const char *table;    /* measured times, a file of the tree, instead of the model's */
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
    struct xg_problem call;
    double seconds[XG_SIDE_COUNT]; /* without noise */
    double took[CALLS_MAX];
    int calls;
    double slower; /* the GPU's time while the CPU library's threads spin / while they sleep */
};

/* As measured: any product takes 60 us longer; one of 12 MB takes 2.5 times as long, one of 24 MB
 * 5 times. */
static double slower(const struct xg_problem *call, double gpu_s)
{
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    return 1.0 + 60e-6 / gpu_s + fmin(4.0, 4.0 * (m * k + k * n + m * n) / 8e6);
}

static void samples_init(struct sample samples[SHAPES], const struct truth *truth, uint64_t *state)
{
    for (int i = 0; i < SHAPES; i++) {
        struct xg_problem call = {.alpha = 1.0f};
        call.m = log_uniform(state, 8, 8192);
        call.n = log_uniform(state, 8, 8192);
        call.k = log_uniform(state, 8, 8192);
        samples[i] = (struct sample){.call = call};
        samples[i].seconds[XG_SIDE_CPU] =
            xg_model_cpu_seconds(&truth->model, &call) * exp(truth->odd * normal(state));
        samples[i].seconds[XG_SIDE_GPU] =
            xg_model_gpu_seconds(&truth->model, XG_MATH_ACCURATE, &call) *
            exp(truth->odd * normal(state));
        double ratio = slower(&call, samples[i].seconds[XG_SIDE_GPU]) * exp(0.2 * normal(state));
        samples[i].slower = truth->spins ? fmax(1.0, ratio) : 1.0;
    }
}

/* Reads measured times, a table of bench/host --random. False: it has fewer than SHAPES lines. */
static bool samples_read(struct sample samples[SHAPES], const char *table)
{
    char path[4096], line[1024];
    const char *tree = getenv("srcdir");
    snprintf(path, sizeof path, "%s/%s", tree ? tree : ".", table);
    FILE *file = fopen(path, "r");
    int count = 0;
    while (file && count < SHAPES && fgets(line, sizeof line, file)) {
        long m, n, k;
        double cpu_ms, gpu_ms;
        if (sscanf(line, "%ld,%ld,%ld,%*d,%*d,%*d,%*f,%lf,%*[^,],%*[^,],%lf", &m, &n, &k, &cpu_ms,
                   &gpu_ms) != 5)
            continue;
        struct xg_problem call = {.alpha = 1.0f, .m = m, .n = n, .k = k};
        samples[count++] = (struct sample){.call = call,
                                           .seconds = {1e-3 * cpu_ms, 1e-3 * gpu_ms},
                                           .slower = slower(&call, 1e-3 * gpu_ms)};
    }
    if (file)
        fclose(file);
    return count == SHAPES;
}

struct clock {
    double now_s, spin_until_s;
};

/* Decides, simulates and observes one call. One call of 200 takes 5 times as long. */
static double run(struct xg_policy *policy, const struct truth *truth, const struct sample *sample,
                  struct clock *clock, uint64_t *state)
{
    const struct xg_conf conf = {.reproducible = truth->reproducible};
    const struct xg_problem *call = &sample->call;
    double mnk = (double)call->m * (double)call->n * (double)call->k;
    double stretch = exp(truth->noise * normal(state));
    const struct xg_situation now = {.now_s = clock->now_s,
                                     .state = XG_ENGINE_READY,
                                     .cpu_threads = truth->spins ? 16 : 1,
                                     .spin_s = SPIN_S,
                                     .cores_left = 64};
    struct xg_decision decision;
    if (xt_random(state) > 0.99f)
        stretch *= 5;
    if (mnk < xg_decide_floor_mnk(policy, &conf, XG_ENGINE_READY))
        return clock->now_s += sample->seconds[XG_SIDE_CPU] * stretch,
               sample->seconds[XG_SIDE_CPU] * stretch;
    xg_decide(policy, &conf, &(struct xg_call){.problem = call}, &now, &decision);
    enum xg_side side = decision.place == XG_PLACE_CPU ? XG_SIDE_CPU : XG_SIDE_GPU;
    double seconds = sample->seconds[side] * stretch;
    bool spins = clock->now_s < clock->spin_until_s, wakes = truth->spins && mnk > 262144.0;
    if (side == XG_SIDE_GPU && spins)
        seconds *= sample->slower;
    else if (side == XG_SIDE_CPU && wakes && !spins)
        seconds = 1.3 * seconds + 1e-4; /* threads that sleep */
    clock->now_s += seconds;
    if (side == XG_SIDE_CPU && wakes)
        clock->spin_until_s = clock->now_s + SPIN_S;
    xg_decide_observe(policy, side, &(struct xg_call){.problem = call}, &decision, seconds,
                      clock->now_s);
    return seconds;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The time of the same calls on one side alone, and with each call on its better side. */
struct bounds {
    double side_s[XG_SIDE_COUNT], each_s;
};

/*
 * turns: the shapes alternate, as in a program; otherwise each shape is called many times in a row,
 * as in a benchmark. In a row the median of each shape is compared with its better side. The sum of
 * all times is compared with the better side of all calls, or, if no threads spin, with the better
 * side of each.
 */
static void simulate(const struct truth *truth, bool turns, uint64_t seed)
{
    static struct sample samples[SHAPES];
    static struct xg_policy policy;
    struct clock clock = {.now_s = 100.0};
    struct bounds bounds = {0};
    double log_sum = 0, worst = 0, took = 0;
    memset(&policy, 0, sizeof policy);
    xg_model_init(&policy.model, truth->believed_cores);
    if (!truth->table)
        samples_init(samples, truth, &seed);
    else if (!samples_read(samples, truth->table))
        exit(XT_HARD);
    for (int i = 0; i < (turns ? SHAPES * TURNS : SHAPES); i++) {
        struct sample *sample = &samples[i % SHAPES];
        clock.now_s += turns ? 0.0 : 2 * SPIN_S; /* in a row: threads sleep first */
        double until_s = clock.now_s + (turns ? 0.0 : ROW_S);
        int least = sample->calls + (turns ? 1 : CALLS_MIN);
        do {
            double seconds = run(&policy, truth, sample, &clock, &seed);
            sample->took[sample->calls++] = seconds;
            took += seconds;
        } while (sample->calls < least || (clock.now_s < until_s && sample->calls < CALLS_MAX));
    }
    for (int i = 0; i < SHAPES; i++) {
        double *seconds = samples[i].seconds, best = fmin(seconds[0], seconds[1]);
        qsort(samples[i].took, (size_t)samples[i].calls, sizeof samples[i].took[0], by_value);
        double regret = samples[i].took[samples[i].calls / 2] / best;
        if (regret > 1.5 && !turns && getenv("VERBOSE"))
            printf("%s: %ld,%ld,%ld cpu %g gpu %g took %g\n", truth->name, (long)samples[i].call.m,
                   (long)samples[i].call.n, (long)samples[i].call.k, 1e6 * seconds[0],
                   1e6 * seconds[1], 1e6 * samples[i].took[samples[i].calls / 2]);
        log_sum += log(regret);
        worst = fmax(worst, regret);
        bounds.side_s[XG_SIDE_CPU] += seconds[XG_SIDE_CPU] * samples[i].calls;
        bounds.side_s[XG_SIDE_GPU] += seconds[XG_SIDE_GPU] * samples[i].calls;
        bounds.each_s += best * samples[i].calls;
    }
    double mean = exp(log_sum / SHAPES);
    double least = truth->spins ? fmin(bounds.side_s[0], bounds.side_s[1]) : bounds.each_s;
    printf("%-32s %-12s mean %.3f, worst %.2f, in all %.3f\n", truth->name,
           turns ? "in turns" : "in a row", mean, worst, took / least);
    XT_CHECK_LE(took, truth->in_all * least, "%s: in all %.3f", truth->name, took / least);
    if (turns)
        return;
    XT_CHECK_LE(mean, 1.10, "%s: geometric mean %.3f", truth->name, mean);
    XT_CHECK_LE(worst, truth->worst, "%s: worst %.2f", truth->name, worst);
}

int main(void)
{
    struct xg_model reference, one_core, loops, slow_link;
    xg_model_init(&reference, 16);
    xg_model_init(&one_core, 1);
    loops = reference;
    loops.cpu_flops = 2e9;
    loops.cpu_call_s = 1e-7;
    loops.cpu_step_s = 0;
    xg_model_init(&slow_link, 64);
    slow_link.up_bytes_per_s = slow_link.down_bytes_per_s = 5e9;
    slow_link.gpu_call_s = 200e-6;
    /* The last bound includes 2 % of outliers, and the trials. */
    const struct truth truths[] = {
        {"as predicted", 16, reference, 0.05, 0.03, false, false, 1.5, 1.2, NULL},
        {"as predicted, odd shapes", 16, reference, 0.2, 0.1, false, false, 1.6, 1.2, NULL},
        {"one core", 1, one_core, 0.2, 0.1, false, false, 1.5, 1.2, NULL},
        {"one core, taken for 16", 16, one_core, 0.2, 0.1, false, false, 1.8, 1.3, NULL},
        {"reference BLAS, 2 GFLOP/s", 16, loops, 0.2, 0.1, false, false, 1.5, 2.0, NULL},
        {"64 cores, a tenth of the link", 64, slow_link, 0.2, 0.1, false, false, 2.4, 1.2, NULL},
        {"threads that spin", 16, reference, 0.05, 0.03, false, true, 1.5, 1.15, NULL},
        {"threads that spin, odd shapes", 16, reference, 0.2, 0.1, false, true, 2.1, 1.15, NULL},
        {"threads that spin, as measured", 16, reference, 0, 0.1, false, true, 2.0, 1.2,
         "bench/results/h200/host_random_turns.csv"},
        {"nothing may be corrected", 16, reference, 0.05, 0.03, true, false, 1.5, 1.2, NULL},
    };
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            simulate(&truths[i], seed % 2 == 0, seed);
    return xt_done();
}
