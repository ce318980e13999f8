/* SPDX-License-Identifier: MIT */
/*
 * One intercepted call on the fake driver: where each mode computes it, and the messages. Contract
 * 6.3, 7.1, 8.2 (doc/contract.md).
 */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "scenario.h"
#include "src/device/dev.h"
#include "src/dispatch.h"
#include "src/engine/engine.h"
#include "src/report/stats.h"
#include "tests/support/guarded.h"
#include "tests/support/threads.h"

static struct fakecuda fake;
static const struct fx_shape shape = {120, 150, 70, true, false, 1.5f, 0.5f, 1};

static void begin(void)
{
    fake = fx_fake();
}

/* Computes and checks one product. by_cpu: the program's own library must compute all of it. */
static void run(const struct fx_shape *of, bool by_cpu)
{
    struct fx_product product = fx_product_create(of, 3);
    struct xg_cpu cpu = fx_product_cpu(&product);
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    errno = ENOTTY;
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(errno == ENOTTY, "errno %d", errno);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < SIGRTMAX; i++)
        XT_CHECK(sigismember(&before, i) == sigismember(&after, i), "signal %d", i);
    fx_product_check(&product, 1, "dispatch");
    XT_CHECK(product.count.wholes == by_cpu && product.count.parts == 0,
             "the CPU computed %ld wholes, %ld parts", product.count.wholes, product.count.parts);
    fx_product_destroy(&product);
}

static void mode_cpu(void)
{
    begin();
    for (int i = 0; i < 3; i++)
        run(&shape, true);
    XT_CHECK(fake.calls(NULL) == 0, "%ld driver calls", fake.calls(NULL));
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_COLD, "state %d", xg_engine_state_get());
}

static void mode_cpu_quiet(void)
{
    mode_cpu();
    XT_CHECK(!xg_dispatch_wants(XG_KIND_SGEMM, 8192, 8192, 8192), "wanted in vain");
}

/* The engine knows the device's own figures after the start. */
static void device(void)
{
    struct xg_model_device described;
    begin();
    XT_CHECK(!xg_engine_device(&described), "before the start");
    run(&shape, false);
    XT_CHECK(xg_engine_device(&described) && described.facts.sm_count == 132 &&
                 described.facts.sm == 90 && fabs(described.clock_hz / 1.98e9 - 1) < 1e-9,
             "%d multiprocessors, %g Hz", described.facts.sm_count, described.clock_hz);
}

static void mode_gpu(void)
{
    const struct fx_shape tiny = {1, 1, 1, false, false, 1, 0, 0};
    begin();
    XT_CHECK(xg_dispatch_wants(XG_KIND_SGEMM, 1, 1, 1), "not wanted");
    for (int i = 0; i < 3; i++)
        run(&shape, false);
    run(&tiny, false);
    XT_CHECK(fake.calls("cuLaunchKernel") >= 4, "%ld launches", fake.calls("cuLaunchKernel"));
}

/* Products with m, n, k or alpha 0 go to the program's own library. */
static void degenerate(void)
{
    const struct fx_shape alpha_0 = {20, 30, 10, false, false, 0, 0.5f, 1};
    struct fx_product product = fx_product_create(&shape, 4);
    struct xg_cpu cpu = fx_product_cpu(&product);
    begin();
    run(&alpha_0, true);
    product.call.k = 0;
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    product.call.m = 0;
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(product.count.wholes == 2 && product.count.parts == 0, "%ld wholes",
             product.count.wholes);
    XT_CHECK(fake.calls(NULL) == 0, "%ld driver calls", fake.calls(NULL));
    fx_product_destroy(&product);
}

static void no_gpu(void)
{
    begin();
    for (int i = 0; i < 3; i++)
        run(&shape, true);
    XT_CHECK(fake.calls("cuInit") == 1, "%ld starts", fake.calls("cuInit"));
}

/* Driver calls fail: C is right, whichever side computed it. */
static void faults(void)
{
    begin();
    for (int i = 0; i < 5; i++) {
        struct fx_product product = fx_product_create(&shape, (uint64_t)i);
        struct xg_cpu cpu = fx_product_cpu(&product);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        fx_product_check(&product, 1, "after a fault");
        XT_CHECK(i < 2 || product.count.wholes == 1, "product %d: %ld wholes", i,
                 product.count.wholes);
        fx_product_destroy(&product);
    }
    const long calls = fake.calls(NULL);
    run(&shape, true);
    XT_CHECK(fake.calls(NULL) == calls, "a device that is given up is asked");
    XT_CHECK(fake.faults(NULL) > 0, "no fault struck");
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
}

