/* SPDX-License-Identifier: MIT */
/* Which operations go to a device: by XGEMM_OPERATIONS, and if the device lacks a kernel for them.
 * Operations on a device are right, also out of core and when the device fails. */
#include <link.h>
#include <pthread.h>

#include "scenario.h"
#include "src/dispatch.h"
#include "src/engine/engine.h"
#include "tests/support/guarded.h"
#include "tests/support/xt_level3.h"

static struct fakecuda fake;

static void begin(void)
{
    fake = fx_fake();
}

/* A product of floats. */
static void compute_single(struct fx_product *product)
{
    static const struct fx_shape shape = {120, 150, 70, true, false, 1.5f, 0.5f, 1};
    *product = fx_product_create(&shape, 3);
    struct xg_cpu cpu = fx_product_cpu(product);
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product->call}, &cpu);
}

/* The device must compute it. */
static void run_single(void)
{
    struct fx_product product;
    compute_single(&product);
    fx_product_check(&product, 1, "of floats");
    XT_CHECK(product.count.wholes == 0 && product.count.parts == 0, "by the CPU");
    fx_product_destroy(&product);
}

/* Computes three products of doubles; counts the right ones and those that the CPU computed whole.
 * It checks nothing with XT_CHECK, whose counts belong to one thread. */
struct doubles {
    long right, wholes;
};

static struct doubles multiply_doubles(void)
{
    enum { N = 40 };
    double a[N * N], b[N * N], c[N * N];
    struct xg_problem p = xt_problem(XG_TYPE_D, N, N, N, false, false, a, b, c);
    struct fx_cpu_count count = {.call = &p};
    struct xg_cpu cpu = fx_cpu(&count);
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 7;
        b[i] = i / N == i % N;
    }
    struct doubles doubles = {0, 0};
    for (int turn = 0; turn < 3; turn++) {
        memset(c, 0xff, sizeof c);
        xg_dispatch(&(struct xg_call){.symbol = "test_dgemm", .problem = &p}, &cpu);
        doubles.right += !memcmp(a, c, sizeof c);
    }
    doubles.wholes = count.wholes;
    return doubles;
}

/* Computes three products, which must be right. Returns how many the CPU computed whole. */
static long run_doubles(void)
{
    struct doubles doubles = multiply_doubles();
    XT_CHECK(doubles.right == 3, "A times one is not A");
    return doubles.wholes;
}

static void left_out(void)
{
    begin();
    XT_CHECK(run_doubles() == 3 && fake.calls(NULL) == 0, "%ld driver calls", fake.calls(NULL));
}

/* How many bytes a GEMV's matrix must have to be looked at. */
static void gemv_floor(double least_bytes)
{
    begin();
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++) {
        const int kind = xg_kind(XG_OP_GEMV, (enum xg_type)type);
        for (int64_t n = 1; n < 100000000; n = 2 * n + 1) {
            const bool wanted =
                512.0 * (double)n * (double)xg_type_bytes((enum xg_type)type) >= least_bytes;
            XT_CHECK(xg_dispatch_wants(kind, 1, n, 512) == wanted &&
                         xg_dispatch_wants(kind, 512, 1, n) == wanted,
                     "%s of %ld", xg_kind_name(kind), (long)n);
        }
    }
}

static void gemv_small(void)
{
    gemv_floor(32 << 20);
}

static void gemv_none(void)
{
    gemv_floor(HUGE_VAL);
}

static void gemv_every(void)
{
    gemv_floor(0);
}

static void quiet(void)
{
    begin();
    XT_CHECK(xg_dispatch_wants(XG_KIND_SGEMM, 64, 64, 64), "SGEMM is not wanted");
    XT_CHECK(xg_dispatch_wants(xg_kind(XG_OP_GEMM, XG_TYPE_D), 64, 64, 64),
             "mode gpu asks for all");
    left_out();
}

static void automatic(void)
{
    begin();
    XT_CHECK(xg_dispatch_wants(XG_KIND_SGEMM, 640, 640, 640), "SGEMM is not wanted");
    XT_CHECK(!xg_dispatch_wants(xg_kind(XG_OP_GEMM, XG_TYPE_D), 640, 640, 640), "wanted in vain");
}

