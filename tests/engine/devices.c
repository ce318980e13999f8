/* SPDX-License-Identifier: MIT */
/* Several devices on the fake driver: which products each gets, and failures of one. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "scenario.h"
#include "src/base/clock.h"
#include "src/device/drv.h"
#include "src/engine/engine.h"
#include "src/host/tally.h"
#include "tests/support/guarded.h"
#include "tests/support/threads.h"

enum { PRODUCTS = 10 };

/* The blocks of two lanes for each of two devices, and a little more. */
static const size_t PINNED_MAX_BYTES = 258 << 20;

static struct fakecuda fake;
static struct xg_conf conf;
static int timeout_ms; /* 0: the default */

static const struct fx_shape one = {150, 140, 60, false, true, 1, 0.5f, 1};

static enum xg_status run_one(void)
{
    struct fx_worker worker = {.conf = &conf, .seed = 1};
    enum xg_status status = fx_worker_run(&worker, &one);
    XT_CHECK(worker.right + worker.declined == 1, "wrong");
    return status;
}

static void start_devices(const char *ordinals)
{
    fake = fx_fake();
    conf = fx_conf();
    conf.stage_threads = 2;
    conf.devices = ordinals;
    if (timeout_ms > 0)
        conf.timeout_ms = timeout_ms;
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
}

/* Counts the products of eight threads that ran on each device. */
static void run_on_devices(int *on)
{
    const struct fx_worker worker = {.conf = &conf, .products = PRODUCTS};
    const struct fx_worker sum = fx_workers_run(&worker);
    memcpy(on, sum.on, sizeof sum.on);
}

/* The first device is ready before the others. Runs products until every device has some. */
static void await_devices(int *on, int count)
{
    int used = 0;
    while (used < count) {
        run_on_devices(on);
        used = 0;
        for (int d = 0; d < FX_DEVICES_MOST; d++)
            used += on[d] > 0;
    }
}

/* Two devices hold at most twice the page-locked memory of one. */
static void several_devices(void)
{
    int on[FX_DEVICES_MOST];
    start_devices("7,1,0,1");
    await_devices(on, 2);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 2, "%zu contexts", live.contexts);
    XT_CHECK(live.pinned_bytes < (size_t)PINNED_MAX_BYTES,
             "contract 10.1: %zu bytes are page-locked", live.pinned_bytes);
}

static void one_device(void)
{
    int on[FX_DEVICES_MOST];
    start_devices(NULL);
    run_on_devices(on);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 1 && !on[1] && on[0] == FX_WORKERS * PRODUCTS, "%zu contexts, %d",
             live.contexts, on[0]);
}

