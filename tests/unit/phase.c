/* SPDX-License-Identifier: MIT */
/* When a program's products change sides, and how much time the attempts may cost. */
#include <math.h>

#include "src/decide/phase.h"
#include "tests/support/xt.h"

#define SPIN_S 0.134
#define GAP_S 1e-4

/* A program that computes one product after the other, and the times of its products. */
struct program {
    double cpu_s, gpu_s, slower; /* slower: the factor on the GPU while threads spin */
    double guess_s;              /* the expected time on the GPU before it is measured */
    bool kept_awake;             /* other work keeps the threads spinning */
    double now_s, took_s, gpu_took_s;
    double seen_s; /* the GPU's time measured while threads sleep; 0: not yet */
    long moves, gpu_products;
    enum xg_side last;
};

static struct xg_phase phase;

static void run(struct program *program, double until_s)
{
    while (program->now_s < until_s) {
        double expected_s = program->seen_s > 0 ? program->seen_s : program->guess_s;
        enum xg_side side = xg_phase_choose(&phase, program->now_s, program->cpu_s, expected_s);
        double spins_s = xg_phase_spins_s(&phase, program->now_s);
        bool disturbed = program->kept_awake || spins_s > 0;
        double gpu_s = program->gpu_s * (disturbed ? program->slower : 1.0);
        double seconds = side == XG_SIDE_CPU ? program->cpu_s : gpu_s;
        const struct xg_phase_product product = {
            .side = side,
            .begin_s = program->now_s,
            .end_s = program->now_s + seconds,
            .expected_s = side == XG_SIDE_CPU ? program->cpu_s : expected_s,
            .other_s = side == XG_SIDE_CPU ? expected_s : program->cpu_s,
        };
        xg_phase_observe(&phase, &product);
        if (side == XG_SIDE_GPU && spins_s == 0 && !program->kept_awake)
            program->seen_s = gpu_s;
        program->moves += side != program->last;
        program->last = side;
        program->gpu_products += side == XG_SIDE_GPU;
        program->took_s += seconds;
        program->gpu_took_s += side == XG_SIDE_GPU ? seconds : 0;
        program->now_s += seconds + GAP_S;
    }
}

static struct program begin_spinning(double spin_s, double cpu_s, double gpu_s, double slower)
{
    phase = (struct xg_phase){.spin_s = spin_s};
    struct program program = {.cpu_s = cpu_s, .gpu_s = gpu_s, .slower = slower, .now_s = 100.0};
    program.guess_s = gpu_s;
    /* The first product ran on the CPU while the engine started. */
    const struct xg_phase_product first = {.side = XG_SIDE_CPU,
                                           .begin_s = 100.0 - cpu_s,
                                           .end_s = 100.0,
                                           .expected_s = cpu_s,
                                           .other_s = 1};
    xg_phase_observe(&phase, &first);
    return program;
}

static struct program begin(double cpu_s, double gpu_s, double slower)
{
    return begin_spinning(SPIN_S, cpu_s, gpu_s, slower);
}

/* How much longer the products on the GPU took than on the CPU. */
static double lost_s(const struct program *program)
{
    return program->gpu_took_s - (double)program->gpu_products * program->cpu_s;
}

/* Observes one product of the side with these times. */
static void run_one(enum xg_side side, double *now_s, double seconds, double expected_s,
                    double other_s)
{
    const struct xg_phase_product product = {.side = side,
                                             .begin_s = *now_s,
                                             .end_s = *now_s + seconds,
                                             .expected_s = expected_s,
                                             .other_s = other_s};
    xg_phase_observe(&phase, &product);
    *now_s += seconds;
}

/* During a phase on the GPU a trial shows that the CPU is faster. */
static void test_shown(void)
{
    static const double spins_s[] = {0.5e-3, 2e-3, SPIN_S};
    for (size_t i = 0; i < sizeof spins_s / sizeof spins_s[0]; i++) {
        const double cpu_s = 65e-6, gpu_s = 107e-6, most_s = fmin(5e-3, spins_s[i]);
        phase = (struct xg_phase){.spin_s = spins_s[i]};
        double now_s = 100.0, lost = 0;
        enum xg_side side = xg_phase_choose(&phase, now_s, 2 * gpu_s, gpu_s);
        XT_CHECK(side == XG_SIDE_GPU, "it began on the CPU");
        for (int n = 0; side == XG_SIDE_GPU && n < 1000; n++) {
            run_one(XG_SIDE_GPU, &now_s, gpu_s, gpu_s, cpu_s);
            lost += gpu_s - cpu_s;
            side = xg_phase_choose(&phase, now_s, cpu_s, gpu_s);
        }
        XT_CHECK(side == XG_SIDE_CPU, "%g s: it stays", spins_s[i]);
        XT_CHECK_LE(lost, most_s + gpu_s, "%g s: %g lost", spins_s[i], lost);
        XT_CHECK_LE(0.9 * most_s, lost, "%g s: left at once, %g lost", spins_s[i], lost);
    }
}

