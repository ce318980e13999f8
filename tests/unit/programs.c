/* SPDX-License-Identifier: MIT */
/* policy: what whole programs lose, on a simulated clock, when something disturbs them; what a
 * start must earn, and which side is tried, among pools of threads that wake and spin. */
#include <math.h>

#include "src/decide/decide.h"
#include "tests/support/xt.h"

#define SPIN_S 0.134

static const struct xg_conf conf = {.mode = XG_MODE_AUTO};
static struct xg_policy policy;

enum { GPU = 1 << XG_RESOURCE_GPU }; /* all that these products need */
static double spin_s;                /* of the CPU library's threads */
static bool pool_is_shared;
static double clock_s;

static void begin(double spins_s)
{
    spin_s = spins_s;
    pool_is_shared = false;
    memset(&policy, 0, sizeof policy);
    xg_model_init(&policy.model, 16);
}

static struct xg_problem shape(int64_t size)
{
    return (struct xg_problem){.m = size, .n = size, .k = size, .alpha = 1.0f};
}

static struct xg_decision decide_at(double now_s, enum xg_engine_state state,
                                    const struct xg_problem *call)
{
    const struct xg_situation now = {.now_s = now_s,
                                     .state = state,
                                     .cpu_threads = 16,
                                     .spin_s = spin_s,
                                     .pool_is_shared = pool_is_shared,
                                     .cores_left = 64};
    struct xg_decision decision;
    xg_decide(&policy, &conf, &(struct xg_call){.problem = call}, &now, &decision);
    return decision;
}

static void observe(const struct xg_problem *call, const struct xg_decision *decision,
                    double seconds)
{
    enum xg_side side = decision->place == XG_PLACE_GPU ? XG_SIDE_GPU : XG_SIDE_CPU;
    xg_decide_observe(&policy, side, &(struct xg_call){.problem = call}, decision, seconds,
                      decision->begin_s + seconds);
}

/* Products that take turns, with a gap between them; threads spin after each one on the CPU. */
struct program {
    int shapes;
    struct product {
        int64_t size;
        double cpu_s, gpu_s, busy_s; /* busy: on the GPU, while threads spin */
    } products[3];
    enum xg_type type;
    bool kept_awake; /* something else keeps threads spinning */
    double now_s, awake_until_s, took_s, on_cpu_s, least_s;
    long calls, on_gpu;
};

static void run_program(struct program *program, enum xg_engine_state state, double seconds)
{
    program->calls = program->on_gpu = 0;
    program->took_s = program->on_cpu_s = program->least_s = 0.0;
    for (double end_s = program->now_s + seconds; program->now_s < end_s; program->calls++) {
        int which = (int)(program->calls % program->shapes);
        double cpu_s = program->products[which].cpu_s, gpu_s = program->products[which].gpu_s;
        double busy_s = program->products[which].busy_s;
        int64_t size = program->products[which].size;
        struct xg_problem call = shape(size);
        call.type = program->type;
        struct xg_decision decision = decide_at(program->now_s, state, &call);
        bool on_gpu = decision.place == XG_PLACE_GPU;
        double spins_s = fmin(fmax(0.0, program->awake_until_s - program->now_s), busy_s);
        if (program->kept_awake)
            spins_s = busy_s;
        double took_s = on_gpu ? spins_s + gpu_s * (1.0 - spins_s / busy_s) : cpu_s;
        observe(&call, &decision, took_s);
        program->now_s += took_s;
        if (!on_gpu)
            program->awake_until_s = program->now_s + spin_s;
        program->now_s += 1e-4;
        program->on_gpu += on_gpu;
        program->took_s += took_s;
        program->on_cpu_s += cpu_s;
        program->least_s += fmin(cpu_s, gpu_s);
    }
}

static void scale_gpu(struct program *program, double scale)
{
    for (int i = 0; i < program->shapes; i++) {
        program->products[i].gpu_s *= scale;
        program->products[i].busy_s *= scale;
    }
}

