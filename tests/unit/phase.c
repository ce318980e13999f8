/* SPDX-License-Identifier: MIT */
/* phase: when a program's products change sides, and what finding out may cost it. */
#include <math.h>

#include "src/decide/phase.h"
#include "tests/support/xt.h"

#define SPIN_S 0.134
#define GAP_S 1e-4

/* A program of one product after the other, and what they take. */
struct program {
    double cpu_s, gpu_s, slower; /* on the GPU, while threads spin */
    double guess_s;              /* what the GPU is thought to take, before it is seen */
    bool kept_awake;             /* something else keeps the threads spinning */
    double now_s, took_s, gpu_took_s;
    double seen_s; /* on the GPU, threads asleep as far as the phase knows; 0: not yet */
    long moves, gpu_products;
    enum xg_side last;
};

static struct xg_phase phase;

static void run(struct program *program, double until_s)
{
    while (program->now_s < until_s) {
        double thought_s = program->seen_s > 0 ? program->seen_s : program->guess_s;
        enum xg_side side = xg_phase_choose(&phase, program->now_s, program->cpu_s, thought_s);
        double spins_s = xg_phase_spins_s(&phase, program->now_s);
        bool disturbed = program->kept_awake || spins_s > 0;
        double gpu_s = program->gpu_s * (disturbed ? program->slower : 1.0);
        double seconds = side == XG_SIDE_CPU ? program->cpu_s : gpu_s;
        const struct xg_phase_product product = {
            .side = side,
            .wakes = true,
            .begin_s = program->now_s,
            .end_s = program->now_s + seconds,
            .other_s = side == XG_SIDE_CPU ? thought_s : program->cpu_s,
            .best_s = fmin(program->guess_s, thought_s),
        };
        xg_phase_observe(&phase, &product);
        if (side == XG_SIDE_GPU && spins_s == 0)
            program->seen_s = gpu_s;
        program->moves += side != program->last;
        program->last = side;
        program->gpu_products += side == XG_SIDE_GPU;
        program->took_s += seconds;
        program->gpu_took_s += side == XG_SIDE_GPU ? seconds : 0;
        program->now_s += seconds + GAP_S;
    }
}

static struct program begin(double cpu_s, double gpu_s, double slower)
{
    phase = (struct xg_phase){.spin_s = SPIN_S};
    struct program program = {.cpu_s = cpu_s, .gpu_s = gpu_s, .slower = slower, .now_s = 100.0};
    program.guess_s = gpu_s;
    /* Its first product ran on the CPU, while the engine was starting. */
    const struct xg_phase_product first = {
        .side = XG_SIDE_CPU, .wakes = true, .begin_s = 100.0 - cpu_s, .end_s = 100.0, .other_s = 1};
    xg_phase_observe(&phase, &first);
    return program;
}

/* The GPU wins four times where threads sleep, and loses while they spin. */
static void test_change(void)
{
    struct program program = begin(1e-3, 0.25e-3, 14);
    run(&program, 101.0);
    XT_CHECK(program.moves == 1 && phase.side == XG_SIDE_GPU, "%ld moves", program.moves);
    /* Staying cost as much as the change: the threads' spin; then they had to fall asleep. */
    double changed_s = 1.0 - program.gpu_took_s;
    XT_CHECK(changed_s > 0.1 && changed_s < 0.45, "%g s", changed_s);
    program.took_s = program.moves = 0;
    run(&program, 111.0);
    XT_CHECK(program.moves == 0, "%ld moves", program.moves);
}

/* One product on the GPU that takes so long, where the CPU takes cpu_s. */
static void run_on_gpu(double *now_s, double cpu_s, double seconds)
{
    const struct xg_phase_product product = {.side = XG_SIDE_GPU,
                                             .wakes = true,
                                             .begin_s = *now_s,
                                             .end_s = *now_s + seconds,
                                             .other_s = cpu_s};
    xg_phase_observe(&phase, &product);
    *now_s += seconds;
}

