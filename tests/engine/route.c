/* SPDX-License-Identifier: MIT */
/* The route by which a device computes a problem. A call selects a kernel once for each shape of
 * its runs. The linker puts a function that counts in front of xg_select. */
#include <math.h>

#include "src/compute/backend.h"
#include "src/decide/model.h"
#include "src/decide/plan.h"
#include "src/decide/route.h"
#include "src/pipeline/lane.h"
#include "src/pipeline/pipeline.h"
#include "tests/support/guarded.h"

struct xg_choice __real_xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, const struct xg_shape *shape);
struct xg_choice __wrap_xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, const struct xg_shape *shape);

static int selected;

struct xg_choice __wrap_xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, const struct xg_shape *shape)
{
    selected++;
    return __real_xg_select(facts, math, name, shape);
}

static struct xg_device_facts h200(void)
{
    return (struct xg_device_facts){.sm = 90,
                                    .sm_count = 132,
                                    .smem_block_bytes = 232448,
                                    .fp64_ratio = 2,
                                    .clusters = true,
                                    .images = true,
                                    .pieces = xg_select_find("fp16x3")};
}

static struct xg_problem square(int64_t side)
{
    return (struct xg_problem){
        .m = side, .n = side, .k = side, .lda = side, .ldb = side, .ldc = side, .alpha = 1};
}

static struct xg_route route_of(const struct xg_device_facts *facts, enum xg_math math,
                                const char *name, const struct xg_problem *call)
{
    struct xg_route route;
    xg_route_decide(&route, facts, math, name, call);
    return route;
}

/* The route has pieces if the arithmetic in FP32 takes long relative to the link, or if they are
 * named. */
static void test_pieces(void)
{
    struct xg_device_facts facts = h200();
    struct xg_problem call = square(8192);
    XT_CHECK(route_of(&facts, XG_MATH_ACCURATE, NULL, &call).pieces, "8192");
    XT_CHECK(!route_of(&facts, XG_MATH_STRICT, NULL, &call).pieces, "strict");
    XT_CHECK(!route_of(&facts, XG_MATH_STRICT, "fp16x3", &call).pieces, "strict, named");
    XT_CHECK(!route_of(&facts, XG_MATH_ACCURATE, "vectorized", &call).pieces, "another named");
    facts.link_bytes_per_s = 2e9;
    struct xg_route slow = route_of(&facts, XG_MATH_ACCURATE, NULL, &call);
    XT_CHECK(!slow.pieces && slow.whole.row && !(slow.whole.row->flags & XG_KERNEL_PIECES),
             "the link takes far longer than a kernel in FP32");
    XT_CHECK(route_of(&facts, XG_MATH_ACCURATE, "fp16x3", &call).pieces, "named");
    facts.link_bytes_per_s = 0;
    call.op = XG_OP_SYR2K;
    call.uplo = XG_LOWER;
    struct xg_route twice = route_of(&facts, XG_MATH_ACCURATE, NULL, &call);
    XT_CHECK(!twice.pieces, "SYR2K adds two products");
    call = square(512);
    XT_CHECK(!route_of(&facts, XG_MATH_ACCURATE, NULL, &call).pieces, "512");
    facts.pieces = NULL;
    call = square(8192);
    XT_CHECK(!route_of(&facts, XG_MATH_ACCURATE, "fp16x3", &call).pieces, "the device has none");
}

/* The multiplications of FP32 in the link's time for a byte; and runs of a row of pieces get a
 * kernel. */
static void test_figures(void)
{
    struct xg_device_facts facts = h200();
    struct xg_problem call = square(4096);
    double fast = route_of(&facts, XG_MATH_STRICT, NULL, &call).macs_per_byte;
    XT_CHECK(fast > 300 && fast < 700, "%g", fast);
    facts.link_bytes_per_s = XG_REFERENCE_LINK_BYTES_PER_S / 4;
    double slow = route_of(&facts, XG_MATH_STRICT, NULL, &call).macs_per_byte;
    XT_CHECK(fabs(slow / fast - 4) < 1e-9, "%g, %g", slow, fast);
    struct xg_route named = route_of(&facts, XG_MATH_ACCURATE, "fp16x3", &call);
    struct xg_choice run = xg_route_run(&named, &call, 512, 512, 512);
    XT_CHECK(run.row && !(run.row->flags & XG_KERNEL_PIECES), "a run of pieces");
    XT_CHECK(xg_route_sums(&named, &call, true) == XG_SUMS_PIECES &&
                 xg_route_sums(&named, &call, false) == XG_SUMS_FP32,
             "sums");
    named.math = XG_MATH_TF32;
    XT_CHECK(xg_route_sums(&named, &call, false) == XG_SUMS_TF32, "TF32");
    call.type = XG_TYPE_D;
    XT_CHECK(xg_route_sums(&named, &call, false) == XG_SUMS_FP32, "double has no TF32");
}

