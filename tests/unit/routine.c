/* SPDX-License-Identifier: MIT */
/* Where a LAPACK routine runs: the predictions beside measured times, starts, and what is learnt.
 */
#include "src/decide/decide.h"

#include <math.h>

#include "tests/support/xt.h"

/* Milliseconds inside the routine in double precision on an H100 and its host of 16 cores: OpenBLAS
 * 0.3.34 with quiet threads, and the GPU with copies (bench/routines.py). */
static const struct measured {
    enum xg_routine_name name;
    int64_t n;
    double cpu_ms, gpu_ms;
} measured[] = {
    {XG_ROUTINE_POTRF, 256, 0.33, 0.27}, {XG_ROUTINE_POTRF, 512, 1.13, 0.64},
    {XG_ROUTINE_POTRF, 1024, 4.0, 1.18}, {XG_ROUTINE_POTRF, 2048, 18, 2.7},
    {XG_ROUTINE_POTRF, 4096, 70, 7.4},   {XG_ROUTINE_GETRF, 256, 0.65, 0.50},
    {XG_ROUTINE_GETRF, 512, 3.0, 1.25},  {XG_ROUTINE_GETRF, 1024, 8.2, 2.6},
    {XG_ROUTINE_GETRF, 2048, 27, 6.4},   {XG_ROUTINE_GETRF, 4096, 122, 18.4},
    {XG_ROUTINE_GESV, 256, 1.15, 0.70},  {XG_ROUTINE_GESV, 1024, 9.7, 3.4},
    {XG_ROUTINE_GESV, 4096, 130, 21.4},  {XG_ROUTINE_GETRI, 256, 0.80, 0.55},
    {XG_ROUTINE_GETRI, 1024, 11.5, 2.4}, {XG_ROUTINE_GETRI, 4096, 285, 21},
    {XG_ROUTINE_TRTRI, 512, 0.87, 0.82}, {XG_ROUTINE_TRTRI, 2048, 14, 5.4},
    {XG_ROUTINE_GEQRF, 256, 1.7, 0.47},  {XG_ROUTINE_GEQRF, 1024, 24, 2.5},
    {XG_ROUTINE_GEQRF, 4096, 570, 18.4}, {XG_ROUTINE_SYEVD, 128, 1.25, 1.82},
    {XG_ROUTINE_SYEVD, 256, 5.5, 2.34},  {XG_ROUTINE_SYEVD, 512, 20, 5.5},
    {XG_ROUTINE_SYEVD, 1024, 78, 12.1},  {XG_ROUTINE_SYEVD, 2048, 380, 30},
    {XG_ROUTINE_SYEVD, 4096, 2300, 136}, {XG_ROUTINE_GESDD, 128, 3.6, 4.7},
    {XG_ROUTINE_GESDD, 256, 14, 6.0},    {XG_ROUTINE_GESDD, 512, 59, 13.8},
    {XG_ROUTINE_GESDD, 1024, 320, 34},   {XG_ROUTINE_GESDD, 2048, 1500, 101},
    {XG_ROUTINE_GEEV, 128, 13, 22.8},    {XG_ROUTINE_GEEV, 256, 57, 46},
    {XG_ROUTINE_GEEV, 512, 340, 96},     {XG_ROUTINE_GEEV, 1024, 1300, 219},
    {XG_ROUTINE_GEEV, 2048, 5200, 790},
};

static double matrix[1];

/* Least squares gain on tall matrices. */
static int64_t rows_of(enum xg_routine_name name, int64_t n)
{
    if (name == XG_ROUTINE_GELSS)
        return 512 * n;
    return name == XG_ROUTINE_GELSD || name == XG_ROUTINE_GELS ? 8 * n : n;
}

static struct xg_routine routine_of(enum xg_routine_name name, int64_t n)
{
    struct xg_routine routine = {.name = name,
                                 .type = XG_TYPE_D,
                                 .vectors = XG_VECTORS_ALL,
                                 .m = rows_of(name, n),
                                 .n = n,
                                 .k = 1,
                                 .pivot_bytes = 4};
    routine.operand[XG_SLOT_A] = (struct xg_matrix){matrix, n, n, n};
    if (name == XG_ROUTINE_SYEVD || name == XG_ROUTINE_GESDD)
        routine.operand[XG_SLOT_U] = routine.operand[XG_SLOT_A];
    if (routine.operand[XG_SLOT_U].at)
        routine.operand[XG_SLOT_W] = (struct xg_matrix){matrix, n, 1, n};
    if (name == XG_ROUTINE_GESDD)
        routine.operand[XG_SLOT_V] = routine.operand[XG_SLOT_A];
    return routine;
}

