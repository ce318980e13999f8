/* SPDX-License-Identifier: MIT */
/* Which operations go to a device: by XGEMM_OPERATIONS, and where the device has nothing for them.
 */
#include <link.h>
#include <pthread.h>

#include "fakedrv_scenario.h"
#include "fakedrv_util.h"
#include "src/dispatch.h"

static struct fakecuda fake;

static void begin(void)
{
    fx_watchdog(180);
    fake = fx_fake();
}

/* A product of floats, which the device must compute. */
static void run_single(void)
{
    const struct fx_shape shape = {120, 150, 70, true, false, 1.5f, 0.5f, 1};
    struct fx_product product = fx_product_create(&shape, 3);
    struct fx_cpu_count count = {.call = &product.call};
    struct xg_cpu cpu = fx_cpu(&count);
    xg_dispatch_problem("test_sgemm", &product.call, &cpu);
    fx_product_check(&product, 1, "of floats");
    XT_CHECK(count.wholes == 0 && count.parts == 0, "by the CPU");
    fx_product_destroy(&product);
}

/* Three products of doubles: how many were right, and how many the CPU computed whole. Counts no
 * check, which is one thread's to do. */
struct doubles {
    long right, wholes;
};

static struct doubles multiply_doubles(void)
{
    enum { N = 40 };
    double a[N * N], b[N * N], c[N * N];
    struct xg_problem p = {.type = XG_TYPE_D,
                           .m = N,
                           .n = N,
                           .k = N,
                           .alpha = 1,
                           .a = a,
                           .lda = N,
                           .b = b,
                           .ldb = N,
                           .c = c,
                           .ldc = N};
    struct fx_cpu_count count = {.call = &p};
    struct xg_cpu cpu = fx_cpu(&count);
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 7;
        b[i] = i / N == i % N;
    }
    struct doubles doubles = {0, 0};
    for (int turn = 0; turn < 3; turn++) {
        memset(c, 0xff, sizeof c);
        xg_dispatch_problem("test_dgemm", &p, &cpu);
        doubles.right += !memcmp(a, c, sizeof c);
    }
    doubles.wholes = count.wholes;
    return doubles;
}

/* Three products, which are right; how many the CPU computed whole. */
static long run_doubles(void)
{
    struct doubles doubles = multiply_doubles();
    XT_CHECK(doubles.right == 3, "A times one is not A");
    return doubles.wholes;
}

static void standard(void)
{
    begin();
    XT_CHECK(run_doubles() == 3 && fake.calls(NULL) == 0, "%ld driver calls", fake.calls(NULL));
}

static void quiet(void)
{
    begin();
    XT_CHECK(xg_dispatch_wants(XG_KIND_SGEMM, 64, 64, 64), "SGEMM is not wanted");
    XT_CHECK(xg_dispatch_wants(xg_kind(XG_OP_GEMM, XG_TYPE_D), 64, 64, 64),
             "mode gpu asks for all");
    standard();
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
    XT_CHECK(run_doubles() == 0 && fake.calls("cublasDgemm") == 3, "%ld calls of cuBLAS",
             fake.calls("cublasDgemm"));
    run_single();
}

/* Nothing computes doubles there: found out once, and SGEMM goes on. */
static void unserved(void)
{
    begin();
    XT_CHECK(run_doubles() == 3 && fake.calls("cublasDgemm") == 0, "computed by what?");
    XT_CHECK(fake.calls("cublasCreate") == 1, "%ld looks", fake.calls("cublasCreate"));
    run_single();
}

static struct doubles beside; /* of the other thread, once it has ended */

static void *double_main(void *arg)
{
    beside = multiply_doubles();
    return arg;
}

/* Called with a lock of the dynamic linker held, as constructors of libraries are. */
static int with_linker_locked(struct dl_phdr_info *info, size_t size, void *thread)
{
    enum { ARRIVES_US = 200000 };
    (void)info, (void)size;
    XT_CHECK(!pthread_create(thread, NULL, double_main, NULL), "no thread");
    usleep(ARRIVES_US); /* until it waits for that lock, to load cuBLAS */
    run_single();
    return 1;
}

/* Products hold signals back: the watchdog's meets this thread. */
static void *idle_main(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* Another thread that waits to load cuBLAS holds up no product of one that holds the linker up. */
static void linker_locked(void)
{
    pthread_t thread, idle;
    begin();
    XT_CHECK(!pthread_create(&idle, NULL, idle_main, NULL), "no thread");
    run_single();
    dl_iterate_phdr(with_linker_locked, &thread);
    pthread_join(thread, NULL);
    XT_CHECK(beside.right == 3 && beside.wholes == 0, "%ld right, %ld by the CPU", beside.right,
             beside.wholes);
    XT_CHECK(fake.calls("cublasDgemm") == 3, "%ld calls of cuBLAS", fake.calls("cublasDgemm"));
}

static const struct fx_scenario scenarios[] = {
    {"standard", standard, "XGEMM_MODE=gpu XGEMM_STATS=1", "XGEMM_OPERATIONS",
     "0 on the GPU, 3 on the CPU"},
    {"quiet", quiet, "XGEMM_MODE=gpu", NULL, NULL},
    {"automatic", automatic, "XGEMM_MODE=auto", NULL, NULL},
    {"named", named, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=dgemm,sgemm",
     "4 on the GPU, 0 on the CPU", "test_dgemm"},
    {"unserved", unserved,
     "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=all FAKECUDA_FAIL=cublasCreate:1:999:always",
     "no kernel for it", "1 on the GPU, 3 on the CPU"},
    {"verified", named, "XGEMM_MODE=gpu XGEMM_STATS=1 XGEMM_OPERATIONS=all XGEMM_VERIFY=1",
     "could not be verified: 3", "verified: 1 products"},
    {"linker_locked", linker_locked, "XGEMM_MODE=gpu XGEMM_OPERATIONS=all", NULL, NULL},
};

int main(int argc, char **argv)
{
    return fx_scenario_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