static void named(void)
{
    begin();
    XT_CHECK(run_doubles() == 0 && fake.calls("cublasCreate") == 0, "cuBLAS was loaded in vain");
    run_single();
}

/* A device without FP64 tensor cores. */
static void older(void)
{
    begin();
    XT_CHECK(run_doubles() == 0 && fake.calls("cublasDgemm") == 3, "%ld calls of cuBLAS",
             fake.calls("cublasDgemm"));
    run_single();
}

/* Nothing computes doubles on this device. The third attempt shows that, and SGEMM still uses the
 * device. The first two are reported as failures; lack of memory is not their cause. */
static void unserved(void)
{
    begin();
    XT_CHECK(run_doubles() == 3 && fake.calls("cublasDgemm") == 0, "computed by what?");
    XT_CHECK(fake.calls("cublasCreate") == 3, "%ld looks", fake.calls("cublasCreate"));
    run_single();
}

static struct doubles beside; /* the other thread's results, after its end */

static void *double_main(void *arg)
{
    beside = multiply_doubles();
    return arg;
}

/* The dynamic linker calls this with a lock held, as it calls constructors of libraries. */
static int with_linker_locked(struct dl_phdr_info *info, size_t size, void *thread)
{
    enum { ARRIVES_US = 200000 };
    (void)info, (void)size;
    *(pthread_t *)thread = xt_thread_start(double_main, NULL);
    usleep(ARRIVES_US); /* until that thread waits for the one that needs this lock */
    run_single();
    return 1;
}

/* Products block signals: this thread takes the watchdog's. */
static void *idle_main(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* A thread that waits for cuBLAS delays no product of a thread that holds the linker's lock. */
static void linker_locked(void)
{
    pthread_t thread;
    begin();
    xt_thread_start(idle_main, NULL);
    run_single();
    dl_iterate_phdr(with_linker_locked, &thread);
    pthread_join(thread, NULL);
    XT_CHECK(beside.right == 3 && beside.wholes == 0, "%ld right, %ld by the CPU", beside.right,
             beside.wholes);
    XT_CHECK(fake.calls("cublasDgemm") == 3, "%ld calls of cuBLAS", fake.calls("cublasDgemm"));
}

/* Like a constructor that waits for a thread of its own. */
static int joins_with_linker_locked(struct dl_phdr_info *info, size_t size, void *nothing)
{
    (void)info, (void)size, (void)nothing;
    XT_CHECK(!pthread_join(xt_thread_start(double_main, NULL), NULL), "no end");
    return 1;
}

/* A lock of the linker does not delay a product that needs cuBLAS: the CPU computes it. */
static void linker_joined(void)
{
    begin();
    run_single();
    dl_iterate_phdr(joins_with_linker_locked, NULL);
    XT_CHECK(beside.right == 3 && beside.wholes == 3, "%ld right, %ld by the CPU", beside.right,
             beside.wholes);
    for (int i = 0; i < 1000 && fake.calls("cublasDgemm") == 0; i++) {
        multiply_doubles();
        usleep(1000);
    }
    XT_CHECK(fake.calls("cublasDgemm") > 0, "cuBLAS never came");
}

/* The result is not checked: one thread alone counts checks. */
static void *single_main(void *unused)
{
    struct fx_product product;
    compute_single(&product);
    fx_product_destroy(&product);
    return unused;
}

/* cuBLAS loads while other products have all lanes and a product that needs it waits for one. */
static void lanes_taken(void)
{
    pthread_t singles[XG_POLICY_LANES];
    begin();
    xg_engine_wait(xg_conf_get());
    for (int i = 0; i < XG_POLICY_LANES; i++) {
        fake.fail("cuStreamWaitEvent", 1 + i, -1, FAKECUDA_ONCE);
        singles[i] = xt_thread_start(single_main, NULL);
    }
    while (fake.calls("cuStreamWaitEvent") < XG_POLICY_LANES)
        usleep(1000);
    const pthread_t thread = xt_thread_start(double_main, NULL);
    while (fake.calls("cublasCreate") == 0)
        usleep(1000);
    fake.release();
    pthread_join(thread, NULL);
    for (int i = 0; i < XG_POLICY_LANES; i++)
        pthread_join(singles[i], NULL);
    XT_CHECK(beside.right == 3 && beside.wholes == 0, "%ld right, %ld by the CPU", beside.right,
             beside.wholes);
}

/*
 * Problems that only cuBLAS computes stay on the CPU while cuBLAS is being loaded, here until the
 * test releases the load; then they go to the GPU.
 */
static void awaited(void)
{
    enum { N = 100, MORE = 10, ENOUGH = 1000 };
    static double a[N * N][2], b[N * N][2], c[N * N][2];
    struct xg_problem p = xt_problem(XG_TYPE_Z, N, N, N, false, false, a, b, c);
    long wholes = 0, products = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    for (int i = 0; i < N * N; i++) {
        a[i][0] = i % 7;
        a[i][1] = i % 5;
        b[i][0] = i / N == i % N;
    }
    begin();
    while (products < ENOUGH && fake.calls("cublasCreate") == 0) {
        xg_dispatch(&(struct xg_call){.symbol = "test_zgemm", .problem = &p}, &cpu);
        products++;
    }
    for (int i = 0; i < MORE; i++, products++)
        xg_dispatch(&(struct xg_call){.symbol = "test_zgemm", .problem = &p}, &cpu);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    XT_CHECK(wholes == products && fake.calls("cublasCreate") == 1, "%ld of %ld on the CPU", wholes,
             products);
    fake.release();
    for (; products < ENOUGH && wholes == products; products++)
        xg_dispatch(&(struct xg_call){.symbol = "test_zgemm", .problem = &p}, &cpu);
    XT_CHECK(wholes == products - 1, "%ld of %ld on the CPU", wholes, products);
    XT_CHECK(!memcmp(a, c, sizeof c), "A times one is not A");
}

/* The process ends while cuBLAS is being loaded; the load never ends. */
static void leave_while_looking(void)
{
    enum { N = 100, ENOUGH = 1000 };
    static double a[N * N][2], b[N * N][2], c[N * N][2];
    struct xg_problem p = xt_problem(XG_TYPE_Z, N, N, N, false, false, a, b, c);
    long wholes = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    begin();
    while (wholes < ENOUGH && fake.calls("cublasCreate") == 0)
        xg_dispatch(&(struct xg_call){.symbol = "test_zgemm", .problem = &p}, &cpu);
    exit(wholes < ENOUGH ? XT_PASS : XT_FAIL);
}

static void exit_while_looking(void)
{
    enum { MOST_S = 20 }; /* the exit may wait for a part of it */
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(MOST_S);
        leave_while_looking();
    }
    xt_child_wait(pid, "the child");
}