/* First single products are delayed, then all of them. */
static void test_delayed(void)
{
    const double cpu_s = 200e-6, gpu_s = 107e-6, delayed_s = 4e-3;
    phase = (struct xg_phase){.spin_s = 0.5e-3};
    double now_s = 100.0;
    enum xg_side side = xg_phase_choose(&phase, now_s, cpu_s, gpu_s);
    for (int n = 0; n < 300; n++) {
        double expected_s = n < 250 ? gpu_s : delayed_s;
        run_one(XG_SIDE_GPU, &now_s, n % 100 == 50 ? delayed_s : expected_s, expected_s, cpu_s);
        side = xg_phase_choose(&phase, now_s, cpu_s, expected_s);
        if (n < 250)
            XT_CHECK(side == XG_SIDE_GPU, "left after product %d", n);
        if (side == XG_SIDE_CPU) {
            XT_CHECK_LE(n, 253, "left after %d", n);
            return;
        }
    }
    XT_CHECK(false, "never left");
}

/* The phase never chooses a GPU that is predicted slower, and leaves one that is slower than
 * predicted. */
static void test_loss(void)
{
    struct program program = begin(1e-3, 1.2e-3, 3);
    run(&program, 102.0);
    XT_CHECK(program.moves == 0, "%ld moves", program.moves);

    program = begin(1e-3, 0.25e-3, 14);
    program.kept_awake = true;
    run(&program, 101.0);
    XT_CHECK(program.moves == 2 && phase.side == XG_SIDE_CPU, "%ld moves", program.moves);
    XT_CHECK_LE(lost_s(&program), SPIN_S + 5e-3 + 3.5e-3, "%g s lost", lost_s(&program));
    run(&program, 110.0);
    XT_CHECK_LE(lost_s(&program), SPIN_S + 0.02 * 10.0, "%g s lost in 10 s", lost_s(&program));
    run(&program, 160.0);
    XT_CHECK_LE(lost_s(&program), SPIN_S + 0.02 * 60.0, "%g s lost in a minute", lost_s(&program));
    XT_CHECK(program.moves > 2 && program.moves < 20, "%ld moves", program.moves);

    /* When the threads sleep again the phase returns to the GPU. */
    program.kept_awake = false;
    run(&program, 180.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "still on the CPU");
    long moves = program.moves;
    run(&program, 190.0);
    XT_CHECK(program.moves == moves, "%ld moves", program.moves - moves);
}

/* Two shapes alternate. One is a little faster on the GPU; the other is far slower there, but
 * waking threads for it seems to cost more. A phase on the GPU loses, and the next product that
 * gains does not begin a new one; a product after a pause may. */
static void test_lost_phase(void)
{
    static const double spins_s[] = {0.5e-3, 5e-3, SPIN_S};
    for (size_t i = 0; i < sizeof spins_s / sizeof spins_s[0]; i++) {
        const double cpu_s[] = {1e-3, 0.2 * spins_s[i]}, gpu_s[] = {0.9e-3, 0.9 * spins_s[i]};
        double now_s = 100.0, took_s = 0, on_cpu_s = 0;
        phase = (struct xg_phase){.spin_s = spins_s[i]};
        for (int n = 0; n < 20000; n++) {
            double cpu = cpu_s[n % 2], gpu = gpu_s[n % 2], begin_s = now_s;
            bool on_gpu = xg_phase_choose(&phase, now_s, cpu, gpu) == XG_SIDE_GPU;
            run_one(on_gpu ? XG_SIDE_GPU : XG_SIDE_CPU, &now_s, on_gpu ? gpu : cpu,
                    on_gpu ? gpu : cpu, on_gpu ? cpu : gpu);
            took_s += now_s - begin_s;
            on_cpu_s += cpu;
            now_s += 1e-5;
        }
        XT_CHECK_LE(took_s, 1.02 * on_cpu_s, "spin %g: %g s, the CPU %g", spins_s[i], took_s,
                    on_cpu_s);
        now_s += 2 * spins_s[i];
        XT_CHECK(xg_phase_choose(&phase, now_s, 1e-3, 0.9e-3) == XG_SIDE_GPU, "after a pause");
    }
}