/* A prediction within a factor of two decides well where the sides differ by four and more. */
static void test_predictions(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        const struct measured *m = &measured[i];
        const struct xg_routine routine = routine_of(m->name, m->n);
        double cpu = 1e3 * xg_routine_cpu_seconds(&model, &routine) / m->cpu_ms;
        double gpu = 1e3 * xg_routine_gpu_seconds(&model, &routine) / m->gpu_ms;
        const char *name = xg_routine_text(m->name, XG_TYPE_D);
        XT_CHECK(cpu > 0.5 && cpu < 2, "%s %lld: CPU %.2f times", name, (long long)m->n, cpu);
        XT_CHECK(gpu > 0.5 && gpu < 2, "%s %lld: GPU %.2f times", name, (long long)m->n, gpu);
    }
}

/* Our kernels factorize real matrices of a cluster's rows; cuSOLVER takes longer. */
static void test_panels(void)
{
    static const enum xg_routine_name names[] = {XG_ROUTINE_GETRF, XG_ROUTINE_GESV,
                                                 XG_ROUTINE_GEQRF, XG_ROUTINE_GELS};
    const struct xg_model_device newer = {.facts = {.sm = 100, .sm_count = 132}};
    struct xg_model hopper, other;
    xg_model_init(&hopper, 16);
    other = hopper;
    xg_model_set_device(&other, &newer);
    XT_CHECK(hopper.gpu_panels && !other.gpu_panels);
    other = hopper;
    other.gpu_panels = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct xg_routine routine = routine_of(names[i], 512);
        routine.m = 8192;
        const double ours = xg_routine_gpu_seconds(&hopper, &routine);
        XT_CHECK(xg_routine_gpu_seconds(&other, &routine) > ours * 1.05, "%d", (int)names[i]);
        routine.m = 8193;
        XT_CHECK(xg_routine_gpu_seconds(&hopper, &routine) > ours * 1.05, "%d", (int)names[i]);
        routine.type = XG_TYPE_Z;
        routine.m = 8192;
        XT_CHECK(xg_routine_gpu_seconds(&hopper, &routine) ==
                     xg_routine_gpu_seconds(&other, &routine),
                 "%d", (int)names[i]);
    }
}

/* OpenBLAS needs little more for ten of n vectors than for none. */
static void test_some_vectors(void)
{
    static const struct {
        int64_t n;
        double cpu_ms;
    } few[] = {{1024, 34}, {2048, 133}, {4096, 1049}};
    struct xg_model machine;
    xg_model_init(&machine, 16);
    for (size_t i = 0; i < sizeof few / sizeof few[0]; i++) {
        struct xg_routine routine = routine_of(XG_ROUTINE_SYEVD, few[i].n);
        double all = xg_routine_cpu_seconds(&machine, &routine),
               gpu = xg_routine_gpu_seconds(&machine, &routine);
        routine.operand[XG_SLOT_W].rows = 10;
        double some = 1e3 * xg_routine_cpu_seconds(&machine, &routine) / few[i].cpu_ms;
        XT_CHECK(some > 0.5 && some < 2, "%lld: CPU %.2f times", (long long)few[i].n, some);
        XT_CHECK(1e-3 * some * few[i].cpu_ms < all);
        XT_CHECK(xg_routine_gpu_seconds(&machine, &routine) <= gpu &&
                     xg_routine_gpu_seconds(&machine, &routine) > 0.9 * gpu,
                 "%lld: the GPU computes all", (long long)few[i].n);
    }
}

/* GELSD of 4096 by 1024: 453 ms on the CPU. The gain grows with the rows for a column. */
static void test_least_squares(void)
{
    struct xg_model machine;
    xg_model_init(&machine, 16);
    double before = 1;
    for (int64_t m = 1024; m <= 65536; m *= 4) {
        struct xg_routine routine = routine_of(XG_ROUTINE_GELSD, 1024);
        routine.m = routine.operand[XG_SLOT_A].rows = m;
        double cpu = xg_routine_cpu_seconds(&machine, &routine);
        double gain = cpu / xg_routine_gpu_seconds(&machine, &routine);
        XT_CHECK(m != 4096 || (cpu > 0.3 && cpu < 0.6), "CPU: %g s", cpu);
        XT_CHECK(m == 1024 || gain > before, "%lld rows: %g times", (long long)m, gain);
        before = gain;
    }
    XT_CHECK(before > 2, "64 rows for a column: %g times", before);
}

