/* SPDX-License-Identifier: MIT */
/* Several devices on the fake driver: which products each gets, and when one of them fails. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "scenario.h"
#include "src/base/clock.h"
#include "src/device/drv.h"
#include "src/engine.h"
#include "src/host/tally.h"
#include "tests/support/guarded.h"
#include "tests/support/threads.h"

enum { PRODUCTS = 10 };

/* Two lanes' blocks for each of two devices, and little beside them. */
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

/* The first is ready before the others are: until products meet all. */
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

/* What one device holds at most, page-locked, for each of two. */
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

/* One is lost in the middle of products, and the other goes on; then that is lost as well. */
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

/* Until a call of the driver's function waits for fake.release. */
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

/* What a lost device held goes back while products run on the other. */
static void slow_teardown(void)
{
    int on[FX_DEVICES_MOST];
    pthread_t thread;
    void *lost = NULL;
    start_devices("0,1");
    await_devices(on, 2);
    fake.fail("cuDevicePrimaryCtxRelease", 1, FAKECUDA_HANG, FAKECUDA_ONCE);
    fake.fail("exec", 1, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    if (pthread_create(&thread, NULL, run_lost, NULL))
        exit(XT_HARD);
    await_held("cuDevicePrimaryCtxRelease");
    run_on_devices(on);
    XT_CHECK(!on[0] && on[1] == FX_WORKERS * PRODUCTS, "%d and %d products", on[0], on[1]);
    fake.release();
    pthread_join(thread, &lost);
    XT_CHECK(lost, "the loss was not noticed");
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 1 && !live.reclaimed, "%zu contexts", live.contexts);
}

/* The first device is lost while the second one opens and threads wait for a lane of the first: no
 * thread waits for a lane that is gone, and the engine is not given up yet. */
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

static pthread_t exiting; /* the thread that does, once exits is true */
static _Atomic bool exits;
static int naps_before, naps_after; /* its naps: before xg_drv_end, and after */

/* The engine's naps are these as well. */
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

/* The end waits for products, of which there are none, then for the step under way of the start,
 * which goes no further: not for the second device to open. */
static void exit_while_opening(void)
{
    atexit(check_naps); /* runs behind the engine's own handlers */
    start_devices("0,1");
    await_held("cuInit");
    exiting = pthread_self();
    exits = true;
    exit(xt_failures ? XT_FAIL : XT_PASS);
}

/* More than there is room for. */
static void many_ordinals(void)
{
    start_devices("0,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36");
    XT_CHECK(run_one() == XG_OK);
}

/* What another kind of device would take is not known: it is not used. */
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

/* A device that cannot be had is done without, be it the first or another. */
static void refused_device(void)
{
    int on[FX_DEVICES_MOST];
    start_devices("0,1,2");
    await_devices(on, 2);
    XT_CHECK(!on[2], "%d products on a third device", on[2]);
}

/* A start takes what every product needs: 64 MiB page-locked. */
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

/* It waits for a lane, in vain, for as long as this. */
static void decline_after(double most_s)
{
    const struct xg_patience patience = {
        .takes_s = 1e-3, .waits_s = HUGE_VAL, .most_s = most_s, .threads = 1};
    struct fx_product product = fx_product_create(&one, 3);
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_result result;
    XT_CHECK(xg_engine_compute(&product.call, &conf, &cpu, &patience, &result) == XG_DECLINED);
    XT_CHECK(result.busy && fx_untouched(&product), "a lane was free");
    fx_product_destroy(&product);
}

/* Both lanes are held up in the driver: a thread waits for one until its patience ends. Once no
 * lane has moved for four timeouts, no thread waits at all, not even for a short patience. */
static void patience_ends(void)
{
    struct fx_worker workers[2] = {{.conf = &conf, .seed = 1}, {.conf = &conf, .seed = 2}};
    pthread_t threads[2];
    timeout_ms = 300;
    start_devices(NULL);
    for (int i = 0; i < 2; i++) {
        fake.fail("cuStreamWaitEvent", 1 + i, -1, FAKECUDA_ONCE);
        if (pthread_create(&threads[i], NULL, work_once, &workers[i]))
            exit(XT_HARD);
    }
    while (fake.calls("cuStreamWaitEvent") < 2)
        fx_nap_us(1000);
    double begin_s = xg_clock_s();
    decline_after(0.01);
    XT_CHECK_LE(xg_clock_s() - begin_s, 1.0, "it waited");
    for (int i = 0; i < 500; i++) /* as many waits would outlast the watchdog */
        decline_after(0.3);
    fake.release();
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        XT_CHECK(workers[i].right == 1, "thread %d", i);
    }
}

/* Where several threads multiply a start makes all lanes; one that cannot be had is done without.
 */
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
    /* A stream capture of the program's forbids it once, and as often as it is tried. */
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