/* The process is stopped for an hour during a product. */
static void test_stopped(void)
{
    struct program program = begin_spinning(0.5e-3, 1e-3, 0.25e-3, 1);
    run(&program, 101.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "not on the GPU");
    run_one(XG_SIDE_GPU, &program.now_s, 3600.0, 0.25e-3, 1e-3);
    XT_CHECK(phase.side == XG_SIDE_GPU, "it left");
    run(&program, program.now_s + 0.01);
    program.gpu_s = program.seen_s = 3e-3; /* the debt of a later lost phase excludes that hour */
    run(&program, program.now_s + 0.1);
    XT_CHECK(phase.side == XG_SIDE_CPU, "still on the GPU");
    program.gpu_s = program.seen_s = 0.25e-3;
    run(&program, program.now_s + 1.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "the hour is held against it");

    program = begin_spinning(0.5e-3, 1e-3, 1.2e-3, 1);
    run_one(XG_SIDE_CPU, &program.now_s, 3600.0, 1e-3, 1.2e-3);
    run(&program, program.now_s + 1.0);
    XT_CHECK(program.gpu_products == 0, "%ld on a GPU that is slower", program.gpu_products);
}

/* Runs products on the GPU that take as long as expected and save this much each, until the phase
 * ends. */
static void run_until_left(double *now_s, double saved_s)
{
    for (int n = 0; phase.side == XG_SIDE_GPU && n < 1000; n++)
        run_one(XG_SIDE_GPU, now_s, 1e-3 - saved_s, 1e-3 - saved_s, 1e-3);
    XT_CHECK(phase.side == XG_SIDE_CPU, "never left");
}

/* After a phase on the GPU the debt is fifty times its loss, and 0 if it gained. */
static void test_debt(void)
{
    double now_s = 100.0;
    phase = (struct xg_phase){.spin_s = 0.5e-3};
    xg_phase_choose(&phase, now_s, 1e-3, 0.9e-3);
    for (int n = 0; n < 100; n++)
        run_one(XG_SIDE_GPU, &now_s, 0.9e-3, 0.9e-3, 1e-3);
    run_one(XG_SIDE_CPU, &now_s, 1e-5, 1e-5, 1.0); /* another rule decided */
    XT_CHECK(phase.ledger_s <= 0.5e-3, "a product on the CPU counts for the GPU's phase");
    XT_CHECK(fabs(phase.lost_s + 100 * 0.1e-3) < 1e-9, "lost %g s", phase.lost_s);
    run_until_left(&now_s, -0.3e-3);
    XT_CHECK(phase.ledger_s == 0.0, "a phase that gained owes %g s", -phase.ledger_s);

    now_s += 1.0;
    for (int tried = 0; tried < 2; tried++) { /* the second begins right after a lost phase */
        if (tried)
            xg_phase_try(&phase, now_s);
        else
            xg_phase_choose(&phase, now_s, 1e-3, 0.9e-3);
        XT_CHECK(phase.side == XG_SIDE_GPU && phase.lost_s == 0.0, "it begins with a loss");
        run_until_left(&now_s, -0.3e-3);
        XT_CHECK(phase.lost_s > 0.0 && fabs(phase.ledger_s + 50 * phase.lost_s) < 1e-9,
                 "owes %g s for %g", -phase.ledger_s, phase.lost_s);
    }

    now_s += 1.0; /* a pause clears the debt, and products that are faster on the CPU add none */
    XT_CHECK(xg_phase_choose(&phase, now_s, 1e-3, 2e-3) == XG_SIDE_CPU);
    run_one(XG_SIDE_CPU, &now_s, 1e-3, 1e-3, 2e-3);
    XT_CHECK(phase.ledger_s == 0.0, "owes %g s after a pause", -phase.ledger_s);

    now_s += 1.0;
    xg_phase_choose(&phase, now_s, 1e-3, 0.9e-3);
    run_one(XG_SIDE_GPU, &now_s, 3600.0, 0.9e-3, 1e-3);
    XT_CHECK(fabs(phase.lost_s - (16 * 0.9e-3 - 1e-3)) < 1e-9, "an hour counts as %g s",
             phase.lost_s);
}