/* Finite and positive for all routines, types and shapes; more arithmetic takes longer. */
static void test_bounds(void)
{
    static const int64_t sizes[] = {1, 64, 1000, 100000};
    struct xg_model model;
    xg_model_init(&model, 1);
    for (int name = 0; name < XG_ROUTINE_COUNT; name++)
        for (int type = 0; type < XG_TYPE_COUNT; type++) {
            double before[XG_SIDE_COUNT] = {0};
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                struct xg_routine routine = routine_of((enum xg_routine_name)name, sizes[i]);
                routine.type = (enum xg_type)type;
                double cpu = xg_routine_cpu_seconds(&model, &routine);
                double gpu = xg_routine_gpu_seconds(&model, &routine);
                XT_CHECK(isfinite(cpu) && cpu > before[XG_SIDE_CPU], "%d %d: %g", name, type, cpu);
                XT_CHECK(isfinite(gpu) && gpu > before[XG_SIDE_GPU], "%d %d: %g", name, type, gpu);
                XT_CHECK(xg_routine_flops(&routine) > 0, "%d: flops", name);
                before[XG_SIDE_CPU] = cpu;
                before[XG_SIDE_GPU] = gpu;
            }
        }
}

/* --- Decisions ------------------------------------------------------------------------------- */

static struct xg_policy policy;
static struct xg_conf conf;
static struct xg_situation now;

static const char *no_environment(void *ctx, const char *name)
{
    (void)ctx, (void)name;
    return NULL;
}

static void no_report(void *ctx, const char *text)
{
    (void)ctx, (void)text;
}

static void begin(enum xg_mode mode, enum xg_engine_state state, enum xg_library_state cusolver)
{
    memset(&policy, 0, sizeof policy);
    xg_model_init(&policy.model, 16);
    xg_conf_parse(&conf, no_environment, no_report, NULL);
    conf.mode = mode;
    now = (struct xg_situation){
        .now_s = 1, .state = state, .absence = XG_REASON_EARNING, .cusolver = cusolver};
}

static struct xg_decision decide_about(const struct xg_routine *routine)
{
    struct xg_decision decision;
    xg_decide(&policy, &conf, &(struct xg_call){.routine = routine}, &now, &decision);
    return decision;
}

static struct xg_decision decide(enum xg_routine_name name, int64_t n)
{
    const struct xg_routine routine = routine_of(name, n);
    return decide_about(&routine);
}

static void end(enum xg_routine_name name, int64_t n, const struct xg_decision *decision,
                double seconds)
{
    const struct xg_routine routine = routine_of(name, n);
    xg_decide_observe(&policy, decision->place == XG_PLACE_GPU ? XG_SIDE_GPU : XG_SIDE_CPU,
                      &(struct xg_call){.routine = &routine}, decision, seconds, 1);
}

static void observe_of(const struct xg_routine *routine, enum xg_side side, double seconds)
{
    const struct xg_decision decision = decide_about(routine);
    xg_decide_observe(&policy, side, &(struct xg_call){.routine = routine}, &decision, seconds, 1);
}

static void observe(enum xg_routine_name name, int64_t n, enum xg_side side, double seconds)
{
    const struct xg_routine routine = routine_of(name, n);
    observe_of(&routine, side, seconds);
}

/* The first call is not learnt from. */
static void learn(enum xg_routine_name name, int64_t n, enum xg_side side, double seconds)
{
    for (int call = 0; call < 6; call++)
        observe(name, n, side, seconds);
}

static bool is(struct xg_decision decision, enum xg_place place, enum xg_reason reason)
{
    return decision.place == place && decision.reason == reason;
}

