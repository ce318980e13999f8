/* SPDX-License-Identifier: MIT */
/* Several devices on the fake driver: which products each gets, and when one of them fails. */
#include <pthread.h>
#include <time.h>

#include "fakedrv_scenario.h"
#include "fakedrv_util.h"
#include "src/engine.h"

enum { DEVICES_MAX = 3, THREADS = 8, PRODUCTS = 10 };

/* Two lanes' blocks for each of two devices, and little beside them. */
static const size_t PINNED_MAX_BYTES = 258 << 20;

static struct fakecuda fake;
static struct xg_conf conf;

struct worker {
    int right;
    int on[DEVICES_MAX]; /* products, a device */
    uint64_t seed;
};

static enum xg_status run_product(const struct fx_shape *of, struct worker *worker)
{
    struct fx_product product = fx_product_create(of, worker->seed++);
    struct fx_cpu_count count = {.call = &product.call};
    struct xg_cpu cpu = fx_cpu(&count);
    struct xg_gemm_result result;
    enum xg_status status = xg_engine_gemm(&product.call, &conf, &cpu, NULL, &result);
    worker->right += status == XG_DECLINED
                         ? fx_untouched(&product)
                         : fx_error(&product, 1) <= 1.0 && fx_padding_intact(&product);
    worker->on[result.device] += status == XG_OK;
    fx_product_destroy(&product);
    return status;
}

static void *work(void *worker)
{
    for (int i = 0; i < PRODUCTS; i++) {
        const struct fx_shape of = {30 + 17 * i, 120 - 9 * i, 40 + i, i & 1, i & 2, 1, 1, i % 3};
        run_product(&of, worker);
    }
    return NULL;
}

static enum xg_status run_one(void)
{
    static const struct fx_shape shape = {150, 140, 60, false, true, 1, 0.5f, 1};
    struct worker worker = {.seed = 1};
    enum xg_status status = run_product(&shape, &worker);
    XT_CHECK(worker.right == 1, "wrong");
    return status;
}

static void start_devices(const char *ordinals)
{
    fx_watchdog(120);
    fake = fx_fake();
    conf = fx_conf();
    conf.stage_threads = 2;
    conf.devices = ordinals;
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
}

/* How many products of eight threads ran on each device. All are right. */
static void run_on_devices(int *on)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.seed = 100 * (uint64_t)i};
        if (pthread_create(&threads[i], NULL, work, &workers[i]))
            exit(XT_HARD);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    memset(on, 0, DEVICES_MAX * sizeof *on);
    for (int i = 0; i < THREADS; i++) {
        XT_CHECK(workers[i].right == PRODUCTS, "thread %d: %d right", i, workers[i].right);
        for (int d = 0; d < DEVICES_MAX; d++)
            on[d] += workers[i].on[d];
    }
}

/* The first is ready before the others are: until products meet all. */
static void await_devices(int *on, int count)
{
    int used = 0;
    while (used < count) {
        run_on_devices(on);
        used = 0;
        for (int d = 0; d < DEVICES_MAX; d++)
            used += on[d] > 0;
    }
}

/* What one device holds at most, page-locked, for each of two. */
static void several_devices(void)
{
    int on[DEVICES_MAX];
    struct fakecuda_live live;
    start_devices("7,1,0,1");
    await_devices(on, 2);
    fake.live(&live);
    XT_CHECK(live.contexts == 2, "%zu contexts", live.contexts);
    XT_CHECK(live.pinned_bytes < (size_t)PINNED_MAX_BYTES,
             "contract 10.1: %zu bytes are page-locked", live.pinned_bytes);
}

static void one_device(void)
{
    int on[DEVICES_MAX];
    struct fakecuda_live live;
    start_devices(NULL);
    run_on_devices(on);
    fake.live(&live);
    XT_CHECK(live.contexts == 1 && !on[1] && on[0] == THREADS * PRODUCTS, "%zu contexts, %d",
             live.contexts, on[0]);
}

/* One is lost in the middle of products, and the other goes on; then that is lost as well. */
static void devices_lost(void)
{
    int on[DEVICES_MAX], wholes = 0;
    struct fakecuda_live live;
    start_devices("0,1");
    await_devices(on, 2);
    fake.fail("exec", 50, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    run_on_devices(on);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    run_on_devices(on);
    XT_CHECK((on[0] == 0) + (on[1] == 0) == 1 && on[0] + on[1] == THREADS * PRODUCTS,
             "%d and %d products", on[0], on[1]);
    fake.fail("exec", 5, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    for (; wholes < 10 && run_one() == XG_OK; wholes++)
        ;
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
    XT_CHECK(run_one() == XG_DECLINED, "lost, but a product");
    fake.live(&live);
    XT_CHECK(!live.dev && !live.pinned && !live.streams && !live.events && !live.modules &&
                 !live.contexts && !live.reclaimed,
             "objects are left");
}

/* What another kind of device would take is not known: it is not used. */
static void mixed_devices(void)
{
    const struct timespec while_s = {0, 1000000};
    int on[DEVICES_MAX];
    struct fakecuda_live live;
    start_devices("1,0,2");
    while (fake.calls("cuDevicePrimaryCtxRelease") < 2)
        nanosleep(&while_s, NULL);
    run_on_devices(on);
    fake.live(&live);
    XT_CHECK(live.contexts == 1 && on[0] == THREADS * PRODUCTS, "%zu contexts, %d", live.contexts,
             on[0]);
}

/* A device that cannot be had is done without, be it the first or another. */
static void refused_device(void)
{
    int on[DEVICES_MAX];
    start_devices("0,1,2");
    await_devices(on, 2);
    XT_CHECK(!on[2], "%d products on a third device", on[2]);
}

static const struct fx_scenario scenarios[] = {
    {"one_device", one_device, "FAKECUDA_DEVICES=2", NULL, NULL},
    {"several_devices", several_devices, "FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=300", NULL, NULL},
    {"devices_lost", devices_lost, "FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=300",
     "one of the GPUs failed", "on the CPU from here on"},
    {"mixed_devices", mixed_devices, "FAKECUDA_DEVICES=3 FAKECUDA_MIXED=1",
     "device 0 of XGEMM_DEVICES is no Fake GPU 1", "device 2 of XGEMM_DEVICES is no Fake GPU 1"},
    {"refused_device", refused_device,
     "FAKECUDA_DEVICES=3 FAKECUDA_DELAY_US=300 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:2", NULL,
     NULL},
    {"refused_device", refused_device,
     "FAKECUDA_DEVICES=3 FAKECUDA_DELAY_US=300 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:2:2",
     "device 1 of XGEMM_DEVICES is not used", NULL},
};

int main(int argc, char **argv)
{
    return fx_scenario_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