/* Another program's memory on the device: all that is free but this. */
static CUdeviceptr crowd(struct xg_dev *dev, size_t left_bytes)
{
    size_t free_bytes, total_bytes;
    CUdeviceptr memory = 0;
    XT_CHECK(XG_DRV(&dev->drv, cuMemGetInfo, &free_bytes, &total_bytes) == XG_OK);
    XT_CHECK(XG_DRV(&dev->drv, cuMemAlloc, &memory, free_bytes - left_bytes) == XG_OK);
    return memory;
}

/* After the start another program takes the device's memory: the CPU computes. It gives some back:
 * the GPU computes in smaller tiles. It gives all back: the GPU computes as before. */
static void crowded(void)
{
    const struct fx_shape large = {700, 600, 500, false, false, 1, 0, 0};
    struct xg_dev *dev;
    int before;
    begin();
    XT_CHECK(xg_engine_wait(xg_conf_get()) == XG_ENGINE_READY);
    XT_CHECK(xg_engine_hold(0, &dev) && xg_dev_begin(dev, &before) == XG_OK);
    CUdeviceptr others = crowd(dev, 4096);
    run(&large, true);
    run(&large, true);
    XT_CHECK(XG_DRV(&dev->drv, cuMemFree, others) == XG_OK);
    others = crowd(dev, 2 << 20);
    long begun = fake.calls("cuLaunchKernel");
    run(&large, false);
    const long tiles = fake.calls("cuLaunchKernel") - begun;
    XT_CHECK(XG_DRV(&dev->drv, cuMemFree, others) == XG_OK);
    begun = fake.calls("cuLaunchKernel");
    run(&large, false);
    XT_CHECK(fake.calls("cuLaunchKernel") - begun < tiles, "%ld launches, and %ld in small tiles",
             fake.calls("cuLaunchKernel") - begun, tiles);
    xg_dev_end(dev, before);
    xg_engine_let_go(0);
}

/* The caller gets the bits that the CPU computed. */
static void mode_compare(void)
{
    begin();
    for (int i = 0; i < 2; i++) {
        struct fx_product product = fx_product_create(&shape, 5);
        struct fx_product expected = fx_product_create(&shape, 5);
        struct xg_cpu cpu = fx_product_cpu(&product);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        xg_cpu_compute(&expected.call);
        XT_CHECK(!memcmp(product.c_all, expected.c_all, product.c_elems * sizeof(float)),
                 "C is not what the CPU computed");
        XT_CHECK(product.count.wholes == 1 && product.count.parts == 0, "%ld wholes, %ld parts",
                 product.count.wholes, product.count.parts);
        fx_product_destroy(&product);
        fx_product_destroy(&expected);
    }
    XT_CHECK(fake.calls("cuLaunchKernel") > 0, "the GPU computed nothing");
}

/* A product that the GPU declines is reported as declined. */
static void compare_no_room(void)
{
    begin();
    run(&shape, true);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
}

static void small_stays(void)
{
    const struct fx_shape small = {20, 30, 40, false, false, 1, 0, 0};
    begin();
    XT_CHECK(!xg_dispatch_wants(XG_KIND_SGEMM, 20, 30, 40), "wanted in vain");
    XT_CHECK(xg_dispatch_wants(XG_KIND_SGEMM, 2000, 2000, 2000), "not wanted");
    for (int i = 0; i < 50; i++)
        run(&small, true);
    XT_CHECK(fake.calls(NULL) == 0, "%ld driver calls", fake.calls(NULL));
}

static const struct fx_shape medium = {400, 400, 400, false, false, 1, 0, 0};

/* The GPU is worth its start after some products of the slow library. */
static void earning(void)
{
    struct fx_product product = fx_product_create(&medium, 6);
    long wholes = 0, products = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    begin();
    while (products < 1000 && wholes == products) {
        fx_product_reset(&product);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        products++;
        XT_CHECK(products > 1 || fake.calls(NULL) == 0, "started for the first product");
    }
    XT_CHECK(wholes > 2 && wholes == products - 1, "%ld of %ld products on the CPU", wholes,
             products);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    fx_product_check(&product, 1, "the first one on the GPU");
    fx_product_destroy(&product);
}