/* A trial has shown, in the middle of a phase that was free to choose, that the CPU is better. */
static void test_shown(void)
{
    static const double spins_s[] = {0.5e-3, 2e-3, SPIN_S};
    for (size_t i = 0; i < sizeof spins_s / sizeof spins_s[0]; i++) {
        const double cpu_s = 65e-6, gpu_s = 107e-6, most_s = fmin(5e-3, 4 * spins_s[i]);
        phase = (struct xg_phase){.spin_s = spins_s[i]};
        double now_s = 100.0, lost_s = 0;
        enum xg_side side = xg_phase_choose(&phase, now_s, 2 * gpu_s, gpu_s);
        XT_CHECK(side == XG_SIDE_GPU, "it began on the CPU");
        for (int n = 0; side == XG_SIDE_GPU && n < 1000; n++) {
            run_on_gpu(&now_s, cpu_s, gpu_s);
            lost_s += gpu_s - cpu_s;
            side = xg_phase_choose(&phase, now_s, cpu_s, gpu_s);
        }
        XT_CHECK(side == XG_SIDE_CPU, "%g s: it stays", spins_s[i]);
        XT_CHECK_LE(lost_s, most_s + gpu_s, "%g s: %g lost", spins_s[i], lost_s);
        XT_CHECK_LE(0.9 * most_s, lost_s, "%g s: left at once, %g lost", spins_s[i], lost_s);
    }
}

/* One product is delayed; then all are. */
static void test_delayed(void)
{
    const double cpu_s = 200e-6, gpu_s = 107e-6, delayed_s = 4e-3;
    phase = (struct xg_phase){.spin_s = 0.5e-3};
    double now_s = 100.0;
    enum xg_side side = xg_phase_choose(&phase, now_s, cpu_s, gpu_s);
    for (int n = 0; n < 300; n++) {
        double expected_s = n < 250 ? gpu_s : delayed_s;
        run_on_gpu(&now_s, cpu_s, n % 100 == 50 ? delayed_s : expected_s);
        side = xg_phase_choose(&phase, now_s, cpu_s, expected_s);
        if (n < 250)
            XT_CHECK(side == XG_SIDE_GPU && phase.begun_s == 100.0, "left after product %d", n);
        if (side == XG_SIDE_CPU) {
            XT_CHECK_LE(n, 253, "left after %d", n);
            return;
        }
    }
    XT_CHECK(false, "never left");
}

/* A GPU that loses is not tried at all, one that loses against its promise is left. */
static void test_loss(void)
{
    struct program program = begin(1e-3, 1.2e-3, 3);
    run(&program, 102.0);
    XT_CHECK(program.moves == 0, "%ld moves", program.moves);

    program = begin(1e-3, 0.25e-3, 14);
    program.kept_awake = true;
    run(&program, 101.0);
    XT_CHECK(program.moves == 2 && phase.side == XG_SIDE_CPU, "%ld moves", program.moves);
    double lost_s = program.gpu_took_s - (double)program.gpu_products * program.cpu_s;
    XT_CHECK_LE(lost_s, XG_PHASE_LOSS_MOST_S, "%g s lost", lost_s);
    run(&program, 110.0);
    lost_s = program.gpu_took_s - (double)program.gpu_products * program.cpu_s;
    XT_CHECK_LE(lost_s, 0.02 * 10.0, "%g s lost in 10 s", lost_s);
    run(&program, 160.0);
    lost_s = program.gpu_took_s - (double)program.gpu_products * program.cpu_s;
    XT_CHECK_LE(lost_s, 0.02 * 60.0, "%g s lost in a minute", lost_s);
    XT_CHECK(program.moves > 2 && program.moves < 12, "%ld moves", program.moves);
}

/* Products that belong on the CPU wake its threads all the time: a phase that loses by that ends.
 */
static void test_woken_again(void)
{
    struct program program = begin(1e-3, 0.25e-3, 1);
    run(&program, 103.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "not on the GPU");
    double lost_s = 0, seconds = 3e-3;
    for (int i = 0; i < 1000 && phase.side == XG_SIDE_GPU; i++, program.now_s += seconds) {
        phase.spin_until_s = program.now_s + SPIN_S;
        const struct xg_phase_product product = {.side = XG_SIDE_GPU,
                                                 .wakes = true,
                                                 .begin_s = program.now_s,
                                                 .end_s = program.now_s + seconds,
                                                 .other_s = 1e-3};
        xg_phase_observe(&phase, &product);
        lost_s += seconds - 1e-3;
    }
    XT_CHECK(phase.side == XG_SIDE_CPU, "still on the GPU");
    XT_CHECK_LE(lost_s, XG_PHASE_LOSS_MOST_S, "%g s lost", lost_s);
}