/* For a minute another process has the GPU, which is then ten times as slow. */
static void test_disturbed_minute(void)
{
    static const struct {
        double spin_s, most_s; /* what that minute may cost */
    } rows[] = {{0.5e-3, 0.05}, {5e-3, 0.1}, {SPIN_S, 0.4}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        struct program program = {
            .shapes = 1, .products = {{512, 1e-3, 0.25e-3, 3.5e-3}}, .now_s = clock_s + 10.0};
        begin(rows[row].spin_s);
        run_program(&program, XG_ENGINE_STARTING, 1.0);
        run_program(&program, XG_ENGINE_READY, 10.0);
        XT_CHECK(program.on_gpu > program.calls * 9 / 10, "%ld of %ld on the GPU", program.on_gpu,
                 program.calls);
        scale_gpu(&program, 10.0);
        run_program(&program, XG_ENGINE_READY, 60.0);
        double cost_s = program.took_s - program.on_cpu_s;
        XT_CHECK_LE(cost_s, rows[row].most_s, "spin %g: %g s", spin_s, cost_s);
        scale_gpu(&program, 0.1);
        run_program(&program, XG_ENGINE_READY, 60.0);
        run_program(&program, XG_ENGINE_READY, 1.0);
        XT_CHECK(program.on_gpu > program.calls * 9 / 10, "spin %g: not found again", spin_s);
        clock_s = program.now_s;
    }
}

/* Threads that are kept spinning for ever: a GPU that is faster all the same is taken, another one
 * costs no more than trials may. */
static void test_forever_awake(void)
{
    for (int gains = 0; gains < 2; gains++) {
        struct program program = {.shapes = 1,
                                  .products = {{512, 1e-3, 0.25e-3, gains ? 0.6e-3 : 3.5e-3}},
                                  .kept_awake = true,
                                  .now_s = clock_s + 10.0};
        begin(INFINITY);
        run_program(&program, XG_ENGINE_READY, 60.0);
        if (gains)
            XT_CHECK(program.on_gpu > program.calls * 9 / 10, "%ld of %ld", program.on_gpu,
                     program.calls);
        else
            XT_CHECK_LE(program.took_s, 1.01 * program.on_cpu_s, "%g s, the CPU %g", program.took_s,
                        program.on_cpu_s);
        clock_s = program.now_s;
    }
}

/* Two shapes in turns, of which one loses more on the GPU than the other one gains, but less than
 * waking threads seems to cost: a phase that lost is not begun again by the next gain. */
static void test_lost_phase(void)
{
    struct program program = {.shapes = 2,
                              .products = {{1000, 1e-3, 0.7e-3, 3e-3}, {1500, 20e-3, 80e-3, 80e-3}},
                              .now_s = clock_s + 10.0};
    begin(SPIN_S);
    run_program(&program, XG_ENGINE_STARTING, 1.0);
    run_program(&program, XG_ENGINE_READY, 30.0);
    XT_CHECK_LE(program.took_s, 1.03 * program.on_cpu_s, "%g s, the CPU %g", program.took_s,
                program.on_cpu_s);
    clock_s = program.now_s;
}

/* The process is stopped for an hour in the middle of a product: that earns no trials and condemns
 * no side. */
static void test_stopped(void)
{
    const struct xg_problem call = shape(512);
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        struct program program = {
            .shapes = 1, .products = {{512, 1e-3, 2e-3, 3e-3}}, .now_s = clock_s + 10.0};
        if (side == XG_SIDE_GPU)
            program.products[0].gpu_s = 0.25e-3;
        begin(0.5e-3);
        run_program(&program, XG_ENGINE_STARTING, 1.0);
        run_program(&program, XG_ENGINE_READY, 10.0);
        struct xg_decision decision = decide_at(program.now_s, XG_ENGINE_READY, &call);
        observe(&call, &decision, 3600.0);
        program.now_s += 3600.0;
        run_program(&program, XG_ENGINE_READY, 5.0);
        XT_CHECK_LE(program.took_s, 1.03 * program.least_s, "side %d: %g s, the better side %g",
                    side, program.took_s, program.least_s);
        long other = side == XG_SIDE_GPU ? program.calls - program.on_gpu : program.on_gpu;
        XT_CHECK_LE(other, 12, "%ld of %ld on the side that is not better", other, program.calls);
        clock_s = program.now_s;
    }
}

/*
 * Doubles on a device with few FP64 units, which alone are slower than the CPU. The model predicts
 * the time by residues: from the first product on a program gains by them, and one whose numbers
 * they do not serve soon leaves the GPU.
 */
