/* SPDX-License-Identifier: MIT */
/*
 * Products from pieces on a fake driver that has them: refused results are computed again. Contract
 * 2.1 (doc/contract.md).
 */
#include "lane.h"
#include "src/compute/split.h"
#include "src/decide/plan.h"
#include "src/decide/route.h"
#include "src/pipeline/pipeline.h"

/*
 * The row is named, so that small products are computed from pieces too. The device has two
 * multiprocessors: products of a size that a test can afford are bound by arithmetic, and their
 * panels form grids and slices of k.
 */
static const char *row_name = "fp16x3"; /* or the program's argument */
static const char multiprocessors[] = "2";

static struct fakecuda fake;
static struct xg_dev *dev;

enum {
    ALL_KINDS_PRODUCTS = 16,
    LAUNCHES_ALL = 5
}; /* limits of a run: src/pipeline/pipeline.c, src/compute/split.c */
enum { CODE_CAPTURE = 906 };
enum { JUDGED_STEP = 13 }; /* distance between elements of C that are checked */

/* Whether the row is chosen without its name. The plans of other rows have other forms than the
 * tests expect. */
static bool is_usual(void)
{
    return !(xg_select_find(row_name)->flags & XG_KERNEL_NAMED);
}

/* The configuration of a process that names the row. */
static struct xg_conf named_conf(void)
{
    struct xg_conf conf = fx_conf();
    conf.kernel = strdup(row_name);
    return conf;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/*
 * Some rows of op(A), or columns of op(B), in the middle, or all of them, get numbers from
 * 2^-spread to 1. For spread 40 BF16's pieces serve; for 100 no pieces do. Crossed: the last rows
 * of op(A) are large where op(B) is small, and small where it is large, so that FP16's pieces would
 * show in C.
 */
struct numbers {
    const char *name;
    unsigned spread;
    bool b, every, crossed;
};

enum { EVEN, WIDE_ROWS, WIDE_COLUMNS, WIDEST_ROWS, WIDEST_COLUMNS, CROSSED_ROWS, KINDS };
static const struct numbers kinds[KINDS] = {
    [EVEN] = {.name = "even"},
    [WIDE_ROWS] = {.name = "wide rows", .spread = 40},
    [WIDE_COLUMNS] = {.name = "wide columns", .spread = 40, .b = true, .every = true},
    [WIDEST_ROWS] = {.name = "widest rows", .spread = 100, .every = true},
    [WIDEST_COLUMNS] = {.name = "widest columns", .spread = 100, .b = true},
    [CROSSED_ROWS] = {.name = "crossed rows", .crossed = true},
};

static bool is_wide(const struct numbers *numbers)
{
    return numbers->spread || numbers->crossed;
}

/* Element l of row i of op(A), or of column i of op(B). */
static float *place(const struct fx_product *product, bool b, int64_t i, int64_t l)
{
    const struct xg_problem *call = &product->call;
    bool along_k = b ? call->transb : !call->transa;
    int64_t ld = b ? call->ldb : call->lda;
    return (b ? product->b : product->a) + (along_k ? i * ld + l : l * ld + i);
}

enum { WIDENED = 3, CROSSED_DEPTH = 8 };

static void cross(struct fx_product *product)
{
    const struct xg_problem *call = &product->call;
    for (int64_t i = call->m - WIDENED; i < call->m; i++)
        for (int64_t l = CROSSED_DEPTH; l < call->k; l++)
            *place(product, false, i, l) *= 0x1p-36f;
    for (int64_t j = 0; j < call->n; j++)
        for (int64_t l = 0; l < CROSSED_DEPTH; l++)
            *place(product, true, j, l) *= 0x1p-48f;
}

static void change(struct fx_product *product, const struct numbers *numbers)
{
    uint64_t seed = 5;
    const struct xg_problem *call = &product->call;
    int64_t rows = numbers->b ? call->n : call->m, first = numbers->every ? 0 : rows / 2;
    int64_t end = !numbers->spread ? first : numbers->every ? rows : first + WIDENED;
    if (numbers->crossed)
        cross(product);
    for (int64_t i = first; i < end; i++)
        for (int64_t l = 0; l < call->k; l++) {
            float *x = place(product, numbers->b, i, l);
            unsigned drawn = (unsigned)(fabsf(xt_random(&seed)) * 0x1p20f);
            *x = ldexpf(*x, -(int)(drawn % (numbers->spread + 1)));
        }
}

/* --- Plans ------------------------------------------------------------------------------------ */

struct form {
    int64_t tiles, runs, loads, a_panels, b_panels, slices;
    bool slots_shared; /* tiles share their memory in turn */
};

/* Plans the product like src/pipeline/pipeline.c. */
static struct form form_of(const struct xg_problem *call)
{
    struct xg_plan plan;
    struct xg_route route;
    xg_route_decide(&route, NULL, &dev->facts, XG_MATH_ACCURATE, row_name, call);
    const struct xg_plan_limits limits = {
        .device_bytes = dev->budget_bytes,
        .row_bytes = XG_QUEUE_BLOCK_BYTES,
        .macs_per_byte = xg_route_macs_per_byte(&route),
    };
    XT_CHECK(xg_plan_init(&plan, call, &limits) == XG_OK);
    struct form form = {plan.tile_count,
                        plan.run_count,
                        plan.load_count,
                        plan.mt,
                        plan.nt,
                        plan.kt,
                        plan.c_slots < plan.tile_count};
    xg_plan_fini(&plan);
    return form;
}

/* --- One product ------------------------------------------------------------------------------ */

/* Overwrites the device memory of earlier products, so that their results cannot pass for this
 * one's. */
static void poison(struct xg_lane *lane)
{
    const unsigned nan = 0x7fc5a5a5u;
    XT_CHECK(xg_dev_enter(dev) == XG_OK);
    if (lane->memory.bytes)
        XT_CHECK(XG_DRV(&dev->drv, cuMemsetD32Async, lane->memory.ptr, nan, lane->memory.bytes / 4,
                        lane->streams[0]) == XG_OK);
    XT_CHECK(xg_lane_drain(lane, dev->timeout_s) == XG_OK);
    xg_dev_leave(dev);
}

/* Runs the product by the row. Returns the number of launches. */
static long run(struct xg_lane *lane, struct fx_product *product, const char *what,
                struct xg_result *result)
{
    struct xg_cpu cpu = fx_product_cpu(product);
    long launches = fake.calls("cuLaunchKernel");
    fx_product_reset(product);
    enum xg_status status =
        xg_pipeline_run(lane, &product->call, XG_MATH_ACCURATE, row_name, &cpu, result);
    XT_CHECK(status == XG_OK, "%s: %s", what, xg_status_name(status));
    XT_CHECK(!product->count.wholes && !product->count.parts, "%s: the CPU computed", what);
    XT_CHECK(result->kernel && !strcmp(result->kernel, row_name), "%s: by %s", what,
             result->kernel ? result->kernel : "no kernel");
    XT_CHECK(result->tiles_done == result->tiles, "%s: %lld of %lld tiles", what,
             (long long)result->tiles_done, (long long)result->tiles);
    return fake.calls("cuLaunchKernel") - launches;
}

/* The bytes that a product of the shape moves if no piece is refused. */
struct traffic {
    uint64_t up_bytes, down_bytes;
};

static struct traffic traffic_of(const struct fx_shape *shape)
{
    struct xg_lane *lane;
    struct xg_result result;
    struct fx_product product = fx_product_create(shape, 3);
    struct form form = form_of(&product.call);
    XT_CHECK(xg_lane_create(dev, 2, &lane) == XG_OK);
    long launches = run(lane, &product, "even", &result);
    XT_CHECK(launches == form.loads + form.runs && lane->all_kinds_left == 0,
             "even: %ld launches for %lld loads and %lld runs, %d products left", launches,
             (long long)form.loads, (long long)form.runs, lane->all_kinds_left);
    fx_product_destroy(&product);
    xg_lane_destroy(lane);
    return (struct traffic){result.up_bytes, result.down_bytes};
}

/* A product on a lane that has seen no product yet. */
static void run_first(struct xg_lane *lane, struct fx_product *product,
                      const struct numbers *numbers, const struct traffic *even)
{
    struct xg_result result;
    struct form form = form_of(&product->call);
    bool wide = is_wide(numbers);
    run(lane, product, numbers->name, &result);
    fx_product_check(product, JUDGED_STEP, numbers->name);
    XT_CHECK(lane->all_kinds_left == (wide ? ALL_KINDS_PRODUCTS : 0), "%s: %d products left",
             numbers->name, lane->all_kinds_left);
    XT_CHECK(result.up_bytes == even->up_bytes && wide == (result.down_bytes > even->down_bytes) &&
                 result.down_bytes <= 2 * even->down_bytes,
             "%s: %llu and %llu bytes", numbers->name, (unsigned long long)result.up_bytes,
             (unsigned long long)result.down_bytes);
    /* Only the tiles of the panel with a wide range are computed again. */
    bool some = !numbers->every && (numbers->b ? form.b_panels : form.a_panels) > 1;
    XT_CHECK(!some || result.down_bytes < 2 * even->down_bytes, "%s: all tiles were computed again",
             numbers->name);
}

/* The same product again, on the same lane: it has the same bits and moves nothing twice. */
static void run_again(struct xg_lane *lane, struct fx_product *product,
                      const struct numbers *numbers, const struct traffic *even)
{
    struct xg_result result;
    struct form form = form_of(&product->call);
    bool wide = is_wide(numbers);
    float *first = xt_alloc(product->c_elems, sizeof(*first));
    memcpy(first, product->c_all, product->c_elems * sizeof(*first));
    poison(lane);
    long launches = run(lane, product, numbers->name, &result);
    XT_CHECK(!memcmp(first, product->c_all, product->c_elems * sizeof(*first)), "%s: other bits",
             numbers->name);
    XT_CHECK(lane->all_kinds_left == (wide ? ALL_KINDS_PRODUCTS : 0), "%s again: %d products left",
             numbers->name, lane->all_kinds_left);
    XT_CHECK(launches == form.loads + form.runs * (wide ? LAUNCHES_ALL : 1) &&
                 result.up_bytes == even->up_bytes && result.down_bytes == even->down_bytes,
             "%s again: %ld launches, %llu and %llu bytes", numbers->name, launches,
             (unsigned long long)result.up_bytes, (unsigned long long)result.down_bytes);
    free(first);
}

static void run_twice(const struct fx_shape *shape, const struct numbers *numbers,
                      const struct traffic *even, unsigned seed)
{
    struct xg_lane *lane;
    struct fx_product product = fx_product_create(shape, seed);
    XT_CHECK(xg_lane_create(dev, 2 + (int)seed % 3, &lane) == XG_OK);
    fake.reset(seed);
    change(&product, numbers);
    run_first(lane, &product, numbers, even);
    run_again(lane, &product, numbers, even);
    fx_product_destroy(&product);
    xg_lane_destroy(lane);
}

/* --- Shapes ----------------------------------------------------------------------------------- */

static const struct {
    int64_t m, n, k;
    int64_t slices; /* of k, with no operand transposed */
    bool slots_shared;
} shapes[] = {
    {300, 64, 1000, 1, false},  {3300, 20, 500, 1, true},  {40, 3300, 500, 1, true},
    {300, 270, 2048, 4, false}, {600, 90, 1100, 3, false}, /* tiles of more than one sweep */
    {40, 30, 17000, 1, false},  {40, 30, 9000, 1, false},  /* rows that do not fit a block, or only
                                                              just do */
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void test_shapes(void)
{
    static const float scalars[][2] = {{1, 0}, {-0.5f, 2}, {1.5f, 0}, {1, 1}};
    for (unsigned turn = 0; turn < 4 * SHAPES; turn++) {
        unsigned s = turn / 4, trans = turn % 4;
        struct fx_shape shape = {shapes[s].m, shapes[s].n, shapes[s].k, trans & 2,
                                 trans & 1,   1,           0,           0};
        if (fx_short() && turn % 5)
            continue;
        struct traffic even = traffic_of(&shape);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            unsigned seed = turn * KINDS + kind;
            if (fx_short() && seed % 2)
                continue;
            shape.alpha = scalars[(trans + kind) % 4][0];
            shape.beta = scalars[(trans + kind) % 4][1];
            shape.pad = seed % 3 * 3;
            run_twice(&shape, &kinds[kind], &even, seed);
        }
    }
}

/* Checks that the shapes have the intended properties. */
static void test_forms(void)
{
    for (int s = 0; s < SHAPES; s++) {
        const struct xg_problem call = {.m = shapes[s].m,
                                        .n = shapes[s].n,
                                        .k = shapes[s].k,
                                        .lda = shapes[s].k,
                                        .ldb = shapes[s].n,
                                        .ldc = shapes[s].n};
        struct form form = form_of(&call);
        XT_CHECK(!is_usual() || (form.slices == shapes[s].slices &&
                                 form.slots_shared == shapes[s].slots_shared),
                 "shape %d: %lld tiles, %lld slices", s, (long long)form.tiles,
                 (long long)form.slices);
    }
}

/* --- What is learnt of the numbers ------------------------------------------------------------ */

/* After a product that FP16's pieces did not serve, the next ALL_KINDS_PRODUCTS products get all
 * kinds of pieces at once, and those after them do not. */
static void test_next_products(void)
{
    struct xg_lane *lane;
    struct xg_result result;
    const struct fx_shape shape = {30, 40, 130, false, true, 1, 0.5f, 1};
    struct fx_product even = fx_product_create(&shape, 1), wide = fx_product_create(&shape, 2);
    struct form form = form_of(&even.call);
    XT_CHECK(xg_lane_create(dev, 2, &lane) == XG_OK);
    change(&wide, &kinds[WIDE_ROWS]);
    run(lane, &wide, "wide", &result);
    for (int left = ALL_KINDS_PRODUCTS; left >= 0; left--) {
        XT_CHECK(lane->all_kinds_left == left, "%d products left, not %d", lane->all_kinds_left,
                 left);
        long launches = run(lane, &even, "even", &result);
        XT_CHECK(launches == form.loads + form.runs * (left ? LAUNCHES_ALL : 1),
                 "%d products left: %ld launches", left, launches);
    }
    XT_CHECK(lane->all_kinds_left == 0, "%d products left", lane->all_kinds_left);
    fx_product_destroy(&even);
    fx_product_destroy(&wide);
    xg_lane_destroy(lane);
}

/* Infinities and NaNs reach C as they do in FP32. */
static void test_not_finite(void)
{
    struct xg_lane *lane;
    struct xg_result result;
    const struct fx_shape shape = {30, 40, 130, false, false, 1, 0, 0};
    struct fx_product product = fx_product_create(&shape, 4);
    struct xg_cpu cpu = fx_product_cpu(&product);
    product.a[3 * product.call.lda + 7] = INFINITY;
    product.b[5 * product.call.ldb + 9] = NAN;
    XT_CHECK(xg_lane_create(dev, 2, &lane) == XG_OK);
    for (int turn = 0; turn < 2; turn++) {
        fx_product_reset(&product);
        XT_CHECK(xg_pipeline_run(lane, &product.call, XG_MATH_ACCURATE, row_name, &cpu, &result) ==
                     XG_OK &&
                 lane->all_kinds_left == ALL_KINDS_PRODUCTS);
        for (int64_t i = 0; i < shape.m; i++)
            for (int64_t j = 0; j < shape.n; j++) {
                float c = ((float *)product.call.c)[i * product.call.ldc + j];
                XT_CHECK(j == 9   ? isnan(c)
                         : i == 3 ? isinf(c)
                                  : isfinite(c),
                         "C %lld,%lld is %g", (long long)i, (long long)j, (double)c);
            }
    }
    fx_product_destroy(&product);
    xg_lane_destroy(lane);
}

/* --- Faults ----------------------------------------------------------------------------------- */

/* There is memory for the plan but not for pieces: a kernel of the table computes. */
static void test_no_room(void)
{
    struct xg_conf conf = named_conf();
    struct xg_dev *small;
    struct xg_result result;
    const struct fx_shape shape = {300, 64, 1000, false, false, 1, 1, 0};
    struct fx_product product = fx_product_create(&shape, 6);
    struct xg_cpu cpu = fx_product_cpu(&product);
    conf.mem_limit_bytes = 3 << 20;
    struct xg_lane *lane = fx_lane_open(&conf, 2, &small);
    XT_CHECK(xg_pipeline_run(lane, &product.call, XG_MATH_ACCURATE, row_name, &cpu, &result) ==
                     XG_OK &&
                 result.kernel && strcmp(result.kernel, row_name),
             "by %s", result.kernel ? result.kernel : "no kernel");
    fx_product_check(&product, 1, "no room");
    XT_CHECK(!product.count.wholes && !product.count.parts, "no room: the CPU computed");
    fx_product_destroy(&product);
    fx_lane_close(lane, small);
    xg_conf_fini(&conf);
}

/* If a stream capture makes a start fail, the next start has pieces. */
static void test_captured_start(void)
{
    struct xg_conf conf = named_conf();
    struct xg_dev *own;
    fake.fail("cuModuleLoadData", 1, CODE_CAPTURE, FAKECUDA_ONCE);
    XT_CHECK(xg_backend_open(&conf, &own) == XG_ERR_CAPTURE);
    XT_CHECK(xg_backend_open(&conf, &own) == XG_OK && own->facts.pieces);
    xg_backend_close(own);
    xg_conf_fini(&conf);
}

struct fault {
    const char *name; /* NULL: any call */
    int code;
    enum fakecuda_after after;
};

static const struct fault ways[] = {
    {NULL, FX_CODE_UNKNOWN, FAKECUDA_ONCE},
    {"exec", FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY},
    {NULL, FX_CODE_NOMEM, FAKECUDA_ALWAYS},
    {NULL, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/*
 * Runs the product twice on a new device, with one fault; nth 0: none. Returns the number of calls,
 * or of operations if the way counts those, of the first product.
 */
static long attempt(struct fx_product *product, const struct fault *way, long nth, long *struck)
{
    struct xg_conf conf = named_conf();
    struct xg_dev *own;
    char what[60];
    long calls = 0;
    snprintf(what, sizeof(what), "%s:%ld:%d", way->name ? way->name : "any", nth, way->code);
    fake.reset((unsigned)nth);
    struct xg_lane *lane = fx_lane_open(&conf, 2, &own);
    calls = -fake.calls(way->name);
    if (nth)
        fake.fail(way->name, nth, way->code, way->after);
    for (int turn = 0; turn < 2; turn++) {
        struct xg_cpu cpu = fx_product_cpu(product);
        struct xg_result result;
        fx_product_reset(product);
        enum xg_status status =
            xg_pipeline_run(lane, &product->call, XG_MATH_ACCURATE, row_name, &cpu, &result);
        fx_product_check(product, JUDGED_STEP, what);
        XT_CHECK((status == XG_OK) == (!product->count.wholes && !product->count.parts),
                 "%s: %s, %ld and %ld on CPU", what, xg_status_name(status), product->count.wholes,
                 product->count.parts);
        XT_CHECK(nth || status == XG_OK, "%s", xg_status_name(status));
        if (turn == 0)
            calls += fake.calls(way->name);
    }
    *struck += fake.faults(NULL) > 0;
    fake.reset((unsigned)nth); /* a permanent fault would make the lane's destruction fail */
    fx_lane_close(lane, own);
    xg_conf_fini(&conf);
    return calls;
}

/* Tiles are refused, and a call fails before, while or after they are computed again. */
static void test_faults(void)
{
    static const int faulty[][2] = {{1, WIDE_COLUMNS},
                                    {4, CROSSED_ROWS}}; /* the numbers of shapes and of kinds */
    const long steps = fx_short() ? 2 : 16;
    for (size_t f = 0; f < sizeof(faulty) / sizeof(faulty[0]); f++) {
        int s = faulty[f][0];
        struct fx_shape shape = {shapes[s].m, shapes[s].n, shapes[s].k, false, false, 1, 0.5f, 2};
        struct fx_product product = fx_product_create(&shape, 8);
        long struck = 0, attempts = 0;
        change(&product, &kinds[faulty[f][1]]);
        for (int way = 0; way < WAYS; way++) {
            long calls = attempt(&product, &ways[way], 0, &struck);
            for (long nth = 1; nth <= calls; nth += calls / steps + 1, attempts++)
                attempt(&product, &ways[way], nth, &struck);
        }
        /* The number of calls depends on how early a refusal is seen. */
        XT_CHECK(struck > attempts * 3 / 4, "%ld of %ld faults struck", struck, attempts);
        fx_product_destroy(&product);
    }
}

/*
 * A triangle from pieces: SYRK's pieces of A also serve as B's and are copied once; GEMMT's B has
 * its own. The other triangle is unchanged.
 */
static void run_triangle(enum xg_op op, const struct numbers *numbers, enum xg_uplo uplo,
                         bool trans)
{
    const struct fx_shape shape = {700, 700, 600, trans, !trans, 1.5f, uplo == XG_UPPER, 1};
    struct fx_product product = fx_product_create(&shape, 11);
    struct xg_problem *call = &product.call;
    struct xg_result result;
    struct xg_lane *lane;
    const uint64_t operands = op == XG_OP_SYRK ? 1 : 2;
    call->op = op;
    call->uplo = uplo;
    if (op == XG_OP_SYRK) {
        call->b = call->a;
        call->ldb = call->lda;
    }
    change(&product, numbers);
    XT_CHECK(xg_lane_create(dev, 3, &lane) == XG_OK);
    poison(lane);
    for (int turn = 0; turn < 2; turn++) {
        run(lane, &product, numbers->name, &result);
        fx_product_check(&product, JUDGED_STEP, numbers->name);
        uint64_t whole = operands * (uint64_t)call->m * (uint64_t)call->k * sizeof(float);
        XT_CHECK(result.up_bytes < whole + whole / 8, "A travelled twice: %llu bytes",
                 (unsigned long long)result.up_bytes);
        for (int64_t i = 0; i < call->m; i++) {
            const size_t row = FX_GUARD + (size_t)(i * call->ldc);
            const float *now = product.c_all + row, *before = product.c_before + row;
            int64_t begin, end;
            xg_problem_row(call, i, 0, call->n, &begin, &end);
            XT_CHECK(!memcmp(now, before, (size_t)begin * sizeof *now) &&
                         !memcmp(now + end, before + end, (size_t)(call->n - end) * sizeof *now),
                     "%s: row %ld beyond the triangle", numbers->name, (long)i);
        }
    }
    xg_lane_destroy(lane);
    fx_product_destroy(&product);
}

static void test_triangles(void)
{
    static const int used[] = {EVEN, WIDE_ROWS, WIDEST_ROWS};
    for (int i = 0; i < 3; i++) {
        run_triangle(XG_OP_SYRK, &kinds[used[i]], XG_LOWER, i % 2);
        run_triangle(XG_OP_SYRK, &kinds[used[i]], XG_UPPER, i % 2 == 0);
        run_triangle(XG_OP_GEMMT, &kinds[used[i]], XG_LOWER, i % 2 == 0);
        run_triangle(XG_OP_GEMMT, &kinds[used[i]], XG_UPPER, i % 2);
    }
}

int main(int argc, char **argv)
{
    row_name = argc > 1 ? argv[1] : row_name;
    struct xg_conf conf = named_conf();
    fx_watchdog();
    setenv("FAKECUDA_SM_COUNT", multiprocessors, 1);
    fake = fx_fake();
    XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK, "no device");
    if (xt_failures)
        return xt_done();
    if (!dev->facts.pieces) {
        fprintf(stderr, "no pieces: run with LD_LIBRARY_PATH=tests/fakedrv/pieces\n");
        return XT_HARD;
    }
    test_forms();
    test_shapes();
    test_next_products();
    test_not_finite();
    test_no_room();
    test_triangles();
    XT_CHECK(fake.left(XG_TYPE_S) > 0, "kernels compute both triangles");
    test_captured_start();
    xg_backend_close(dev);
    test_faults();
    fx_nothing_left(&fake);
    xg_conf_fini(&conf);
    return xt_done();
}