/* What kept the threads awake ends: the GPU is found again. */
static void test_hope(void)
{
    struct program program = begin(1e-3, 0.25e-3, 14);
    program.kept_awake = true;
    run(&program, 110.0);
    XT_CHECK(phase.side == XG_SIDE_CPU, "on the GPU among threads that spin");
    program.kept_awake = false;
    run(&program, 180.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "still on the CPU");
    long moves = program.moves;
    run(&program, 190.0);
    XT_CHECK(program.moves == moves, "%ld moves", program.moves - moves);
}

/* A phase that has paid is left too when the GPU becomes slow, for a share of the spin. */
static void test_decline(void)
{
    struct program program = begin(1e-3, 0.25e-3, 1);
    run(&program, 105.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "not on the GPU");
    long before = program.gpu_products;
    program.gpu_s = 3e-3;
    run(&program, 106.0);
    XT_CHECK(phase.side == XG_SIDE_CPU, "still on the GPU");
    double lost_s = (double)(program.gpu_products - before) * 2e-3;
    XT_CHECK_LE(lost_s, 2 * SPIN_S, "%g s lost", lost_s);
}

/* One product that saves more than the change costs does not wait for others. */
static void test_large(void)
{
    begin(1e-3, 1e-3, 1);
    XT_CHECK(xg_phase_choose(&phase, 100.001, 1.0, 0.5) == XG_SIDE_GPU, "a large product");
}

/* What small products lost on the GPU does not keep a much larger one from it, which pays the
 * change by itself: PyTorch's products of 3000 (36 ms and 8) among threads of libgomp's, after
 * training. One that loses as well is not tried at each of them. */
static void test_other_kind(void)
{
    struct program program = begin(1e-3, 0.25e-3, 14);
    phase.spin_s = 6e-3;
    program.kept_awake = true;
    run(&program, 160.0);
    XT_CHECK(phase.side == XG_SIDE_CPU && phase.failures > 3, "%d failures", phase.failures);
    double small_s = phase.failed_s;
    program.cpu_s = 36e-3, program.gpu_s = program.guess_s = 8e-3, program.seen_s = 0;
    program.slower = 23.0 / 8;
    long before = program.gpu_products;
    run(&program, 161.0);
    XT_CHECK(program.gpu_products - before > 40, "%ld on the GPU", program.gpu_products - before);

    program.slower = 8;
    before = program.gpu_products;
    run(&program, 181.0);
    XT_CHECK(phase.failed_s > small_s, "its own loss is not remembered");
    double lost_s = (double)(program.gpu_products - before) * (64e-3 - 36e-3);
    XT_CHECK_LE(lost_s, 0.05 * 20.0, "%g s lost of 20", lost_s);
}

/* After a pause the first product chooses: the GPU unless the CPU is better by a third. */
static void test_pause(void)
{
    struct program program = begin(1e-3, 0.25e-3, 1);
    run(&program, 102.0);
    program.now_s += 1.0;
    XT_CHECK(xg_phase_choose(&phase, program.now_s, 1.0e-3, 1.3e-3) == XG_SIDE_GPU, "a little");
    program.now_s += 1.0;
    XT_CHECK(xg_phase_choose(&phase, program.now_s, 1.0e-3, 1.4e-3) == XG_SIDE_CPU, "a third");
    program.now_s += 1.0;
    XT_CHECK(xg_phase_choose(&phase, program.now_s, 1.0e-3, 0.95e-3) == XG_SIDE_CPU, "even");
    program.now_s += 1.0;
    XT_CHECK(xg_phase_choose(&phase, program.now_s, 1.0e-3, 0.9e-3) == XG_SIDE_GPU, "better");
}

/* The same where threads hardly spin: to be wrong costs nothing on either side. */
static void test_short_pause(void)
{
    for (int better = 0; better < 2; better++) {
        phase = (struct xg_phase){.spin_s = 0.4e-3, .side = XG_SIDE_GPU, .last_s = 100.0};
        enum xg_side side = xg_phase_choose(&phase, 101.0, 1.0e-3, better ? 0.99e-3 : 1.05e-3);
        XT_CHECK(side == (better ? XG_SIDE_GPU : XG_SIDE_CPU), "better %d", better);
    }
}