static void test_residues(void)
{
    struct xg_model_device device = {.facts = {.sm = 86,
                                               .sm_count = 28,
                                               .smem_block_bytes = 99 << 10,
                                               .generation = xg_generation_find(86, "GeForce"),
                                               .fp64_ratio = 64,
                                               .images = true},
                                     .clock_hz = 1.78e9,
                                     .link_bytes_per_s = 31.5e9};
    device.facts.residues = xg_select_emulated(&device.facts, XG_KERNEL_RESIDUES, NULL);
    XT_CHECK(device.facts.residues != NULL);
    for (int i = 0; i < 10; i++) {
        const bool serve = i % 2;
        struct program program = {.shapes = 1, .type = XG_TYPE_D, .now_s = clock_s + 10.0};
        struct xg_problem call = shape((int64_t)512 << i / 2);
        call.type = XG_TYPE_D;
        begin(0.5e-3);
        xg_model_init(&policy.model, 8);
        xg_model_set_device(&policy.model, &device);
        double cpu_s = xg_model_cpu_seconds(&policy.model, &call),
               residues_s = xg_model_gpu_seconds(&policy.model, XG_MATH_ACCURATE, &call),
               units_s = xg_model_gpu_seconds(&policy.model, XG_MATH_STRICT, &call);
        double gpu_s = serve ? residues_s : units_s;
        XT_CHECK(2 * residues_s < cpu_s && cpu_s < units_s, "%lld", (long long)call.n);
        program.products[0] = (struct product){call.n, cpu_s, gpu_s, gpu_s};
        run_program(&program, XG_ENGINE_READY, 10 * fmin(cpu_s, gpu_s));
        XT_CHECK_LE(program.took_s, serve ? 1.05 * program.least_s : 1.25 * program.on_cpu_s,
                    "%lld, first products: %g s", (long long)call.n, program.took_s);
        double extra_s = program.took_s - program.on_cpu_s;
        run_program(&program, XG_ENGINE_READY, 200 * cpu_s);
        XT_CHECK_LE(extra_s + program.took_s, 1.02 * program.on_cpu_s, "%lld: %g s, the CPU %g",
                    (long long)call.n, extra_s + program.took_s, program.on_cpu_s);
        clock_s = program.now_s;
    }
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
        {1000, true, 0.2e-3, 1.5e-3, true}, /* quiet, as with XGEMM_SPIN=short */
        {2000, true, 6e-3, 8e-3, false},    /* a start and the loops after it lose more */
        {2000, true, 0.2e-3, 8e-3, true},
        {3000, true, 6e-3, 44e-3, true}, /* takes longer than they spin */
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const struct xg_problem call = shape(rows[row].n);
        bool started = false;
        begin(rows[row].spin_s);
        pool_is_shared = rows[row].shared;
        for (int i = 0; i < 2000 && !started; i++) {
            clock_s += 2.0 * rows[row].took_s;
            const struct xg_decision decision = decide_at(clock_s, XG_ENGINE_COLD, &call);
            started = decision.start;
            observe(&call, &decision, rows[row].took_s);
        }
        XT_CHECK(started == rows[row].starts, "row %d: %s", (int)row,
                 started ? "started" : "not started");
    }
}

/* Products inside a routine that is counted as a whole start nothing and earn nothing. */
static void test_inner(void)
{
    const struct xg_problem call = shape(8192);
    const struct xg_situation now = {
        .now_s = 1.0, .state = XG_ENGINE_COLD, .cores_left = 16, .is_counted = true};
    begin(0.0);
    for (int i = 0; i < 3; i++) {
        struct xg_decision decision;
        xg_decide(&policy, &conf, &(struct xg_call){.problem = &call}, &now, &decision);
        XT_CHECK(!decision.start && decision.place == XG_PLACE_CPU && !decision.wait);
        observe(&call, &decision, decision.cpu_s);
    }
    XT_CHECK(policy.ledger.missed_s[GPU] == 0.0, "%g s", policy.ledger.missed_s[GPU]);
}

/*
 * A transformer's block on a ready GPU: among threads that loops keep spinning, a product takes
 * 4.7 ms there, not 1.2, and the next loop 5 ms longer. The CPU takes 8 ms.
 */
static void test_loops_on_shared_pool(void)
{
    enum { CALLS = 500, STARTING = 10 };
    const struct xg_problem call = shape(2000);
    double took_s = 0.0;
    begin(6e-3);
    pool_is_shared = true;
    for (int i = 0; i < CALLS; i++) {
        enum xg_engine_state state = i < STARTING ? XG_ENGINE_STARTING : XG_ENGINE_READY;
        const struct xg_decision decision = decide_at(clock_s, state, &call);
        bool gpu = decision.place == XG_PLACE_GPU;
        observe(&call, &decision, gpu ? 4.7e-3 : 8e-3);
        took_s += gpu ? 4.7e-3 + 5e-3 : 8e-3;
        clock_s = decision.begin_s + (gpu ? 4.7e-3 + 8e-3 : 8e-3 + 3e-3);
    }
    XT_CHECK_LE(took_s, 1.02 * CALLS * 8e-3, "%g s", took_s);
}