/* A hundred products of 0.2 ms, which the GPU would compute in half the time, do not earn a start.
 * Products that belong on the CPU never earn one. */
static void wait_200_us(void *ctx)
{
    ++*(long *)ctx;
    fx_nap_us(150); /* a busy machine does not lengthen a sleep as it lengthens work */
}

static void short_script(void)
{
    struct fx_product product = fx_product_create(&medium, 6);
    long wholes = 0;
    const struct xg_cpu cpu = {.whole = wait_200_us, .part = fx_slow_part, .ctx = &wholes};
    begin();
    for (int i = 0; i < 100; i++)
        if (xg_dispatch_wants(XG_KIND_SGEMM, 400, 400, 400))
            xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        else
            wait_200_us(&wholes);
    XT_CHECK(wholes == 100 && fake.calls(NULL) == 0, "%ld on the CPU, %ld driver calls", wholes,
             fake.calls(NULL));
    fx_product_destroy(&product);
}

/* The program ends while the GPU is starting. */
static void leave_while_starting(void)
{
    struct fx_product product = fx_product_create(&medium, 6);
    long wholes = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    begin();
    while (wholes < 1000 && xg_engine_state_get() == XG_ENGINE_COLD)
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_STARTING, "state %d", xg_engine_state_get());
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(wholes < 1000 && fake.calls("cuLaunchKernel") == 0, "%ld on the CPU", wholes);
    exit(xt_failures ? XT_FAIL : XT_PASS);
}

/* The program exits normally and does not wait for the start, which never ends. */
static void exit_while_starting(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        leave_while_starting();
    xt_child_wait(pid, "the child");
}

/* After a failed start the dispatcher wants no product. */
static void given_up(void)
{
    struct fx_product product = fx_product_create(&medium, 6);
    long wholes = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    begin();
    while (wholes < 1000 && xg_dispatch_wants(XG_KIND_SGEMM, 8192, 8192, 8192))
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(wholes < 1000 && xg_engine_state_get() == XG_ENGINE_NONE, "after %ld products: %d",
             wholes, xg_engine_state_get());
    fx_product_destroy(&product);
}

static void forked(void)
{
    begin();
    run(&shape, false);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        run(&shape, true);
        _exit(xt_failures || fake.forked_calls() ? XT_FAIL : XT_PASS);
    }
    xt_child_wait(pid, "the child");
    run(&shape, false);
}

/* Products of the parent's other threads do not run in the child. They do not count in the time
 * that the child's products save. */
static _Atomic int asleep;

static void sleep_whole(void *ctx)
{
    (void)ctx;
    asleep++;
    fx_nap_us(1000000);
}

static void *run_asleep(void *unused)
{
    struct fx_product product = fx_product_create(&medium, 6);
    const struct xg_cpu cpu = {.whole = sleep_whole, .part = fx_slow_part};
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    fx_product_destroy(&product);
    return unused;
}

static void earn_in_child(void)
{
    struct fx_product product = fx_product_create(&medium, 6);
    long wholes = 0;
    const struct xg_cpu cpu = fx_slow_cpu(&wholes);
    while (wholes < 1000 && xg_engine_state_get() == XG_ENGINE_COLD)
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(wholes > 3 && wholes < 60, "started after %ld products", wholes);
    _exit(xt_failures ? XT_FAIL : XT_PASS);
}

__attribute__((unused)) static void forked_among_products(void)
{
    enum { THREADS = 4 };
    begin();
    const struct xt_threads running = xt_threads_start(THREADS, run_asleep, NULL, 0);
    while (asleep < THREADS)
        sched_yield();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        earn_in_child();
    xt_child_wait(pid, "the child");
    xt_threads_join(&running);
}

/* In the program's own library, signals and cancellation are as the program set them. */
static void look_at_shelter(void *ctx)
{
    sigset_t mask;
    int state;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    XT_CHECK(!sigismember(&mask, SIGALRM), "contract 8.9: SIGALRM is blocked");
    XT_CHECK(state == PTHREAD_CANCEL_ENABLE, "contract 8.9: cancellation is disabled");
    ++*(long *)ctx;
}