/* To wake threads costs what they spin for, times how much of the time products take. */
static void test_disturbs(void)
{
    struct program program = begin(1e-3, 0.25e-3, 1);
    XT_CHECK(xg_phase_disturbs_s(&phase) == 0, "on the CPU: %g", xg_phase_disturbs_s(&phase));
    run(&program, 104.0);
    double share = 0.25e-3 / (0.25e-3 + GAP_S);
    XT_CHECK(fabs(xg_phase_disturbs_s(&phase) / (SPIN_S * share) - 1) < 0.1, "%g of %g",
             xg_phase_disturbs_s(&phase), SPIN_S * share);
}

/* Threads that hardly spin make changes cheap: it follows what is faster at once. */
static void test_short_spin(void)
{
    struct program program = begin(1e-3, 0.25e-3, 3);
    phase = (struct xg_phase){.spin_s = 0.4e-3,
                              .share = 1.0,
                              .last_s = program.now_s,
                              .spin_until_s = program.now_s + 0.4e-3};
    run(&program, 100.1);
    XT_CHECK(program.moves == 1 && program.gpu_took_s > 0.06, "%g s", program.gpu_took_s);
}

/* A phase begun in hope that ends by a pause has had its chance, though it lost little. */
static void test_hope_spent(void)
{
    const double cpu_s = 0.1e-3, gpu_s = 0.4e-3;
    double now_s = 100.0;
    phase = (struct xg_phase){
        .spin_s = 0.5e-3, .share = 1.0, .last_s = now_s, .spin_until_s = now_s + 0.5e-3};
    phase.hope_s = 1.0;
    XT_CHECK(xg_phase_choose(&phase, now_s, cpu_s, gpu_s) == XG_SIDE_GPU, "no hope");
    for (int burst = 0; burst < 3; burst++) {
        now_s += 0.02;
        XT_CHECK(xg_phase_choose(&phase, now_s, cpu_s, gpu_s) == XG_SIDE_CPU, "after a pause");
        const struct xg_phase_product first = {.side = XG_SIDE_CPU,
                                               .wakes = true,
                                               .begin_s = now_s,
                                               .end_s = now_s + cpu_s,
                                               .other_s = gpu_s,
                                               .best_s = cpu_s};
        xg_phase_observe(&phase, &first);
        now_s = first.end_s;
        XT_CHECK(xg_phase_choose(&phase, now_s, cpu_s, gpu_s) == XG_SIDE_CPU, "hopes again");
    }
}

/* After a pause the CPU is better, and its first product waits for threads to wake: what came with
 * the pause does not speak against staying. What is more than that does. */
static void test_waking(void)
{
    for (int waking = 0; waking < 2; waking++) {
        const double cpu_s = 30e-6, gpu_s = 55e-6, wake_s = 2e-3, now_s = 100.0;
        phase = (struct xg_phase){.spin_s = 0.5e-3};
        XT_CHECK(xg_phase_choose(&phase, now_s, cpu_s, gpu_s) == XG_SIDE_CPU);
        const struct xg_phase_product first = {.side = XG_SIDE_CPU,
                                               .wakes = true,
                                               .begin_s = now_s,
                                               .end_s = now_s + wake_s + cpu_s,
                                               .waking_s = waking ? wake_s : 0.0,
                                               .other_s = gpu_s};
        xg_phase_observe(&phase, &first);
        enum xg_side side = xg_phase_choose(&phase, first.end_s + 0.45e-3, cpu_s, gpu_s);
        XT_CHECK(side == (waking ? XG_SIDE_CPU : XG_SIDE_GPU), "waking %d", waking);
    }
}

int main(void)
{
    test_change();
    test_shown();
    test_delayed();
    test_loss();
    test_woken_again();
    test_hope();
    test_decline();
    test_large();
    test_other_kind();
    test_pause();
    test_short_pause();
    test_disturbs();
    test_short_spin();
    test_hope_spent();
    test_waking();
    return xt_done();
}