/* One device is lost while products run, and the other computes the rest; then it is lost too. */
static void devices_lost(void)
{
    int on[FX_DEVICES_MOST], wholes = 0;
    start_devices("0,1");
    await_devices(on, 2);
    fake.fail("exec", 50, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    run_on_devices(on);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    run_on_devices(on);
    XT_CHECK((on[0] == 0) + (on[1] == 0) == 1 && on[0] + on[1] == FX_WORKERS * PRODUCTS,
             "%d and %d products", on[0], on[1]);
    fake.fail("exec", 5, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    for (; wholes < 10 && run_one() == XG_OK; wholes++)
        ;
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
    XT_CHECK(run_one() == XG_DECLINED, "lost, but a product");
    fx_nothing_left(&fake);
}

/* Waits until a call of the driver's function waits for fake.release. */
static void await_held(const char *name)
{
    while (!fake.faults(name))
        fx_nap_us(1000);
}

static void *run_lost(void *unused)
{
    (void)unused;
    return run_one() == XG_ERR_LOST ? &fake : NULL;
}

/* The resources of a lost device are released while products run on the other. */
static void slow_teardown(void)
{
    int on[FX_DEVICES_MOST];
    void *lost = NULL;
    start_devices("0,1");
    await_devices(on, 2);
    fake.fail("cuDevicePrimaryCtxRelease", 1, FAKECUDA_HANG, FAKECUDA_ONCE);
    fake.fail("exec", 1, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    const pthread_t thread = xt_thread_start(run_lost, NULL);
    await_held("cuDevicePrimaryCtxRelease");
    run_on_devices(on);
    XT_CHECK(!on[0] && on[1] == FX_WORKERS * PRODUCTS, "%d and %d products", on[0], on[1]);
    fake.release();
    pthread_join(thread, &lost);
    XT_CHECK(lost, "the loss was not noticed");
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 1 && !live.reclaimed, "%zu contexts", live.contexts);
}

/* The first device is lost while the second one opens and threads wait for a lane of the first. No
 * thread waits for a lost lane, and the engine is not given up yet. */
static void lose_first(void)
{
    int on[FX_DEVICES_MOST];
    start_devices("0,1");
    await_held("cuInit");
    fake.fail("exec", 50, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    run_on_devices(on);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    XT_CHECK(run_one() == XG_DECLINED, "a product without a device");
    fake.release();
}

static void second_serves(void)
{
    int on[FX_DEVICES_MOST];
    lose_first();
    while (xg_engine_state_get() == XG_ENGINE_READY && run_one() == XG_DECLINED)
        fx_nap_us(1000);
    run_on_devices(on);
    XT_CHECK(!on[0] && on[1] == FX_WORKERS * PRODUCTS, "%d and %d products", on[0], on[1]);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 1 && !live.reclaimed, "%zu contexts", live.contexts);
}

static void none_serves(void)
{
    lose_first();
    while (xg_engine_state_get() == XG_ENGINE_READY)
        fx_nap_us(1000);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
    XT_CHECK(run_one() == XG_DECLINED, "no device, but a product");
    fx_nothing_left(&fake);
}

static pthread_t exiting; /* the thread that ends the process, while exits is true */
static _Atomic bool exits;
static int naps_before, naps_after; /* naps of that thread: before xg_drv_end, and after */

/* Replaces the C library's function, so that the engine's naps are counted. */
int nanosleep(const struct timespec *duration, struct timespec *left)
{
    if (exits && pthread_equal(pthread_self(), exiting))
        ++*(xg_drv_ended() ? &naps_after : &naps_before);
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, duration, left);
    errno = error ? error : errno;
    return error ? -1 : 0;
}

static void check_naps(void)
{
    if (naps_before || !naps_after)
        _exit(XT_FAIL);
}

/* The end of the process waits for products, of which there are none, and for the current step of
 * the start, which makes no further step. It does not wait for the second device to open. */
static void exit_while_opening(void)
{
    atexit(check_naps); /* runs after the engine's own handlers */
    start_devices("0,1");
    await_held("cuInit");
    exiting = pthread_self();
    exits = true;
    exit(xt_failures ? XT_FAIL : XT_PASS);
}

/* More devices than the engine has room for. */
static void many_ordinals(void)
{
    start_devices("0,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36");
    XT_CHECK(run_one() == XG_OK);
}

/* No times are known for devices of another kind: the engine does not use them. */
static void mixed_devices(void)
{
    int on[FX_DEVICES_MOST];
    start_devices("1,0,2");
    while (fake.calls("cuDevicePrimaryCtxRelease") < 2)
        fx_nap_us(1000);
    run_on_devices(on);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 1 && on[0] == FX_WORKERS * PRODUCTS, "%zu contexts, %d",
             live.contexts, on[0]);
}

/* The engine works without a device that does not open, whether it is the first or another. */
static void refused_device(void)
{
    int on[FX_DEVICES_MOST];
    start_devices("0,1,2");
    await_devices(on, 2);
    XT_CHECK(!on[2], "%d products on a third device", on[2]);
}

/* A start allocates the 64 MiB of page-locked memory that every product needs. */
static void prepared(void)
{
    start_devices(NULL);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.pinned_bytes >= (size_t)64 << 20, "%zu bytes page-locked", live.pinned_bytes);
    long taken = fake.calls("cuMemHostAlloc");
    XT_CHECK(run_one() == XG_OK);
    XT_CHECK(fake.calls("cuMemHostAlloc") == taken, "a product took more");
}

static void *work_once(void *worker)
{
    fx_worker_run(worker, &one);
    return NULL;
}

/* A product waits this long for a lane, and is declined. */
static void decline_after(double most_s)
{
    const struct xg_patience patience = {
        .takes_s = 1e-3, .waits_s = HUGE_VAL, .most_s = most_s, .threads = 1};
    struct fx_product product = fx_product_create(&one, 3);
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_result result;
    XT_CHECK(xg_engine_compute(&(struct xg_call){.problem = &product.call}, &conf, &cpu, &patience,
                               &result) == XG_DECLINED);
    XT_CHECK(result.busy && fx_untouched(&product), "a lane was free");
    fx_product_destroy(&product);
}

/* The driver blocks both lanes: a thread waits for a lane until its patience ends. Once no lane has
 * moved for four timeouts, no thread waits, not even with a short patience. */
