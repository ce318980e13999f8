/* SPDX-License-Identifier: MIT */
/*
 * Products from host memory to host memory on the fake driver: every shape, row and tiling.
 * Contract 1.1, 3.2, 6.1, 6.2, 7.1, 10.1 (doc/contract.md).
 */
#include <errno.h>

#include "kernels/table.h"
#include "lane.h"
#include "src/pipeline/pipeline.h"

static struct fakecuda fake;
static struct xg_dev *dev;

/* Runs and checks one product. kernel: XGEMM_KERNEL or NULL. Returns xg_pipeline_run's status. */
static enum xg_status run(struct xg_lane *lane, const struct fx_shape *shape, const char *kernel,
                          const char *what, struct xg_result *result)
{
    static uint64_t seed = 1;
    struct fx_product product = fx_product_create(shape, seed++);
    struct xg_cpu cpu = fx_product_cpu(&product);
    errno = ENOTTY;
    enum xg_status status =
        xg_pipeline_run(lane, &product.call, XG_MATH_ACCURATE, kernel, &cpu, result);
    XT_CHECK(errno == ENOTTY, "%s: errno %d", what, errno);
    if (status == XG_DECLINED) {
        XT_CHECK(fx_untouched(&product), "%s: declined", what);
    } else {
        XT_CHECK(status == XG_OK, "%s: %s", what, xg_status_name(status));
        XT_CHECK(result->tiles_done == result->tiles && result->tiles > 0, "%s: %lld of %lld tiles",
                 what, (long long)result->tiles_done, (long long)result->tiles);
        fx_product_check(&product, shape->m * shape->n * shape->k > 1e9 ? 7 : 1, what);
    }
    XT_CHECK(product.count.wholes == 0 && product.count.parts == 0, "%s: the CPU computed", what);
    fx_product_destroy(&product);
    return status;
}

static const int64_t sizes[][3] = {
    {1, 1, 1},    {1, 7, 5},     {5, 1, 9},      {3, 5, 1},      {17, 33, 9},
    {64, 64, 64}, {65, 127, 33}, {130, 257, 90}, {300, 4, 1021}, {4, 600, 31},
};
static const float scalars[][2] = {{1, 0}, {1, 1}, {-0.5f, 2}, {2.5f, -1}, {1.5f, 0}};

static void test_shapes(struct xg_lane *lane)
{
    struct xg_result result;
    int step = fx_short() ? 3 : 1; /* nn and tt */
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t x = 0; x < sizeof(scalars) / sizeof(scalars[0]); x++)
            for (int trans = 0; trans < 4; trans += step)
                for (int64_t pad = 0; pad <= 3; pad += 3) {
                    struct fx_shape shape = {sizes[s][0], sizes[s][1],   sizes[s][2],   trans & 2,
                                             trans & 1,   scalars[x][0], scalars[x][1], pad};
                    enum xg_status status = run(lane, &shape, NULL, "shapes", &result);
                    XT_CHECK(status == XG_OK, "%s", xg_status_name(status));
                    XT_CHECK(result.down_bytes >= (size_t)(shape.m * shape.n) * sizeof(float),
                             "%llu bytes down", (unsigned long long)result.down_bytes);
                }
}

/* A named row computes the product, or another row does if it cannot serve the shape. */
static void test_row(const struct xg_kernel *kernel)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *forced;
    struct xg_result result;
    int served = 0, step = fx_short() ? 3 : 1;
    conf.kernel = kernel->name;
    struct xg_lane *lane = fx_lane_open(&conf, 2, &forced);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (int trans = 0; trans < 4; trans += step) {
            struct fx_shape shape = {sizes[s][0], sizes[s][1], sizes[s][2], trans & 2,
                                     trans & 1,   1.25f,       0.5f,        1};
            enum xg_status status = run(lane, &shape, kernel->name, kernel->name, &result);
            XT_CHECK(status == XG_OK, "%s: %s", kernel->name, xg_status_name(status));
            served += result.kernel && !strcmp(result.kernel, kernel->name);
        }
    /* The fake driver has no tensor maps, TF32 is not allowed here, and these products are of
     * floats: rows that need these do not serve. */
    bool able =
        !(kernel->flags & (XG_KERNEL_WGMMA | XG_KERNEL_TF32)) && kernel->type == (int)XG_TYPE_S;
    XT_CHECK(able == (served > 0), "%s computed %d of the shapes", kernel->name, served);
    fx_lane_close(lane, forced);
    conf.kernel = NULL;
    xg_conf_fini(&conf);
}

