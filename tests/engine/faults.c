/* SPDX-License-Identifier: MIT */
/*
 * Every driver call of a product fails in turn: C is right, and nothing leaks or hangs. Contract
 * 9.1 (doc/contract.md).
 */
#include "src/compute/backend.h"
#include "src/device/drv.h"
#include "src/pipeline/lane.h"
#include "src/pipeline/pipeline.h"
#include "tests/support/guarded.h"

static struct fakecuda fake;

/* A fault: the nth call of the function fails with the code; name NULL: of any function. */
struct fault {
    const char *name;
    long nth;
    int code;
    enum fakecuda_after after;
};

/* Products in tiles, in groups (the second) and in slices of k (the third). */
static const struct fx_shape shapes[] = {
    {70, 90, 33, false, true, 1, 0.5f, 1},
    {600, 290, 9, true, false, 1, 0, 2},
    {2, 260, 4100, false, false, 1, -1, 0},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };
static const int64_t limits_bytes[SHAPES] = {8 << 20, 700 << 10, 7 << 20};

static struct fx_product products[SHAPES];

/* The lane and the device free all their objects, unless the driver refused the context: then its
 * destruction frees them. */
static void check_leaks(const char *what, bool context)
{
    bool refused = fake.faults("cuCtxPushCurrent") > 0;
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(refused || (!live.dev && !live.pinned && !live.streams && !live.events),
             "%s: %zu device, %zu page-locked, %zu streams, %zu events are left", what, live.dev,
             live.pinned, live.streams, live.events);
    XT_CHECK(context || (!live.modules && !live.contexts && (refused || !live.reclaimed)),
             "%s: %zu modules, %zu contexts are left, %zu objects reclaimed", what, live.modules,
             live.contexts, live.reclaimed);
}

/* Two products on one lane: the second must be right after any fault in the first. */
static enum xg_status run_products(struct xg_lane *lane, struct fx_product *product,
                                   const char *what)
{
    enum xg_status status = XG_OK;
    for (int turn = 0; turn < 2; turn++) {
        struct xg_cpu cpu = fx_product_cpu(product);
        struct xg_result result;
        fx_product_reset(product);
        enum xg_status now =
            xg_pipeline_run(lane, &product->call, XG_MATH_ACCURATE, NULL, &cpu, &result);
        if (now == XG_DECLINED)
            XT_CHECK(fx_untouched(product), "%s: declined", what);
        else
            fx_product_check(product, 1, what);
        XT_CHECK(now != XG_OK || (!product->count.wholes && !product->count.parts),
                 "%s: XG_OK, but the CPU computed", what);
        XT_CHECK(now <= XG_OK || now == XG_DECLINED, "%s: status %d", what, now);
        if (status == XG_OK)
            status = now;
    }
    return status;
}

/* Opens a device and a lane and runs products, with one fault. Returns the first failure. */
static enum xg_status attempt(int which, const struct fault *fault, unsigned seed)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    struct xg_lane *lane;
    char what[120];
    conf.mem_limit_bytes = limits_bytes[which];
    fake.reset(seed);
    snprintf(what, sizeof(what), "shape %d", which);
    if (fault) {
        fake.fail(fault->name, fault->nth, fault->code, fault->after);
        snprintf(what, sizeof(what), "shape %d, %s:%ld:%d:%d", which,
                 fault->name ? fault->name : "any", fault->nth, fault->code, fault->after);
    }
    enum xg_status status = xg_backend_open(&conf, &dev);
    if (status == XG_OK) {
        status = xg_lane_create(dev, 2, &lane);
        if (status == XG_OK) {
            status = run_products(lane, &products[which], what);
            xg_lane_destroy(lane);
        }
        check_leaks(what, true);
        xg_backend_close(dev);
    }
    check_leaks(what, false);
    xg_conf_fini(&conf);
    return status;
}