/*
 * The GPU was slow at first, while the program's threads filled the cores, and is not any more. The
 * CPU's threads are asleep when each product begins, so a trial costs that product alone.
 */
static void test_slow_at_first(void)
{
    enum { CALLS = 3000, SLOW = 6, LAST = 500 };
    const struct xg_problem call = shape(1000);
    int on_gpu = 0, last_on_gpu = 0;
    begin(0.2e-3);
    for (int i = 0; i < CALLS; i++) {
        const struct xg_decision decision = decide_at(clock_s += 5e-3, XG_ENGINE_READY, &call);
        bool gpu = decision.place == XG_PLACE_GPU;
        on_gpu += gpu;
        last_on_gpu += gpu && i >= CALLS - LAST;
        double gpu_s = on_gpu <= SLOW ? 3e-3 : 0.4e-3;
        observe(&call, &decision, gpu ? gpu_s : 1e-3);
    }
    XT_CHECK(last_on_gpu > LAST * 9 / 10, "%d of the last %d", last_on_gpu, (int)LAST);
}

/* The two calls that doc/developer/call.md follows. */
static void test_walk(void)
{
    static const struct {
        double left_s; /* of the start; 0: it has not begun */
        double cpu_s;  /* that the call took */
        enum xg_reason reason;
        bool start, wait;
    } rows[] = {
        {0, 137e-3, XG_REASON_EARNING, false, false},
        {0, 150e-3, XG_REASON_STARTING, true, false},
        {0.25, 150e-3, XG_REASON_STARTING, false, false},
        {0.15, 10e-3, XG_REASON_STARTING, false, false},
        {0.14, 10e-3, XG_REASON_MODEL, false, true},
    };
    const struct xg_problem call = shape(4096);
    begin(17e-3);
    xg_model_leave_exit(&policy.model);
    clock_s += 10.0;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const bool cold = rows[row].left_s == 0;
        if (!cold)
            policy.ledger.begun_s[XG_RESOURCE_GPU] = clock_s - (0.4 - rows[row].left_s);
        const struct xg_decision d =
            decide_at(clock_s, cold ? XG_ENGINE_COLD : XG_ENGINE_STARTING, &call);
        XT_CHECK(fabs(d.cpu_s - 0.1365) < 1e-4 && fabs(d.gpu_s - 3.2e-3) < 1e-5, "%g, %g s",
                 d.cpu_s, d.gpu_s);
        XT_CHECK(d.reason == rows[row].reason && d.start == rows[row].start &&
                     d.wait == rows[row].wait,
                 "row %d: %s", (int)row, xg_reason_text(d.reason));
        policy.feedback = (struct xg_feedback){0};
        observe(&call, &d, rows[row].cpu_s);
    }
    for (int64_t n = 2200; n <= 2700; n += 500) {
        static double memory[1];
        const struct xg_routine syevd = {
            .name = XG_ROUTINE_SYEVD,
            .type = XG_TYPE_D,
            .vectors = XG_VECTORS_ALL,
            .m = n,
            .n = n,
            .operand = {[XG_SLOT_A] = {memory, n, n, n}, [XG_SLOT_W] = {memory, n, 1, n}}};
        const struct xg_situation now = {.now_s = 1};
        struct xg_decision d;
        begin(17e-3);
        xg_decide(&policy, &conf, &(struct xg_call){.routine = &syevd}, &now, &d);
        XT_CHECK(fabs(d.cpu_s - (n == 2700 ? 0.98 : 0.593)) < 1e-3, "%g s", d.cpu_s);
        XT_CHECK(d.start == (n == 2700) && d.wait == (n == 2700), "%ld", (long)n);
        XT_CHECK(n == 2200 || (fabs(d.start_s - 1.8) < 1e-9 && fabs(d.gpu_s - 0.054) < 1e-3));
    }
}

/* --- Operands that stay ----------------------------------------------------------------------- */