static void test_modes(void)
{
    begin(XG_MODE_GPU, XG_ENGINE_COLD, XG_LIBRARY_COLD);
    struct xg_decision forced = decide(XG_ROUTINE_POTRF, 2);
    XT_CHECK(is(forced, XG_PLACE_GPU, XG_REASON_MODE) && forced.wait);
    begin(XG_MODE_COMPARE, XG_ENGINE_COLD, XG_LIBRARY_COLD);
    struct xg_decision compared = decide(XG_ROUTINE_POTRF, 2);
    XT_CHECK(is(compared, XG_PLACE_BOTH, XG_REASON_MODE) && compared.wait);
    begin(XG_MODE_COMPARE, XG_ENGINE_NONE, XG_LIBRARY_COLD);
    XT_CHECK(is(decide(XG_ROUTINE_POTRF, 2), XG_PLACE_CPU, XG_REASON_NO_GPU));
    begin(XG_MODE_CPU, XG_ENGINE_READY, XG_LIBRARY_READY);
    XT_CHECK(is(decide(XG_ROUTINE_GESDD, 4096), XG_PLACE_CPU, XG_REASON_MODE));
    begin(XG_MODE_AUTO, XG_ENGINE_NONE, XG_LIBRARY_COLD);
    XT_CHECK(is(decide(XG_ROUTINE_GESDD, 4096), XG_PLACE_CPU, XG_REASON_NO_GPU));
    now.absence = XG_REASON_NO_DRIVER;
    XT_CHECK(is(decide(XG_ROUTINE_GESDD, 4096), XG_PLACE_CPU, XG_REASON_NO_DRIVER));
    begin(XG_MODE_AUTO, XG_ENGINE_FORKED, XG_LIBRARY_COLD);
    XT_CHECK(is(decide(XG_ROUTINE_GESDD, 4096), XG_PLACE_CPU, XG_REASON_FORKED));
    begin(XG_MODE_GPU, XG_ENGINE_READY, XG_LIBRARY_READY);
    now.cusolver = XG_LIBRARY_ABSENT;
    XT_CHECK(is(decide(XG_ROUTINE_GESDD, 4096), XG_PLACE_CPU, XG_REASON_KERNEL));
}

/* SYEV and GESVD of 2048 took 9 and 79 s, so that the first call waits for a start. What was
 * measured of them, or without vectors, says nothing of SYEVD and GESDD. */
static void test_rotations(void)
{
    static const enum xg_routine_name names[] = {XG_ROUTINE_SYEVD, XG_ROUTINE_GESDD};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        begin(XG_MODE_AUTO, XG_ENGINE_COLD, XG_LIBRARY_COLD);
        struct xg_routine routine = routine_of(names[i], 2048);
        struct xg_decision before = decide(names[i], 2048);
        routine.rotates = true;
        struct xg_decision slow = decide_about(&routine);
        XT_CHECK(slow.place == XG_PLACE_GPU && slow.wait && slow.cpu_s > 2 * before.cpu_s);
        for (int call = 0; call < 4; call++) {
            routine.rotates = call < 2;
            routine.vectors = call < 2 ? XG_VECTORS_ALL : XG_VECTORS_NONE;
            observe_of(&routine, XG_SIDE_CPU, 0.2 * slow.cpu_s);
            XT_CHECK(fabs(decide(names[i], 2048).cpu_s - before.cpu_s) < 1e-9);
        }
        routine.rotates = true;
        XT_CHECK(xg_routine_cpu_seconds(&policy.model, &routine) < before.cpu_s, "without vectors");
    }
}

/* With everything ready the faster side is taken: the GPU for a large, the CPU for a small one. */
static void test_ready(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_READY, XG_LIBRARY_READY);
    for (int name = 0; name < XG_ROUTINE_COUNT; name++) {
        struct xg_decision large = decide((enum xg_routine_name)name, 6000);
        XT_CHECK(large.gpu_s < large.cpu_s && is(large, XG_PLACE_GPU, XG_REASON_MODEL),
                 "%d: GPU %g s, CPU %g s", name, large.gpu_s, large.cpu_s);
    }
    XT_CHECK(is(decide(XG_ROUTINE_POTRF, 64), XG_PLACE_CPU, XG_REASON_MODEL));
}

/* Decides about GETRF of n until a start begins; each call then ends on the CPU, as predicted.
 * Returns what the calls have missed; < 0: no start. */
static double missed_until_start(int64_t n, bool ends)
{
    double missed_s = 0;
    for (int call = 0; call < 1000; call++) {
        struct xg_decision decision = decide(XG_ROUTINE_GETRF, n);
        if (decision.start)
            return missed_s;
        XT_CHECK(is(decision, XG_PLACE_CPU, XG_REASON_EARNING) && decision.earns);
        missed_s += decision.cpu_s - decision.gpu_s;
        if (ends)
            end(XG_ROUTINE_GETRF, n, &decision, decision.cpu_s);
    }
    return -1;
}

/* A long call waits for the start. Others begin one when those that have ended on the CPU would
 * have saved as much time as it takes, and never by their own saving. */