/* In-place operations need cuBLAS; without it no kernel is chosen. */
static void test_in_place(void)
{
    struct xg_device_facts facts = h200();
    struct xg_problem call = square(1000);
    call.op = XG_OP_TRSM;
    call.structured = XG_OPERAND_A;
    XT_CHECK(!route_of(&facts, XG_MATH_ACCURATE, NULL, &call).whole.row, "no cuBLAS");
    facts.cublas = true;
    const struct xg_kernel *row = route_of(&facts, XG_MATH_ACCURATE, NULL, &call).whole.row;
    XT_CHECK(row && row->flags & XG_KERNEL_CUBLAS, "cuBLAS");
}

static void test_batches(void)
{
    struct xg_batch batch = {.count = 4};
    struct xg_problem call = square(64);
    XT_CHECK(!xg_route_is_one_by_one(&call), "no batch");
    call.batch = &batch;
    call.m = 4 * 64;
    XT_CHECK(!xg_route_is_one_by_one(&call), "small instances");
    call = square(4096);
    call.batch = &batch;
    call.m = 4 * 4096;
    XT_CHECK(xg_route_is_one_by_one(&call), "large instances");
}

/* The prediction, the route and a run of the whole problem share one selection. */
static void test_one_run(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    for (int trans = 0; trans < 4; trans++) {
        struct xg_problem call = square(600 + trans);
        call.transa = trans & 2 ? XG_TRANS : XG_NO_TRANS;
        call.transb = trans & 1 ? XG_TRANS : XG_NO_TRANS;
        for (int turn = 0; turn < 2; turn++) {
            selected = 0;
            xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &call);
            struct xg_route route = route_of(&model.device, XG_MATH_ACCURATE, NULL, &call);
            struct xg_choice run = xg_route_run(&route, &call, call.m, call.n, call.k);
            XT_CHECK(run.row && run.row == route.whole.row, "%s", run.row ? run.row->name : "none");
            XT_CHECK(selected == !turn, "selected %d times", selected);
        }
    }
}

/* Returns the number of different shapes of runs, and of the whole. */
static int shapes_of(const struct xg_dev *dev, const struct xg_problem *call)
{
    struct xg_plan plan;
    struct xg_route route = route_of(&dev->facts, XG_MATH_STRICT, NULL, call);
    const struct xg_plan_limits limits = {.device_bytes = dev->budget_bytes,
                                          .row_bytes = XG_QUEUE_BLOCK_BYTES,
                                          .macs_per_byte = route.macs_per_byte};
    XT_CHECK(xg_plan_init(&plan, call, &limits) == XG_OK);
    int shapes = 1;
    for (int64_t i = 0; i < plan.run_count; i++) {
        bool seen = false;
        for (int64_t j = 0; j <= i && !seen; j++) {
            const struct xg_plan_tile *x = &plan.tiles[plan.runs[i].tile];
            const struct xg_plan_tile *y = &plan.tiles[plan.runs[j].tile];
            bool same = x->rows == y->rows && x->columns == y->columns &&
                        xg_plan_depth(&plan, call, plan.runs[i].l) ==
                            xg_plan_depth(&plan, call, plan.runs[j].l);
            seen = same && j < i;
        }
        shapes += !seen;
    }
    xg_plan_fini(&plan);
    return shapes;
}

static void test_runs(struct xg_dev *dev)
{
    struct xg_lane *lane;
    XT_CHECK(xg_lane_create(dev, 2, &lane) == XG_OK);
    const struct fx_shape shape = {700, 900, 1100, false, true, 1.0f, 0.0f, 0};
    struct fx_product product = fx_product_create(&shape, 1);
    for (int turn = 0; turn < 2; turn++) {
        struct xg_cpu cpu = fx_product_cpu(&product);
        struct xg_result result;
        selected = 0;
        XT_CHECK(xg_pipeline_run(lane, &product.call, XG_MATH_STRICT, NULL, &cpu, &result) ==
                 XG_OK);
        int now = selected, most = turn ? 0 : shapes_of(dev, &product.call);
        XT_CHECK(result.tiles > 1 && now <= most && (turn || now > 0),
                 "turn %d: selected %d times for %d shapes", turn, now, most);
    }
    fx_product_destroy(&product);
    xg_lane_destroy(lane);
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    fx_watchdog();
    test_pieces();
    test_figures();
    test_in_place();
    test_batches();
    test_one_run();
    XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK, "no device");
    if (!xt_failures) {
        test_runs(dev);
        xg_backend_close(dev);
    }
    xg_conf_fini(&conf);
    return xt_done();
}
