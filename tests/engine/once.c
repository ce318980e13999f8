/* SPDX-License-Identifier: MIT */
/* A call is decided once, and is computed where the decision says. */
#include "scenario.h"
#include "src/decide/decide.h"
#include "src/device/absence.h"
#include "src/dispatch.h"
#include "src/run.h"
#include "tests/support/guarded.h"

/* The linker puts these functions in front of the engine's. overruled: though the GPU was ready. */
static long decided, ran, overruled;

void __real_xg_decide(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_call *call, const struct xg_situation *now,
                      struct xg_decision *decision);
void __wrap_xg_decide(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_call *call, const struct xg_situation *now,
                      struct xg_decision *decision);
bool __real_xg_run(const struct xg_run *run, enum xg_place place, enum xg_reason reason);
bool __wrap_xg_run(const struct xg_run *run, enum xg_place place, enum xg_reason reason);

void __wrap_xg_decide(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_call *call, const struct xg_situation *now,
                      struct xg_decision *decision)
{
    decided++;
    __real_xg_decide(policy, conf, call, now, decision);
}

bool __wrap_xg_run(const struct xg_run *run, enum xg_place place, enum xg_reason reason)
{
    bool ready = xg_engine_state_get() == XG_ENGINE_READY;
    ran++;
    overruled += ready && (place != run->decision->place || reason != run->decision->reason);
    return __real_xg_run(run, place, reason);
}

/* An overlap is looked for only about calls that would leave the CPU. */
static long searched;

bool __real_xg_overlap_find(const struct xg_problem *call);
bool __wrap_xg_overlap_find(const struct xg_problem *call);

bool __wrap_xg_overlap_find(const struct xg_problem *call)
{
    searched++;
    return __real_xg_overlap_find(call);
}

/* Device files show a GPU, so that cuSOLVER is loaded before the GPU starts. */
static bool has_files;

enum xg_reason __real_xg_absence_find(enum xg_absence_depth depth);
enum xg_reason __wrap_xg_absence_find(enum xg_absence_depth depth);

enum xg_reason __wrap_xg_absence_find(enum xg_absence_depth depth)
{
    return has_files ? XG_REASON_EARNING : __real_xg_absence_find(depth);
}

static void check_decided(long calls)
{
    XT_CHECK(decided == calls && ran == calls, "%ld decisions, %ld runs", decided, ran);
    XT_CHECK(overruled == 0, "%ld overruled", overruled);
}

static void products(void)
{
    static const struct fx_shape shapes[] = {{120, 150, 70, true, false, 1.5f, 0.5f, 1},
                                             {1, 1, 1, false, false, 1, 0, 0},
                                             {300, 300, 300, false, true, 1, 1, 0}};
    fx_fake();
    for (int i = 0; i < 6; i++) {
        struct fx_product product = fx_product_create(&shapes[i % 3], 3);
        struct xg_cpu cpu = fx_product_cpu(&product);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        fx_product_check(&product, 1, "dispatch");
        fx_product_destroy(&product);
        check_decided(i + 1);
    }
}

/* The GPU computes the Cholesky factor of 4 I. */
static void factorize(int64_t n)
{
    double *a = calloc((size_t)(n * n), sizeof *a);
    long wholes = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    const struct xg_routine potrf = {.name = XG_ROUTINE_POTRF,
                                     .type = XG_TYPE_D,
                                     .uplo = XG_LOWER,
                                     .m = n,
                                     .n = n,
                                     .operand = {[XG_SLOT_A] = {a, n, n, n}}};
    if (!a)
        exit(XT_HARD);
    for (int64_t i = 0; i < n; i++)
        a[i * n + i] = 4;
    XT_CHECK(xg_dispatch(&(struct xg_call){.symbol = "test_dpotrf", .routine = &potrf}, &cpu) &&
                 wholes == 0,
             "not on the GPU");
    check_decided(1);
    for (int64_t i = 0; i < n * n; i++)
        XT_CHECK(a[i] == (i % (n + 1) ? 0 : 2), "%ld: %g", (long)i, a[i]);
    free(a);
}

static void routine(void)
{
    fx_fake();
    factorize(80);
}

/* It waits for a start that is under way. */
static void routine_starting(void)
{
    fx_fake();
    has_files = true;
    xg_engine_start(xg_conf_get());
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_STARTING, "state %d", xg_engine_state_get());
    factorize(1000);
}

/* A batch that stays on the CPU, again and again: its operands are not searched for overlaps, which
 * takes memory of malloc while a handler may leave. */
static void batch_stays(void)
{
    enum { COUNT = 50, N = 20 };
    static float memory[3][COUNT * N * N];
    const struct xg_batch batch = {
        .count = COUNT, .stride_a = N * N, .stride_b = N * N, .stride_c = N * N};
    const struct xg_problem call = {.op = XG_OP_GEMM_BATCH,
                                    .m = COUNT * N,
                                    .n = N,
                                    .k = N,
                                    .a = memory[0],
                                    .lda = N,
                                    .b = memory[1],
                                    .ldb = N,
                                    .c = memory[2],
                                    .ldc = N,
                                    .alpha = 1,
                                    .batch = &batch};
    long wholes = 0;
    struct xg_cpu cpu = fx_slow_cpu(&wholes);
    cpu.own_pool = true;
    cpu.threads = fx_sixteen;
    fx_fake();
    for (int i = 0; i < 5; i++)
        xg_dispatch(&(struct xg_call){.symbol = "test_batch", .problem = &call}, &cpu);
    check_decided(5);
    XT_CHECK(wholes == 5 && searched == 0, "%ld on the CPU, %ld searches", wholes, searched);
}

static const struct fx_scenario scenarios[] = {
    {"products", products, "XGEMM_MODE=gpu", NULL, NULL},
    {"products", products, "XGEMM_MODE=cpu XGEMM_STATS=1", "0 on the GPU", NULL},
    {"products", products, "XGEMM_MODE=auto XGEMM_STATS=1", "products", NULL},
    {"products", products, "XGEMM_MODE=compare", "compared", NULL},
    {"products", products, "XGEMM_REPRODUCIBLE=1", NULL, NULL},
    {"routine", routine, "XGEMM_MODE=gpu XGEMM_STATS=1", "test_dpotrf", NULL},
    {"routine_starting", routine_starting, "XGEMM_REPRODUCIBLE=1 FAKECUDA_INIT_MS=300", NULL, NULL},
    {"batch_stays", batch_stays, "XGEMM_MODE=auto", NULL, NULL},
};

FX_SCENARIO_MAIN(scenarios)