static void test_start(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_COLD, XG_LIBRARY_COLD);
    struct xg_decision one = decide(XG_ROUTINE_GESDD, 4096);
    XT_CHECK(is(one, XG_PLACE_GPU, XG_REASON_MODEL) && one.wait && one.start);
    XT_CHECK(one.start_s >= one.cpu_s && one.start_s <= fmax(one.cpu_s, 2), "%g s", one.start_s);
    begin(XG_MODE_AUTO, XG_ENGINE_COLD, XG_LIBRARY_COLD);
    XT_CHECK(missed_until_start(3000, false) < 0, "no call has ended");
    double missed_s = missed_until_start(3000, true);
    XT_CHECK(missed_s >= 0.6 && missed_s < 0.9, "%g s", missed_s);
    now.cusolver = XG_LIBRARY_UNDER_WAY;
    XT_CHECK(decide(XG_ROUTINE_GETRF, 3000).start, "the engine's start is paid for, too");
    begin(XG_MODE_AUTO, XG_ENGINE_COLD, XG_LIBRARY_COLD);
    policy.ledger.missed_s[1 << XG_RESOURCE_GPU] = 1;
    XT_CHECK(missed_until_start(3000, false) == 0, "products have missed as much");
    begin(XG_MODE_AUTO, XG_ENGINE_READY, XG_LIBRARY_COLD);
    policy.ledger.missed_s[1 << XG_RESOURCE_GPU] = 1;
    XT_CHECK(missed_until_start(3000, false) < 0, "products do not pay for cuSOLVER");
    now.cusolver = XG_LIBRARY_READY;
    XT_CHECK(is(decide(XG_ROUTINE_GETRF, 3000), XG_PLACE_GPU, XG_REASON_MODEL));
}

/* While a start runs, a call waits for the rest of it if it then finishes first. */
static void test_rest_of_start(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_STARTING, XG_LIBRARY_READY);
    struct xg_decision early = decide(XG_ROUTINE_GETRF, 3000);
    XT_CHECK(is(early, XG_PLACE_CPU, XG_REASON_STARTING) && !early.start);
    now.now_s += policy.model.starts_s[XG_RESOURCE_GPU];
    struct xg_decision late = decide(XG_ROUTINE_GETRF, 3000);
    XT_CHECK(is(late, XG_PLACE_GPU, XG_REASON_MODEL) && late.wait);
}

/* One call of SYEVD that takes as long as a start finds the GPU too late, and starts nothing. */
static void test_one_call(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_COLD, XG_LIBRARY_COLD);
    struct xg_decision one = decide(XG_ROUTINE_SYEVD, 2200);
    XT_CHECK(one.cpu_s > 0.5 && one.cpu_s < 0.7, "%g s", one.cpu_s);
    XT_CHECK(is(one, XG_PLACE_CPU, XG_REASON_EARNING) && !one.start);
}

/* What is measured overrules the model, for shapes near it too; a first call does not. */
static void test_learning(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_READY, XG_LIBRARY_READY);
    struct xg_decision before = decide(XG_ROUTINE_SYEVD, 1000);
    XT_CHECK(before.place == XG_PLACE_GPU);
    observe(XG_ROUTINE_SYEVD, 1000, XG_SIDE_GPU, 10 * before.cpu_s);
    XT_CHECK(is(decide(XG_ROUTINE_SYEVD, 1000), XG_PLACE_GPU, XG_REASON_MODEL), "a first call");
    observe(XG_ROUTINE_SYEVD, 1000, XG_SIDE_GPU, 10 * before.cpu_s);
    XT_CHECK(is(decide(XG_ROUTINE_SYEVD, 1000), XG_PLACE_CPU, XG_REASON_MODEL));
    XT_CHECK(decide(XG_ROUTINE_SYEVD, 1100).place == XG_PLACE_CPU, "a shape like it");
    XT_CHECK(decide(XG_ROUTINE_GESDD, 1000).place == XG_PLACE_GPU, "another routine");
    learn(XG_ROUTINE_SYEVD, 1000, XG_SIDE_CPU, 100 * before.cpu_s);
    XT_CHECK(decide(XG_ROUTINE_SYEVD, 1000).place == XG_PLACE_GPU, "the CPU is slower still");
    observe(XG_ROUTINE_SYEVD, 1000, XG_SIDE_GPU, NAN);
    observe(XG_ROUTINE_SYEVD, 1000, XG_SIDE_GPU, 0);
    struct xg_decision after = decide(XG_ROUTINE_SYEVD, 1000);
    XT_CHECK(isfinite(after.gpu_s) && after.gpu_s > 0);
    /* Other calls' places do not change where the same bits are asked for. */
    conf.reproducible = 1;
    XT_CHECK(decide(XG_ROUTINE_SYEVD, 1000).gpu_s == before.gpu_s);
}