static const struct fault ways[] = {
    {NULL, 0, FX_CODE_NOMEM, FAKECUDA_ONCE},
    {NULL, 0, FX_CODE_UNKNOWN, FAKECUDA_ONCE},
    {NULL, 0, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY},
    {NULL, 0, FX_CODE_NOMEM, FAKECUDA_ALWAYS},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* One fault, with the code and the later calls of the way. must: the fault has to occur. */
static void attempt_way(int which, const char *name, long nth, int way, bool must)
{
    struct fault fault = ways[way];
    fault.name = name;
    fault.nth = nth;
    enum xg_status status = attempt(which, &fault, (unsigned)(nth + way));
    bool struck = fake.faults(NULL) > 0;
    XT_CHECK(struck || !must, "%s:%ld did not strike", name ? name : "any", nth);
    XT_CHECK(struck || status == XG_OK, "%s:%ld did not strike, but: %s", name ? name : "any", nth,
             xg_status_name(status));
}

static void sweep_by_count(int which)
{
    const long dense = fx_short() ? 0 : 40, steps = fx_short() ? 15 : 150;
    XT_CHECK(attempt(which, NULL, 1) == XG_OK, "shape %d without a fault", which);
    long calls = fake.calls(NULL), execs = fake.calls("exec");
    int turn = 0;
    printf("shape %d: %ld calls, %ld operations\n", which, calls, execs);
    /* The first calls fail in every way, later ones in turn. The number of calls depends on time,
     * so the last faults may not occur. */
    for (long nth = 1; nth <= calls; nth += nth < dense ? 1 : calls / steps + 1, turn++)
        for (int way = 0; way < (nth < dense ? WAYS : 1); way++)
            attempt_way(which, NULL, nth, (turn + way) % WAYS, nth < calls * 3 / 4);
    for (long nth = 1; nth <= execs; nth += execs / (fx_short() ? 4 : 30) + 1) {
        struct fault fault = {"exec", nth, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY};
        enum xg_status status = attempt(which, &fault, (unsigned)nth);
        XT_CHECK(status == XG_ERR_LOST || nth > execs * 3 / 4, "exec:%ld: %s", nth,
                 xg_status_name(status));
    }
}

static void sweep_by_name(int which)
{
#define NAME(function) #function,
    static const char *const names[] = {XG_DRV_FUNCTIONS(NAME) XG_DRV_OPTIONAL(NAME)};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        attempt(which, NULL, 1);
        long calls = fake.calls(names[i]);
        for (long nth = 1; nth <= (fx_short() ? 1 : 3) && nth <= calls; nth++)
            for (int way = 0; way < (fx_short() ? 1 : WAYS); way++)
                attempt_way(which, names[i], nth, (which + (int)i + way) % WAYS, true);
    }
}

/* Allocations fail from each size on: the product uses less memory, or the CPU computes it. */
static void sweep_memory(void)
{
    for (int which = 0; which < SHAPES; which++)
        for (long nth = 1; nth <= 4; nth++) {
            const struct fault dev = {"cuMemAlloc", nth, FX_CODE_NOMEM, FAKECUDA_ALWAYS};
            attempt(which, &dev, 1);
        }
}

/* The system allows little page-locked memory, as WSL2 does: from the fourth block on the GPU
 * computes with those that there are. The vector of refusals comes before the blocks. */
static void sweep_locked(void)
{
    static const long firsts[] = {1, XG_QUEUE_BLOCKS_LEAST + 1, XG_QUEUE_BLOCKS_LEAST + 2,
                                  XG_QUEUE_BLOCKS + 1};
    for (int which = 0; which < SHAPES; which++)
        for (int i = 0; i < 4; i++) {
            const struct fault host = {"cuMemHostAlloc", firsts[i], FX_CODE_NOMEM, FAKECUDA_ALWAYS};
            const enum xg_status status = attempt(which, &host, (unsigned)i);
            XT_CHECK((status == XG_OK) == (i >= 2),
                     "shape %d, no page-locked memory from allocation %ld on: %s", which, firsts[i],
                     xg_status_name(status));
        }
}

int main(void)
{
    fake = fx_fake();
    for (int i = 0; i < SHAPES; i++)
        products[i] = fx_product_create(&shapes[i], (uint64_t)i + 1);
    for (int i = 0; i < SHAPES; i++) {
        sweep_by_count(i);
        if (i < 2)
            sweep_by_name(i);
    }
    sweep_memory();
    sweep_locked();
    for (int i = 0; i < SHAPES; i++)
        fx_product_destroy(&products[i]);
    return xt_done();
}