/* Reads 80 MB of A, which take longer to the device than the product takes on the CPU. */
static struct xg_problem thin_product(bool unchanged, double spare_s)
{
    static char used;
    return (struct xg_problem){.m = 20000,
                               .n = 4,
                               .k = 1024,
                               .alpha = 1.0f,
                               .resident = (struct xg_resident_call *)&used,
                               .unchanged = {unchanged ? 2 : 0},
                               .spare_s = {spare_s, -INFINITY}};
}

/* What an operand would save if it stayed pays for a start, and then for its own way. */
static void test_thin(void)
{
    for (int unchanged = 0; unchanged < 2; unchanged++) {
        const struct xg_problem call = thin_product(unchanged, unchanged ? 1.0 : -INFINITY);
        struct xg_decision decision;
        int calls = 0;
        begin(0.0);
        do {
            decision = decide_at(1.0 + calls, XG_ENGINE_COLD, &call);
            XT_CHECK(decision.place == XG_PLACE_CPU && decision.earns == unchanged &&
                     decision.cpu_s < decision.gpu_s);
            observe(&call, &decision, decision.cpu_s);
        } while (++calls < 1000 && !decision.start);
        XT_CHECK(unchanged ? calls > 10 && calls < 500 : calls == 1000, "started after %d", calls);
        XT_CHECK(unchanged || policy.ledger.missed_s[GPU] == 0.0);
    }
    /* It counts before the credit covers it, if all that may be lent would. */
    for (int most_ms = 40; most_ms <= 60; most_ms += 20) {
        struct xg_problem call = thin_product(true, -0.05);
        call.loan_s = 1e-3 * most_ms;
        begin(0.0);
        XT_CHECK(decide_at(1.0, XG_ENGINE_COLD, &call).earns == (most_ms == 60));
        const struct xg_decision ready = decide_at(1.0, XG_ENGINE_READY, &call);
        XT_CHECK(ready.place == XG_PLACE_CPU && ready.unsent_s == 0);
    }
    static const struct {
        bool unchanged;
        double spare_s;
        const char *devices;
        enum xg_place place;
    } rows[] = {{false, -INFINITY, NULL, XG_PLACE_CPU},
                {true, -INFINITY, NULL, XG_PLACE_CPU},
                {true, 1e-4, NULL, XG_PLACE_CPU},
                {true, 1.0, "0,1", XG_PLACE_CPU},
                {true, 1.0, "1", XG_PLACE_GPU}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const struct xg_problem call = thin_product(rows[row].unchanged, rows[row].spare_s);
        const struct xg_conf several = {.mode = XG_MODE_AUTO, .devices = rows[row].devices};
        const struct xg_situation now = {
            .now_s = 1, .state = XG_ENGINE_READY, .cpu_threads = 16, .cores_left = 64};
        struct xg_decision decision;
        begin(0.0);
        xg_decide(&policy, &several, &(struct xg_call){.problem = &call}, &now, &decision);
        XT_CHECK(decision.place == rows[row].place, "row %d", (int)row);
        XT_CHECK(decision.leaves == (decision.place == XG_PLACE_GPU));
    }
}

/* Reads 100 MB of A, which take three times as long to the device as the CPU's product, and a tenth
 * of that if they are there. */
static struct xg_problem gemv(int unchanged, double held)
{
    struct xg_problem call = thin_product(unchanged, unchanged ? 1.0 : -INFINITY);
    call.op = XG_OP_GEMV;
    call.m = call.k = 5000;
    call.n = 1;
    call.unchanged[0] = unchanged;
    call.held[0] = held * 5000 * 5000;
    return call;
}

/* A GEMV goes to the GPU where its matrix is, or to leave it there after some uses without a
 * change; never for its own sake, even if all cores but one are gone and the link is faster. Each
 * call of a matrix that may stay is decided. */