/* Repeats GETRF of 1000 where it is placed; the first `slow` calls on the GPU take 50 times as long
 * as predicted. Returns how many ran on the CPU. */
static int calls_on_cpu(int calls, int slow)
{
    int on_gpu = 0;
    for (int call = 0; call < calls; call++) {
        const struct xg_decision decision = decide(XG_ROUTINE_GETRF, 1000);
        const bool gpu = decision.place == XG_PLACE_GPU;
        on_gpu += gpu;
        end(XG_ROUTINE_GETRF, 1000, &decision,
            decision.model_s[gpu] * (gpu && on_gpu <= slow ? 50 : 1));
    }
    return calls - on_gpu;
}

/* A call of odd length on the GPU does not bar it; two of them do so neither for good nor for much
 * larger matrices. */
static void test_bad_luck(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_READY, XG_LIBRARY_READY);
    XT_CHECK(calls_on_cpu(50, 1) <= 1, "a first call of odd length");
    observe(XG_ROUTINE_GETRF, 1000, XG_SIDE_GPU, 50 * decide(XG_ROUTINE_GETRF, 1000).gpu_s);
    XT_CHECK(decide(XG_ROUTINE_GETRF, 1000).place == XG_PLACE_GPU, "a later one");
    begin(XG_MODE_AUTO, XG_ENGINE_READY, XG_LIBRARY_READY);
    XT_CHECK(calls_on_cpu(10, 2) == 8);
    XT_CHECK(decide(XG_ROUTINE_GETRF, 8000).place == XG_PLACE_GPU, "a matrix eight times as large");
    int calls = calls_on_cpu(5000, 0);
    XT_CHECK(calls > 200 && calls < 500, "tried again after %d calls", calls);
    XT_CHECK(calls_on_cpu(100, 0) <= 1, "the trial gained");
}

/* Tall matrices: two cores take 0.47 and 1.6 s, and a process must not wait for a start that takes
 * longer. */
static void test_tall(void)
{
    static const int64_t widths[] = {14, 40};
    struct xg_model machine;
    xg_model_init(&machine, 16);
    for (int i = 0; i < 2; i++) {
        struct xg_routine routine = routine_of(XG_ROUTINE_GESDD, widths[i]);
        routine.m = 1000000;
        double cpu = xg_routine_cpu_seconds(&machine, &routine);
        XT_CHECK(cpu > 0.1 && cpu < 1.6, "%lld columns: %g s", (long long)widths[i], cpu);
    }
}

/* An error is in part taken for calls up to twice as large, and for no others; errors of small
 * calls, of any number of shapes, say little of a large one that has been measured. */
static void test_sizes(void)
{
    begin(XG_MODE_AUTO, XG_ENGINE_READY, XG_LIBRARY_READY);
    double small = decide(XG_ROUTINE_GESDD, 100).cpu_s,
           large = decide(XG_ROUTINE_GESDD, 1000).cpu_s;
    double twice = decide(XG_ROUTINE_GESDD, 2000).cpu_s, far = decide(XG_ROUTINE_GESDD, 8000).cpu_s;
    learn(XG_ROUTINE_GESDD, 1000, XG_SIDE_CPU, 1.9 * large);
    XT_CHECK(decide(XG_ROUTINE_GESDD, 2000).cpu_s > 1.3 * twice);
    XT_CHECK(decide(XG_ROUTINE_GESDD, 8000).cpu_s == far);
    for (int64_t n = 64; n < 300; n++)
        observe(XG_ROUTINE_GESDD, n, XG_SIDE_CPU, 0.1 * small);
    XT_CHECK(fabs(decide(XG_ROUTINE_GESDD, 1000).cpu_s / large - 1.9) < 0.25);
    XT_CHECK(decide(XG_ROUTINE_GESDD, 100).cpu_s < 0.2 * small);
}

int main(void)
{
    test_predictions();
    test_panels();
    test_some_vectors();
    test_rotations();
    test_least_squares();
    test_bounds();
    test_modes();
    test_ready();
    test_start();
    test_rest_of_start();
    test_one_call();
    test_learning();
    test_sizes();
    test_bad_luck();
    test_tall();
    return xt_done();
}