/* --- Every operation and type ---------------------------------------------------------------- */

static long cpu_wholes, cpu_parts, all_problems;

/* In-place problems of double complex numbers, larger than the memory that they get below. */
static void run_problem(int kind, int form, double alpha)
{
    const int64_t wide = xt_level3_is_in_place(xg_kind_op(kind)) ? 1500 : 260;
    const int64_t size[] = {form & 1 ? wide : 120, form & 1 ? 120 : wide, 50};
    const double scalars[] = {alpha, -alpha, form & 4 ? 0.5 : 0, form & 4 ? -1 : 0};
    const struct xt_level3_shape s = xt_level3_of(kind, form, size, scalars);
    struct xt_level3 o = xt_level3_create(&s, (uint64_t)form + 1);
    struct fx_cpu_count count = {.call = &o.p};
    struct xg_cpu cpu = fx_cpu(&count);
    xg_dispatch(&(struct xg_call){.symbol = xg_kind_name(kind), .problem = &o.p}, &cpu);
    xt_level3_check(&o, xt_level3_name(&s));
    cpu_wholes += count.wholes;
    cpu_parts += count.parts;
    all_problems++;
    xt_level3_destroy(&o);
}

/* Each operation of each type in some of its forms; together they cover all forms. */
static void run_all(double alpha)
{
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (int turn = 0; turn < 3; turn++)
            run_problem(kind, (kind + 7 * turn) % XT_LEVEL3_FORMS, alpha);
}

static void every(void)
{
    begin();
    run_all(2);
    XT_CHECK(cpu_wholes == 0 && cpu_parts == 0, "%ld and %ld by the CPU", cpu_wholes, cpu_parts);
}