static void failure_unsheltered(void)
{
    static const char *const names[] = {"cuMemAlloc", "cuMemHostAlloc", "cuEventCreate"};
    struct fx_product product = fx_product_create(&shape, 6);
    long wholes = 0;
    const struct xg_cpu cpu = {.whole = look_at_shelter, .part = fx_slow_part, .ctx = &wholes};
    begin();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fake.fail(names[i], 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    }
    XT_CHECK(wholes > 0, "nothing failed");
    fx_product_destroy(&product);
}

struct looked {
    struct fx_cpu_count count;
    long looks;
};

static void look_whole(void *ctx)
{
    struct looked *looked = ctx;
    look_at_shelter(&looked->looks);
    fx_cpu_whole(&looked->count);
}

static void look_part(void *ctx, const struct xg_problem *part)
{
    struct looked *looked = ctx;
    look_at_shelter(&looked->looks);
    fx_cpu_part(&looked->count, part);
}

/* The same holds when that library computes the rest of a product: threads that it creates inherit
 * the signal mask. */
static void parts_unsheltered(void)
{
    static const struct fx_shape wide = {900, 1100, 20, false, false, 1, 1, 0};
    long parts_seen = 0;
    begin();
    for (long nth = 1; nth < 40; nth += 2) {
        struct fx_product product = fx_product_create(&wide, (uint64_t)nth);
        struct looked looked = {.count = {.call = &product.call}};
        const struct xg_cpu cpu = {.whole = look_whole, .part = look_part, .ctx = &looked};
        fake.fail("cuMemcpy2DAsync", nth, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        fake.fail("cuMemcpyDtoHAsync", nth, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        fx_product_check(&product, 1, "by both");
        parts_seen += looked.count.parts > 0 && looked.looks > 0;
        fx_product_destroy(&product);
    }
    XT_CHECK(parts_seen > 0, "no failure came in the middle");
}

/* Statistics mention spinning threads only if there is a GPU whose staging they slow down. */
static void spin_told(void)
{
    struct fx_product product = fx_product_create(&medium, 6);
    long wholes = 0;
    struct xg_cpu cpu = fx_slow_cpu(&wholes);
    cpu.threads = fx_sixteen;
    cpu.own_pool = true;
    char text[8192] = "";
    begin();
    for (int i = 0; i < 50 && xg_engine_state_get() != XG_ENGINE_NONE; i++)
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
    FILE *out = fmemopen(text, sizeof text, "w");
    xg_stats_print(out);
    fclose(out);
    XT_CHECK(strstr(text, "no usable GPU") && !strstr(text, "threads spin"), "%s", text);
    fx_product_destroy(&product);
}

static void *run_some(void *right)
{
    int *count = right;
    for (int i = 0; i < 10; i++) {
        struct fx_product product = fx_product_create(&shape, (uint64_t)i);
        struct xg_cpu cpu = fx_product_cpu(&product);
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &product.call}, &cpu);
        *count += fx_error(&product, 1) <= 1.0 && fx_padding_intact(&product);
        fx_product_destroy(&product);
    }
    return NULL;
}

/* Several threads make the first call together: one start, and all products are right. */
static void threads(void)
{
    enum { THREADS = 6 };
    int right[THREADS] = {0};
    begin();
    xt_threads_run(THREADS, run_some, right, sizeof right[0]);
    for (int i = 0; i < THREADS; i++)
        XT_CHECK(right[i] == 10, "thread %d: %d right", i, right[i]);
    XT_CHECK(fake.calls("cuInit") == 1, "%ld starts", fake.calls("cuInit"));
}

static void rounding_mode(void)
{
    begin();
    fesetround(FE_UPWARD);
    run(&shape, false);
    XT_CHECK(fegetround() == FE_UPWARD, "rounding mode %d", fegetround());
}