/* Products of which each operand is larger than the device memory that the library may use. */
static void test_out_of_core(void)
{
    static const struct {
        size_t limit_bytes;
        struct fx_shape shape;
    } cases[] = {
        {700 << 10, {600, 590, 40, false, false, 1, 0.5f, 1}},
        {2 << 20, {700, 800, 310, false, true, 1, 0, 0}},
        {2 << 20, {700, 800, 310, true, false, 2, 1, 5}},
        {3 << 20, {1030, 900, 270, true, true, -1, 0.25f, 2}},
        {8 << 20, {5, 300, 5000, false, false, 1, 1, 0}},
        {8 << 20, {300, 5, 5000, true, true, 1, 0, 3}},
        {300 << 10, {2000, 33, 64, false, true, 1, 0, 0}},
        {300 << 10, {33, 2000, 64, true, false, 1, -1, 1}},
        {5 << 20, {1200, 1150, 1140, false, false, 1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct xg_conf conf = fx_conf();
        struct xg_dev *small;
        struct xg_result result;
        char what[40];
        bool large = cases[i].shape.k > 1000 && cases[i].shape.m > 1000;
        if (large && fx_short())
            continue;
        conf.mem_limit_bytes = (int64_t)cases[i].limit_bytes;
        snprintf(what, sizeof(what), "out of core %zu", i);
        struct xg_lane *lane = fx_lane_open(&conf, 2, &small);
        for (unsigned seed = 0; seed < (large || fx_short() ? 1 : 3); seed++) {
            fake.reset(seed);
            enum xg_status status = run(lane, &cases[i].shape, NULL, what, &result);
            XT_CHECK(status == XG_OK, "%s: %s", what, xg_status_name(status));
            XT_CHECK(result.tiles > 1 || fake.calls("cuLaunchKernel") > 1, "%s: one tile", what);
        }
        const struct fakecuda_live live = fx_live(&fake);
        XT_CHECK(live.dev_bytes <= cases[i].limit_bytes, "%s: %zu bytes of %zu", what,
                 live.dev_bytes, cases[i].limit_bytes);
        fx_lane_close(lane, small);
        xg_conf_fini(&conf);
    }
}

/* No tiling fits: the product is declined, and C is untouched. */
static void test_no_room(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *small;
    struct xg_result result;
    const struct fx_shape shape = {300, 300, 300, false, false, 1, 1, 0};
    conf.mem_limit_bytes = 4096;
    struct xg_lane *lane = fx_lane_open(&conf, 1, &small);
    enum xg_status status = run(lane, &shape, NULL, "no room", &result);
    XT_CHECK(status == XG_DECLINED, "%s", xg_status_name(status));
    fx_lane_close(lane, small);
    xg_conf_fini(&conf);
}

/* The result has the same bits for every order of the fake's operations. */
static void test_same_bits(struct xg_lane *lane)
{
    const struct fx_shape shape = {200, 150, 300, false, true, 1, 0.5f, 1};
    struct fx_product product = fx_product_create(&shape, 7);
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_result result;
    float *first = xt_alloc(product.c_elems, sizeof(float));
    for (unsigned seed = 0; seed < 20; seed++) {
        fake.reset(seed);
        fx_product_reset(&product);
        xg_pipeline_run(lane, &product.call, XG_MATH_ACCURATE, NULL, &cpu, &result);
        if (!seed)
            memcpy(first, product.c_all, product.c_elems * sizeof(float));
        XT_CHECK(!memcmp(first, product.c_all, product.c_elems * sizeof(float)), "seed %u", seed);
    }
    free(first);
    fx_product_destroy(&product);
}

/*
 * Counts the results of a cuBLAS row that differ in bits from the first one, on the streams of two
 * lanes in turn. Only cuBLAS can make such rows reproducible, and it does so only on request.
 */
static int count_other_bits(bool reproducible, const char *name, enum xg_math math)
{
    enum { LANES = 2, TURNS = 10 };
    const struct fx_shape shape = {1100, 600, 40, false, false, 1.5f, 0, 0};
    struct fx_product product = fx_product_create(&shape, 7);
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_conf conf = fx_conf();
    struct xg_dev *device;
    struct xg_lane *lanes[LANES];
    float *first = xt_alloc(product.c_elems, sizeof(float));
    int other = 0;
    conf.reproducible = reproducible;
    conf.math = math;
    conf.kernel = name;
    XT_CHECK(xg_backend_open(&conf, &device) == XG_OK, "%s", name);
    for (int i = 0; i < LANES; i++)
        XT_CHECK(xg_lane_create(device, 2, &lanes[i]) == XG_OK, "%s", name);
    for (int turn = 0; turn < TURNS; turn++) {
        struct xg_result result;
        fx_product_reset(&product);
        XT_CHECK(xg_pipeline_run(lanes[turn % LANES], &product.call, math, name, &cpu, &result) ==
                         XG_OK &&
                     !strcmp(result.kernel, name),
                 "%s, turn %d", name, turn);
        fx_product_check(&product, 7, name);
        if (!turn)
            memcpy(first, product.c_all, product.c_elems * sizeof(float));
        other += memcmp(first, product.c_all, product.c_elems * sizeof(float)) != 0;
    }
    for (int i = 0; i < LANES; i++)
        xg_lane_destroy(lanes[i]);
    xg_backend_close(device);
    conf.kernel = NULL;
    xg_conf_fini(&conf);
    free(first);
    fx_product_destroy(&product);
    return other;
}

static void test_library_bits(void)
{
    fake.reset(1);
    XT_CHECK(count_other_bits(false, "cublas", XG_MATH_ACCURATE) > 0, "this test sees nothing");
    XT_CHECK(count_other_bits(true, "cublas", XG_MATH_ACCURATE) == 0, "cublas: other bits");
    XT_CHECK(count_other_bits(true, "cublas_tf32", XG_MATH_TF32) == 0, "cublas_tf32: other bits");
}

int main(void)
{
    static const int teams[] = {1, 2, 5};
    struct xg_conf conf = fx_conf();
    fake = fx_fake();
    XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK, "no device");
    if (xt_failures)
        return xt_done();
    for (size_t i = fx_short(); i < sizeof(teams) / sizeof(teams[0]); i++) {
        struct xg_lane *lane;
        XT_CHECK(xg_lane_create(dev, teams[i], &lane) == XG_OK, "a team of %d", teams[i]);
        test_shapes(lane);
        if (i == 1)
            test_same_bits(lane);
        xg_lane_destroy(lane);
        const struct fakecuda_live live = fx_live(&fake);
        XT_CHECK(!live.dev && !live.pinned && !live.streams && !live.events, "a team of %d leaks",
                 teams[i]);
    }
    xg_backend_close(dev);
    for (size_t row = 0; row < xg_kernel_count; row++)
        test_row(&xg_kernel_table[row]);
    test_out_of_core();
    test_no_room();
    test_library_bits();
    fx_nothing_left(&fake);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(!live.pageable, "%zu copies of memory that is not page-locked", live.pageable);
    xg_conf_fini(&conf);
    return xt_done();
}