/* Products on the CPU keep waking its threads: a phase on the GPU that loses because of this ends.
 */
static void test_woken_again(void)
{
    struct program program = begin(1e-3, 0.25e-3, 1);
    run(&program, 103.0);
    XT_CHECK(phase.side == XG_SIDE_GPU, "not on the GPU");
    double lost = 0, seconds = 3e-3;
    for (int i = 0; i < 1000 && phase.side == XG_SIDE_GPU; i++) {
        xg_phase_wake(&phase, program.now_s);
        run_one(XG_SIDE_GPU, &program.now_s, seconds, 0.25e-3, 1e-3);
        lost += seconds - 1e-3;
    }
    XT_CHECK(phase.side == XG_SIDE_CPU, "still on the GPU");
    XT_CHECK_LE(lost, SPIN_S, "%g s lost", lost);
}

/* Small products have lost on the GPU, and much larger ones follow: PyTorch's products of 3000 (36
 * ms on the CPU, 8 on the GPU) beside libgomp's threads, after training. Few of them stay on the
 * CPU if they gain, and few are tried if they lose. */
static void test_other_kind(void)
{
    struct program program = begin_spinning(6e-3, 1e-3, 0.25e-3, 14);
    program.kept_awake = true;
    run(&program, 160.0);
    XT_CHECK(phase.side == XG_SIDE_CPU, "on the GPU");
    program.cpu_s = 36e-3, program.gpu_s = program.guess_s = 8e-3, program.seen_s = 0;
    program.slower = 23.0 / 8;
    long before = program.gpu_products;
    run(&program, 161.0);
    XT_CHECK(program.gpu_products - before > 20, "%ld on the GPU", program.gpu_products - before);

    program.slower = 8;
    run(&program, 162.0);
    before = program.gpu_products;
    run(&program, 182.0);
    double lost = (double)(program.gpu_products - before) * (64e-3 - 36e-3);
    XT_CHECK_LE(lost, 0.05 * 20.0, "%g s lost of 20", lost);
}

/* The first product after a pause runs where it is faster. */
static void test_pause(void)
{
    static const double spins_s[] = {0.4e-3, SPIN_S};
    for (size_t i = 0; i < sizeof spins_s / sizeof spins_s[0]; i++) {
        struct program program = begin_spinning(spins_s[i], 1e-3, 0.25e-3, 1);
        run(&program, 102.0);
        XT_CHECK(phase.side == XG_SIDE_GPU, "not on the GPU");
        for (int better = 0; better < 4; better++) {
            program.now_s += 1.0;
            double gpu_s = better % 2 ? 0.95e-3 : 1.05e-3;
            enum xg_side side = xg_phase_choose(&phase, program.now_s, 1e-3, gpu_s);
            XT_CHECK(side == (better % 2 ? XG_SIDE_GPU : XG_SIDE_CPU), "better %d", better);
        }
    }
}

/* If other products run on the GPU, waking threads costs the time that they spin. */
static void test_disturbs(void)
{
    struct program program = begin(1e-3, 0.25e-3, 1);
    XT_CHECK(xg_phase_disturbs_s(&phase) == 0, "on the CPU: %g", xg_phase_disturbs_s(&phase));
    run(&program, 104.0);
    XT_CHECK(xg_phase_disturbs_s(&phase) == SPIN_S, "%g", xg_phase_disturbs_s(&phase));
}

/* A trial while threads spin is a phase that may lose until they sleep. */
static void test_try(void)
{
    struct program program = begin(1e-3, 0.25e-3, 14);
    program.guess_s = 2e-3; /* an old measurement */
    run(&program, 101.0);
    XT_CHECK(program.moves == 0, "%ld moves", program.moves);
    xg_phase_try(&phase, program.now_s);
    run(&program, 102.0);
    XT_CHECK(phase.side == XG_SIDE_GPU && program.moves == 1, "%ld moves", program.moves);

    program = begin(1e-3, 2e-3, 3);
    xg_phase_try(&phase, program.now_s);
    run(&program, 102.0);
    XT_CHECK(phase.side == XG_SIDE_CPU, "still on the GPU");
    XT_CHECK_LE(lost_s(&program), SPIN_S + 11e-3, "%g s lost", lost_s(&program));
}

int main(void)
{
    test_shown();
    test_delayed();
    test_loss();
    test_lost_phase();
    test_stopped();
    test_debt();
    test_woken_again();
    test_other_kind();
    test_pause();
    test_disturbs();
    test_try();
    return xt_done();
}
