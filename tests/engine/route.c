/* SPDX-License-Identifier: MIT */
/* The route by which a device computes a problem. A call selects a kernel once for the whole and
 * once for each shape of its runs, all before the first launch. The linker puts functions that
 * count in front of xg_select and xg_launch_gemm. */
#include <math.h>

#include "src/compute/backend.h"
#include "src/compute/launch.h"
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

enum xg_status __real_xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                                     const struct xg_gemm_args *args, CUstream stream);
enum xg_status __wrap_xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                                     const struct xg_gemm_args *args, CUstream stream);

/* selected_late: after the first launch. */
static int selected, launched, selected_late;

struct xg_choice __wrap_xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, const struct xg_shape *shape)
{
    selected++;
    selected_late += launched > 0;
    return __real_xg_select(facts, math, name, shape);
}

enum xg_status __wrap_xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                                     const struct xg_gemm_args *args, CUstream stream)
{
    launched++;
    return __real_xg_launch_gemm(dev, choice, args, stream);
}

static void count_from_zero(void)
{
    selected = launched = selected_late = 0;
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
    xg_route_decide(&route, NULL, facts, math, name, call);
    return route;
}

/* Plans the product like src/pipeline/pipeline.c. */
static struct xg_plan plan_of(const struct xg_route *route, const struct xg_problem *call,
                              size_t device_bytes)
{
    struct xg_plan plan = {0};
    const struct xg_plan_limits limits = {.device_bytes = device_bytes,
                                          .row_bytes = XG_QUEUE_BLOCK_BYTES,
                                          .macs_per_byte = xg_route_macs_per_byte(route)};
    XT_CHECK(xg_plan_init(&plan, call, &limits) == XG_OK);
    xg_route_choose(route, NULL, &plan);
    return plan;
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
    struct xg_route strict = route_of(&facts, XG_MATH_STRICT, NULL, &call);
    double fast = xg_route_macs_per_byte(&strict);
    XT_CHECK(fast > 300 && fast < 700, "%g", fast);
    facts.link_bytes_per_s = XG_REFERENCE_LINK_BYTES_PER_S / 4;
    strict = route_of(&facts, XG_MATH_STRICT, NULL, &call);
    double slow = xg_route_macs_per_byte(&strict);
    XT_CHECK(fabs(slow / fast - 4) < 1e-9, "%g, %g", slow, fast);
    struct xg_route named = route_of(&facts, XG_MATH_ACCURATE, "fp16x3", &call);
    struct xg_plan plan = plan_of(&named, &call, 4 << 20);
    XT_CHECK(plan.choice_count > 0);
    for (int i = 0; i < plan.choice_count; i++) {
        const struct xg_kernel *row = plan.choices[i].choice.row;
        XT_CHECK(row && !(row->flags & XG_KERNEL_PIECES), "a run of pieces");
    }
    xg_plan_fini(&plan);
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

/* Returns the number of different shapes of the plan's runs. */
static int shapes_of(const struct xg_plan *plan, const struct xg_problem *call)
{
    int shapes = 0;
    for (int64_t i = 0; i < plan->run_count; i++) {
        bool seen = false;
        for (int64_t j = 0; j < i && !seen; j++) {
            const struct xg_plan_tile *x = &plan->tiles[plan->runs[i].tile];
            const struct xg_plan_tile *y = &plan->tiles[plan->runs[j].tile];
            seen = x->rows == y->rows && x->columns == y->columns &&
                   xg_plan_depth(plan, call, plan->runs[i].l) ==
                       xg_plan_depth(plan, call, plan->runs[j].l);
        }
        shapes += !seen;
    }
    return shapes;
}

/*
 * A decision selects once, a lane selects once for the whole, and a plan once for each shape of its
 * runs, by name too. The next call of that shape selects nothing.
 */
static void test_counts(void)
{
    static const int64_t sides[] = {600, 4096, 5001};
    static struct xg_recent policy, lane;
    static const struct xg_conf settings[] = {{.math = XG_MATH_STRICT},
                                              {.math = XG_MATH_STRICT, .kernel = "vectorized"}};
    struct xg_model model;
    xg_model_init(&model, 16);
    for (int i = 0; i < 6; i++) {
        const struct xg_conf *conf = &settings[i / 3];
        const struct xg_problem call = square(sides[i % 3]);
        struct xg_route priced, route;
        for (int turn = 0; turn < 2; turn++) {
            const bool kept = turn && !conf->kernel;
            count_from_zero();
            xg_model_route_seconds(&model, conf, 16, &call, &policy, &priced);
            XT_CHECK(selected == !kept, "the decision selected %d times", selected);
            xg_route_decide(&route, &lane, &model.device, conf->math, conf->kernel, &call);
            XT_CHECK(route.whole.row == priced.whole.row && route.pieces == priced.pieces);
            XT_CHECK(selected == (kept ? 0 : 2), "both: %d times", selected);
            count_from_zero();
            struct xg_plan plan = plan_of(&route, &call, (size_t)1 << 33);
            XT_CHECK(selected == shapes_of(&plan, &call) && selected == plan.choice_count,
                     "%ld: the plan selected %d times for %d shapes", (long)call.m, selected,
                     shapes_of(&plan, &call));
            xg_route_choose(&route, &lane, &plan);
            count_from_zero();
            xg_route_choose(&route, &lane, &plan);
            /* Few shapes share a place. */
            XT_CHECK(conf->kernel || selected <= plan.choice_count / 4, "%d again", selected);
            xg_plan_fini(&plan);
        }
    }
}

/* The price is that of the choice that runs: the route of the open device has the same one. */
static void test_price(void)
{
    static struct xg_batch large = {.count = 4};
    struct xg_problem calls[] = {square(300), square(4096), square(8192), square(1000),
                                 square(700), square(4096), square(2000)};
    calls[3].op = XG_OP_TRSM;
    calls[3].structured = XG_OPERAND_A;
    calls[4].type = XG_TYPE_Z;
    calls[5].batch = &large;
    calls[5].m *= large.count;
    calls[6].op = XG_OP_SYR2K;
    calls[6].uplo = XG_LOWER;
    for (size_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
        const struct xg_conf conf = {.kernel = i % 2 ? "vectorized" : NULL};
        const struct xg_problem *call = &calls[i / 2];
        const struct xg_problem one = call->batch ? xg_problem_instance(call, 0) : *call;
        struct xg_model model;
        struct xg_route priced;
        xg_model_init(&model, 16);
        xg_model_route_seconds(&model, &conf, 16, call, NULL, &priced);
        model.device.cublas |= xg_select_needs_cublas(&model.device, call);
        struct xg_route route = route_of(&model.device, conf.math, conf.kernel, &one);
        XT_CHECK(route.whole.row && route.whole.row == priced.whole.row &&
                     route.whole.cycles == priced.whole.cycles && route.pieces == priced.pieces,
                 "%d: %s, not %s", (int)i, priced.whole.row ? priced.whole.row->name : "none",
                 route.whole.row ? route.whole.row->name : "none");
    }
}

static void run(struct xg_lane *lane, const struct fx_shape *shape, const char *name, int most)
{
    struct fx_product product = fx_product_create(shape, 1);
    for (int turn = 0; turn < 2; turn++) {
        struct xg_cpu cpu = fx_product_cpu(&product);
        struct xg_result result;
        count_from_zero();
        XT_CHECK(xg_pipeline_run(lane, &product.call, XG_MATH_STRICT, name, &cpu, &result) ==
                 XG_OK);
        XT_CHECK(result.tiles > 1 && launched >= result.tiles && !selected_late);
        int expected = turn && !name ? 0 : most;
        XT_CHECK(selected == expected, "turn %d: selected %d times, not %d", turn, selected,
                 expected);
    }
    fx_product_destroy(&product);
}

/* A lane selects for the whole and for each shape of the runs. */
static void test_runs(struct xg_dev *dev)
{
    static const struct fx_shape shapes[] = {{700, 900, 1100, false, true, 1.0f, 0.0f, 0},
                                             {701, 905, 1101, true, false, 1.0f, 0.0f, 0}};
    struct xg_lane *lane;
    XT_CHECK(xg_lane_create(dev, 2, &lane) == XG_OK);
    for (int i = 0; i < 4; i++) {
        const struct fx_shape *shape = &shapes[i % 2];
        const char *name = i < 2 ? NULL : "vectorized";
        const struct xg_problem call = {.m = shape->m,
                                        .n = shape->n,
                                        .k = shape->k,
                                        .transa = shape->transa,
                                        .transb = shape->transb,
                                        .alpha = 1};
        struct xg_route route = route_of(&dev->facts, XG_MATH_STRICT, name, &call);
        struct xg_plan plan = plan_of(&route, &call, dev->budget_bytes);
        run(lane, shape, name, 1 + shapes_of(&plan, &call));
        xg_plan_fini(&plan);
    }
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
    test_counts();
    test_price();
    XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK, "no device");
    if (!xt_failures) {
        test_runs(dev);
        xg_backend_close(dev);
    }
    xg_conf_fini(&conf);
    return xt_done();
}