static const struct fx_scenario scenarios[] = {
    {"mode_cpu", mode_cpu, "XGEMM_MODE=cpu XGEMM_STATS=1", "3 products",
     "0 on the GPU, 3 on the CPU"},
    {"mode_cpu_quiet", mode_cpu_quiet, "XGEMM_MODE=cpu", NULL, NULL},
    {"device", device, "XGEMM_MODE=gpu", NULL, NULL},
    {"mode_gpu", mode_gpu, "XGEMM_MODE=gpu XGEMM_STATS=1", "4 on the GPU, 0 on the CPU",
     "test_sgemm"},
    {"mode_gpu_quiet", mode_gpu, "XGEMM_MODE=gpu", NULL, NULL},
    {"mode_gpu_verbose", mode_gpu, "XGEMM_MODE=gpu XGEMM_VERBOSE=1",
     "test_sgemm 120x150x70 TN beta=0.5: GPU", "test_sgemm 1x1x1"},
    {"limited", mode_gpu, "XGEMM_MODE=gpu XGEMM_MEM_LIMIT=1M", NULL, NULL},
    {"degenerate", degenerate, "XGEMM_MODE=gpu XGEMM_STATS=1", "nothing to multiply", NULL},
    {"no_gpu", no_gpu, "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_DEVICES=0", "no usable GPU",
     "0 on the GPU, 3 on the CPU"},
    {"no_gpu_told", no_gpu, "XGEMM_MODE=gpu FAKECUDA_DEVICES=0", "XGEMM_MODE=gpu, but",
     "no usable GPU (the CUDA driver finds no device): products run on the CPU\n"},
    {"no_gpu_told", no_gpu, "XGEMM_MODE=compare FAKECUDA_DEVICES=0", "XGEMM_MODE=compare, but",
     "no usable GPU (the CUDA driver finds no device): products run on the CPU\n"},
    {"no_gpu_told", no_gpu, "XGEMM_MODE=gpu XGEMM_DEVICES=7", "XGEMM_MODE=gpu, but",
     "no usable GPU (no such device"},
    {"faults", faults, "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_FAIL=cuLaunchKernel:2:999:always",
     "GPU failed", "from here on"},
    {"lost", faults, "XGEMM_MODE=gpu XGEMM_STATS=1 FAKECUDA_FAIL=exec:8:719", "GPU failed",
     "from here on"},
    {"no_memory", faults, "XGEMM_MODE=gpu FAKECUDA_FAIL=cuMemAlloc:1:2:always", "a product failed",
     "from here on"},
    {"crowded", crowded, "XGEMM_MODE=gpu FAKECUDA_MEM=16777216", "a product failed", NULL},
    {"mode_compare", mode_compare, "XGEMM_MODE=compare", "CPU and GPU compared", "test_sgemm"},
    {"compare_no_room", compare_no_room, "XGEMM_MODE=compare XGEMM_STATS=1 XGEMM_MEM_LIMIT=4096",
     "does not fit device memory", NULL},
    {"small_stays", small_stays, "XGEMM_MODE=auto", NULL, NULL},
    {"earning", earning, "XGEMM_MODE=auto XGEMM_STATS=1 FAKECUDA_INIT_MS=30", "not earned yet",
     "1 on the GPU"},
    {"short_script", short_script, "XGEMM_MODE=auto", NULL, NULL},
    {"short_script_told", short_script, "XGEMM_MODE=auto XGEMM_STATS=1", "100 on the CPU", NULL},
    {"exit_while_starting", exit_while_starting, "XGEMM_MODE=auto FAKECUDA_INIT_MS=-1", NULL, NULL},
    {"given_up", given_up, "XGEMM_MODE=auto FAKECUDA_DEVICES=0", NULL, NULL},
    {"forked", forked, "XGEMM_MODE=gpu", NULL, NULL},
    {"forked_stats", forked, "XGEMM_MODE=gpu XGEMM_STATS=1", "2 on the GPU", NULL},
    {"spin_told", spin_told, "XGEMM_MODE=auto XGEMM_STATS=1 FAKECUDA_DEVICES=0", "no usable GPU",
     "0 on the GPU"},
#ifndef __SANITIZE_THREAD__ /* the thread sanitizer allows no new thread in a child of several     \
                               threads */
    {"forked_among_products", forked_among_products,
     "XGEMM_MODE=auto XGEMM_EXIT=wait FAKECUDA_INIT_MS=30", NULL, NULL},
#endif
    {"threads", threads, "XGEMM_MODE=gpu", NULL, NULL},
    {"failure_unsheltered", failure_unsheltered, "XGEMM_MODE=gpu", "the CPU completed it", NULL},
    {"parts_unsheltered", parts_unsheltered, "XGEMM_MODE=gpu XGEMM_STATS=1", "both  ",
     "the GPU failed"},
    {"rounding_mode", rounding_mode, "XGEMM_MODE=gpu", NULL, NULL},
};

FX_SCENARIO_MAIN(scenarios)