/* The device is lost during the first in-place problem. */
static void cut_off(void)
{
    begin();
    for (int form = 0; form < XT_LEVEL3_FORMS; form++)
        run_problem(xg_kind(form & 8 ? XG_OP_TRSM : XG_OP_TRMM, XG_TYPE_Z), form, 1);
    XT_CHECK(fake.faults("exec") > 0, "the fault did not strike");
    XT_CHECK(cpu_wholes < all_problems && cpu_wholes + cpu_parts > 0, "%ld of %ld by the CPU",
             cpu_wholes, all_problems);
    run_all(1);
}

/* With alpha 0 the operation multiplies nothing and reads no structured operand. */
static void nothing(void)
{
    begin();
    run_all(0);
    XT_CHECK(cpu_wholes == all_problems && fake.calls("exec") == 0, "%ld of %ld by the CPU",
             cpu_wholes, all_problems);
}

/* A batch of large products: each fills the pipeline and is computed as its own product. */
static void run_alone(enum xg_op op, enum xg_type type)
{
    const struct xt_level3_shape s = {.op = op,
                                      .type = type,
                                      .m = 3 * 2600,
                                      .n = 2600,
                                      .k = 3,
                                      .alpha = 2,
                                      .beta = 1,
                                      .instances = 3};
    begin();
    struct xt_level3 o = xt_level3_create(&s, 1);
    struct fx_cpu_count count = {.call = &o.p};
    struct xg_cpu cpu = fx_cpu(&count);
    xg_dispatch(&(struct xg_call){.symbol = "test_batch", .problem = &o.p}, &cpu);
    xt_level3_check(&o, xt_level3_name(&s));
    cpu_wholes = count.wholes;
    cpu_parts = count.parts;
    xt_level3_destroy(&o);
}

static void alone(void)
{
    run_alone(XG_OP_GEMM_BATCH, XG_TYPE_S);
    XT_CHECK(cpu_wholes == 0 && cpu_parts == 0, "%ld and %ld by the CPU", cpu_wholes, cpu_parts);
}

/* The device is lost before any result of the first instance arrives. */
static void alone_lost(void)
{
    run_alone(XG_OP_GEMM_BATCH_STRIDED, XG_TYPE_D);
    XT_CHECK(cpu_wholes == 1 && cpu_parts == 0, "%ld and %ld by the CPU", cpu_wholes, cpu_parts);
}

/* The device is lost after some results have arrived. */
static void alone_partly(void)
{
    run_alone(XG_OP_GEMM_BATCH, XG_TYPE_D);
    XT_CHECK(cpu_wholes == 0 && cpu_parts > 0, "%ld and %ld by the CPU", cpu_wholes, cpu_parts);
}

/* A batch whose instances share B is one product: fewer kernels than instances. */
static void stacked(void)
{
    enum { N = 20, COUNT = 30 };
    static float a[COUNT * N * N], b[N * N], c[COUNT * N * N];
    const struct xg_batch batch = {.count = COUNT, .stride_a = N * N, .stride_c = N * N};
    struct xg_problem p = xt_problem(XG_TYPE_S, N, N, N, false, false, a, b, c);
    p.op = XG_OP_GEMM_BATCH_STRIDED;
    p.m = COUNT * N;
    p.batch = &batch;
    for (int i = 0; i < COUNT * N * N; i++)
        a[i] = (float)(i % 13);
    for (int i = 0; i < N; i++)
        b[i * N + i] = 2;
    begin();
    struct fx_cpu_count count = {.call = &p};
    struct xg_cpu cpu = fx_cpu(&count);
    const long before = fake.calls("cuLaunchKernel") + fake.calls("cuLaunchKernelEx");
    xg_dispatch(&(struct xg_call){.symbol = "test_batch", .problem = &p}, &cpu);
    const long kernels = fake.calls("cuLaunchKernel") + fake.calls("cuLaunchKernelEx") - before;
    long wrong = 0;
    for (int i = 0; i < COUNT * N * N; i++)
        wrong += c[i] != 2 * a[i];
    XT_CHECK(wrong == 0 && count.wholes == 0, "%ld elements are wrong", wrong);
    XT_CHECK(kernels > 0 && kernels < COUNT, "%ld kernels for %d instances", kernels, COUNT);
}