static void patience_ends(void)
{
    struct fx_worker workers[2] = {{.conf = &conf, .seed = 1}, {.conf = &conf, .seed = 2}};
    pthread_t threads[2];
    timeout_ms = 300;
    start_devices(NULL);
    for (int i = 0; i < 2; i++) {
        fake.fail("cuStreamWaitEvent", 1 + i, -1, FAKECUDA_ONCE);
        threads[i] = xt_thread_start(work_once, &workers[i]);
    }
    while (fake.calls("cuStreamWaitEvent") < 2)
        fx_nap_us(1000);
    double begin_s = xg_clock_s();
    decline_after(0.01);
    XT_CHECK_LE(xg_clock_s() - begin_s, 1.0, "it waited");
    for (int i = 0; i < 500; i++) /* as many waits would last longer than the watchdog allows */
        decline_after(0.3);
    fake.release();
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        XT_CHECK(workers[i].right == 1, "thread %d", i);
    }
}

/* If several threads multiply, a start creates all lanes, and works without a lane that it cannot
 * create. */
static void second_lane(void)
{
    xg_tally_add(XG_TALLY_PRODUCTS, 2);
    start_devices(NULL);
    xg_tally_forget();
    const struct fakecuda_live live = fx_live(&fake);
    size_t lanes = fake.faults("cuStreamCreate") ? 1 : 2;
    XT_CHECK(live.pinned_bytes >= lanes << 26 && live.pinned_bytes < (lanes << 26) + (1 << 20),
             "%zu bytes page-locked", live.pinned_bytes);
    XT_CHECK(run_one() == XG_OK);
}

static const struct fx_scenario scenarios[] = {
    {"second_lane", second_lane, "", NULL, NULL},
    {"second_lane", second_lane, "FAKECUDA_FAIL=cuStreamCreate:12:2", NULL, NULL},
    {"prepared", prepared, "", NULL, NULL},
    {"patience_ends", patience_ends, "", NULL, NULL},
    {"one_device", one_device, "FAKECUDA_DEVICES=2", NULL, NULL},
    {"several_devices", several_devices, "FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=300", NULL, NULL},
    {"devices_lost", devices_lost, "FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=300",
     "one of the GPUs failed", "on the CPU from here on"},
    {"mixed_devices", mixed_devices, "FAKECUDA_DEVICES=3 FAKECUDA_MIXED=1",
     "ignoring device 0 of XGEMM_DEVICES: not a Fake GPU 1",
     "ignoring device 2 of XGEMM_DEVICES: not a Fake GPU 1"},
    {"refused_device", refused_device,
     "FAKECUDA_DEVICES=3 FAKECUDA_DELAY_US=300 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:2", NULL,
     NULL},
    {"refused_device", refused_device,
     "FAKECUDA_DEVICES=3 FAKECUDA_DELAY_US=300 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:2:2",
     "ignoring device 1 of XGEMM_DEVICES", NULL},
    /* A stream capture of the program makes one attempt fail, or every attempt. */
    {"several_devices", several_devices,
     "FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=300 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:2:906", NULL,
     NULL},
    {"refused_device", refused_device,
     "FAKECUDA_DEVICES=3 FAKECUDA_DELAY_US=300 FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:2:906,"
     "cuDevicePrimaryCtxRetain:3:906,cuDevicePrimaryCtxRetain:4:906",
     "ignoring device 1 of XGEMM_DEVICES", NULL},
    {"slow_teardown", slow_teardown, "FAKECUDA_DEVICES=2 FAKECUDA_DELAY_US=300",
     "one of the GPUs failed", NULL},
    {"second_serves", second_serves, "FAKECUDA_DEVICES=2 FAKECUDA_FAIL=cuInit:2:-1",
     "one of the GPUs failed", NULL},
    {"none_serves", none_serves,
     "FAKECUDA_DEVICES=2 FAKECUDA_FAIL=cuInit:2:-1,cuDevicePrimaryCtxRetain:2:2",
     "ignoring device 1 of XGEMM_DEVICES", "no GPU is left: products run on the CPU"},
    {"exit_while_opening", exit_while_opening, "FAKECUDA_DEVICES=2 FAKECUDA_FAIL=cuInit:2:-1", NULL,
     NULL},
    {"many_ordinals", many_ordinals, "", "XGEMM_DEVICES names more than 16 devices", NULL},
};

FX_SCENARIO_MAIN(scenarios)