static void test_gemv(void)
{
    for (int threads = 1; threads <= 16; threads += 15)
        for (int unchanged = 0; unchanged < 6; unchanged += 1 + !unchanged)
            for (int held = 0; held < 3; held++) {
                const struct xg_problem call = gemv(unchanged, 0.45 * held);
                const struct xg_situation now = {
                    .now_s = 1, .state = XG_ENGINE_READY, .cpu_threads = threads, .cores_left = 64};
                struct xg_decision decision;
                begin(0.0);
                xg_model_set_threads(&policy.model, threads);
                for (int i = 0; i < 9; i++) {
                    xg_decide(&policy, &conf, &(struct xg_call){.problem = &call}, &now, &decision);
                    const bool leaves = held < 2 && unchanged >= (threads > 1 && !held ? 3 : 2);
                    const bool there = held == 2 || leaves;
                    XT_CHECK(there == (decision.place == XG_PLACE_GPU) &&
                                 decision.leaves == leaves && !decision.settled &&
                                 decision.reason == XG_REASON_MODEL,
                             "%d threads, %d unchanged, %d held", threads, unchanged, held);
                    if (!there)
                        observe(&call, &decision, decision.cpu_s);
                }
            }
    const struct xg_conf several = {
        .mode = XG_MODE_AUTO, .resident = XG_RESIDENT_AUTO, .devices = "0,1"};
    const struct xg_situation ready = {.now_s = 1, .state = XG_ENGINE_READY, .cores_left = 64};
    const struct xg_problem there = gemv(3, 0.9);
    struct xg_decision elsewhere;
    begin(0.0);
    xg_decide(&policy, &several, &(struct xg_call){.problem = &there}, &ready, &elsewhere);
    XT_CHECK(elsewhere.place == XG_PLACE_CPU, "its lane may be another device's");
    for (int unchanged = 0; unchanged < 4; unchanged += 3) {
        const struct xg_problem call = gemv(unchanged, 0);
        struct xg_decision decision;
        int calls = 0;
        begin(0.0);
        xg_model_set_threads(&policy.model, 1);
        do {
            decision = decide_at(1.0 + calls, XG_ENGINE_COLD, &call);
            XT_CHECK(decision.place == XG_PLACE_CPU && decision.earns == (unchanged > 0));
            observe(&call, &decision, decision.cpu_s);
        } while (++calls < 1000 && !decision.start);
        XT_CHECK((calls < 1000) == (unchanged > 0), "%d calls", calls);
        XT_CHECK(!unchanged ||
                     policy.ledger.missed_s[GPU] >= policy.model.starts_s[XG_RESOURCE_GPU],
                 "it pays in full");
    }
}

/* The GPU must be faster by a margin; an operand that cannot stay is no reason to go there all the
 * same. */
static void test_margin(void)
{
    int close = 0;
    begin(0.0);
    for (int64_t n = 100; n < 600; n++) {
        struct xg_problem call = shape(n), plain = call;
        call.resident = thin_product(false, 0.0).resident;
        const struct xg_decision decision = decide_at(1.0, XG_ENGINE_READY, &call);
        XT_CHECK(!decision.leaves &&
                     decision.place == decide_at(1.0, XG_ENGINE_READY, &plain).place,
                 "n = %ld", (long)n);
        close += decision.place == XG_PLACE_CPU && decision.gpu_s < decision.cpu_s;
    }
    XT_CHECK(close > 0);
}

/* What a call on the GPU has saved is judged by the CPU of this run; before this run has seen it,
 * by the model and its error in an earlier run. */
static void test_saved(void)
{
    static const double ratios[] = {0.0, 1.0, 2.5, 0.5};
    const struct xg_problem call = shape(4096);
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        const double ratio = ratios[i] > 0.0 ? ratios[i] : 1.0;
        begin(0.0);
        policy.ledger.cpu_ratio = ratios[i];
        struct xg_decision decision = decide_at(1.0, XG_ENGINE_READY, &call);
        observe(&call, &decision, 0.01);
        XT_CHECK(fabs(policy.ledger.saved_s[GPU] - (ratio * decision.cpu_s - 0.01)) < 1e-9);
        begin(0.0);
        policy.ledger.cpu_ratio = ratios[i];
        decision = decide_at(1.0, XG_ENGINE_COLD, &call);
        observe(&call, &decision, 3 * decision.cpu_s);
        XT_CHECK(fabs(policy.ledger.cpu_s - 3 * policy.ledger.cpu_model_s) < 1e-9);
        for (int again = 0; again < 3; again++)
            observe(&call, &decision, 3 * decision.cpu_s);
        decision = decide_at(2.0, XG_ENGINE_READY, &call);
        observe(&call, &decision, 0.01);
        XT_CHECK(fabs(policy.ledger.saved_s[GPU] - (decision.cpu_s - 0.01)) < 1e-9);
    }
}

int main(void)
{
    test_walk();
    test_thin();
    test_gemv();
    test_margin();
    test_saved();
    test_residues();
    test_disturbed_minute();
    test_forever_awake();
    test_lost_phase();
    test_stopped();
    test_shared_pool();
    test_loops_on_shared_pool();
    test_inner();
    test_slow_at_first();
    return xt_done();
}