static const struct fx_scenario scenarios[] = {
    {"left_out", left_out, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=sgemm",
     "XGEMM_OPERATIONS", "0 on the GPU, 3 on the CPU"},
    {"quiet", quiet, "XGEMM_MODE=gpu XGEMM_OPERATIONS=sgemm", NULL, NULL},
    {"automatic", automatic, "XGEMM_MODE=auto XGEMM_OPERATIONS=sgemm", NULL, NULL},
    {"gemv_small", gemv_small, "XGEMM_MODE=auto", NULL, NULL},
    {"gemv_small", gemv_small, "XGEMM_MODE=cpu XGEMM_RESIDENT=off XGEMM_STATS=1", "no product",
     NULL},
    {"gemv_none", gemv_none, "XGEMM_MODE=auto XGEMM_RESIDENT=off", NULL, NULL},
    {"gemv_none", gemv_none, "XGEMM_MODE=auto XGEMM_REPRODUCIBLE=1", NULL, NULL},
    {"gemv_none", gemv_none, "XGEMM_MODE=auto XGEMM_DEVICES=0,1", NULL, NULL},
    {"gemv_every", gemv_every, "XGEMM_MODE=gpu XGEMM_STATS=1", "no product", NULL},
    {"named", named, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=dgemm,sgemm",
     "4 on the GPU, 0 on the CPU", "test_dgemm"},
    {"older", older, "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_SM=75", "4 on the GPU, 0 on the CPU",
     "test_dgemm"},
    {"unserved", unserved,
     "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_SM=75 "
     "FAKECUDA_FAIL=cublasCreate:1:999:always",
     "no kernel for it", "GPU failed"},
    {"verified", named, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_VERIFY=1", "could not be verified: 0",
     "verified: 4 calls"},
    {"linker_locked", linker_locked, "XGEMM_MODE=gpu FAKECUDA_SM=75", NULL, NULL},
    {"linker_joined", linker_joined, "XGEMM_MODE=gpu FAKECUDA_SM=75 XGEMM_TIMEOUT_MS=500", NULL,
     NULL},
    {"lanes_taken", lanes_taken, "XGEMM_MODE=gpu FAKECUDA_SM=75", NULL, NULL},
    {"awaited", awaited, "XGEMM_MODE=auto XGEMM_STATS=1 FAKECUDA_FAIL=cublasCreate:1:-1",
     "1 on the GPU", "test_zgemm"},
    {"exit_while_looking", exit_while_looking, "XGEMM_MODE=auto FAKECUDA_FAIL=cublasCreate:1:-1",
     NULL, NULL},
    {"every", every, "XGEMM_MODE=gpu XGEMM_STATS=1", "138 on the GPU, 0 on the CPU",
     "zgemm_batch_strided"},
    {"out_of_core", every, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_MEM_LIMIT=3M",
     "138 on the GPU, 0 on the CPU", "ztrsm"},
    {"every_verified", every, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_VERIFY=1",
     "138 on the GPU, 0 on the CPU", "verified: "},
    {"cut_off", cut_off, "XGEMM_MODE=gpu XGEMM_MEM_LIMIT=3M FAKECUDA_FAIL=exec:120:719",
     "the GPU failed (device lost)", NULL},
    {"alone", alone, "XGEMM_MODE=gpu XGEMM_STATS=1", "1 on the GPU, 0 on the CPU",
     "test_batch 7800 2600 3 "},
    {"stacked", stacked, "XGEMM_MODE=gpu XGEMM_STATS=1", "1 on the GPU, 0 on the CPU",
     "test_batch 600 20 20 "},
    {"alone_lost", alone_lost, "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_FAIL=exec:5:719",
     "the GPU failed (device lost)", "0 on the GPU, 1 on the CPU"},
    {"alone_partly", alone_partly, "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_FAIL=exec:150:719",
     "the GPU failed (device lost)", "both "},
    {"nothing", nothing, "XGEMM_MODE=gpu XGEMM_STATS=1", "nothing to multiply",
     "0 on the GPU, 138 on the CPU"},
};

FX_SCENARIO_MAIN(scenarios)
