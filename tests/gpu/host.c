/* SPDX-License-Identifier: MIT */
/*
 * Products from host memory to host memory on the device: shapes, tilings, lanes, limits,
 * repeatability. Contract 1.1, 3.2, 6.2 (doc/contract.md).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "src/compute/backend.h"
#include "src/pipeline/lane.h"
#include "src/pipeline/pipeline.h"
#include "src/verify/accuracy.h"
#include "tests/support/guarded.h"
#include "util.h"

static struct xg_dev *dev;
static double worst_error; /* of all products, in units of the bound */

static bool all_written(const struct fx_product *product)
{
    const struct xg_problem *call = &product->call;
    for (int64_t i = 0; i < call->m; i++)
        for (int64_t j = 0; j < call->n; j++)
            if (isnan(((float *)call->c)[i * call->ldc + j]))
                return false;
    return true;
}

/* Runs a product. Checks a sample of it, and all of it as XGEMM_VERIFY does; that every element was
 * written; and that nothing beside them was. */
static struct xg_result run_product(struct xg_lane *lane, struct fx_product *made,
                                    const struct fx_shape *shape, enum xg_math math,
                                    const char *what)
{
    static _Thread_local struct xg_accuracy accuracy;
    struct fx_product product = *made;
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_result result;
    xg_accuracy_init(&accuracy, &product.call);
    enum xg_status status =
        xg_pipeline_run_verified(lane, &product.call, math, NULL, &cpu, 1, &result);
    double error = xg_accuracy_error(&accuracy, &product.call);
    double bound = (double)shape->k + 3;
    XT_CHECK(status == XG_OK, "%s: %s", what, xg_status_name(status));
    XT_CHECK(product.count.wholes == 0 && product.count.parts == 0, "%s: the CPU computed", what);
    XT_CHECK(result.verdict == XG_VERDICT_RIGHT && result.deviation < 1, "%s: %g of a threshold",
             what, result.deviation);
    XT_CHECK_LE(error, bound, "%s: %c%c %lld,%lld,%lld beta %g pad %lld: %g * 2^-24", what,
                shape->transa ? 't' : 'n', shape->transb ? 't' : 'n', (long long)shape->m,
                (long long)shape->n, (long long)shape->k, (double)shape->beta,
                (long long)shape->pad, error);
    XT_CHECK(all_written(&product), "%s: an element was not written", what);
    XT_CHECK(fx_padding_intact(&product), "%s: written beside C", what);
    if (error / bound > worst_error)
        worst_error = error / bound;
    return result;
}

static struct xg_result run(struct xg_lane *lane, const struct fx_shape *shape, uint64_t seed,
                            const char *what)
{
    struct fx_product product = fx_product_create(shape, seed);
    struct xg_result result = run_product(lane, &product, shape, XG_MATH_STRICT, what);
    fx_product_destroy(&product);
    return result;
}

static const int64_t shapes[][3] = {
    {1, 1, 1},          {1, 4097, 513},    {4097, 1, 513},     {3, 5, 70000},
    {17, 3000, 17},     {1023, 1025, 511}, {2048, 2048, 2048}, {3000, 777, 1533},
    {2047, 4099, 1021}, {100000, 63, 65},  {128, 128, 100000}, {5000, 5000, 33},
};

static void test_shapes(struct xg_lane *lane)
{
    static const float scalars[][2] = {{1, 0}, {-1.5f, 1}, {0.5f, -2}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int trans = 0; trans < 4; trans++) {
            size_t x = (s + (size_t)trans) % 3;
            struct fx_shape shape = {shapes[s][0], shapes[s][1],  shapes[s][2],  trans & 1,
                                     trans & 2,    scalars[x][0], scalars[x][1], trans % 2 * 3};
            run(lane, &shape, 100 * s + (uint64_t)trans, "shapes");
        }
}

/* Each of the three operands is larger than the memory that the library may use on the device. */
static void test_out_of_core(void)
{
    struct xg_conf conf = fx_conf();
    conf.mem_limit_bytes = 48 << 20;
    struct xg_dev *small;
    struct xg_lane *lane;
    XT_CHECK(xg_backend_open(&conf, &small) == XG_OK);
    XT_CHECK(xg_lane_create(small, 8, &lane) == XG_OK);
    for (int trans = 0; trans < 4; trans++) {
        struct fx_shape shape = {4100, 4000, 3900, trans & 1, trans & 2, 1, (float)(trans % 2), 1};
        struct xg_result result = run(lane, &shape, 7, "out of core");
        XT_CHECK(small->used_bytes <= 48 << 20, "%zu bytes", (size_t)small->used_bytes);
        XT_CHECK(result.up_bytes > 4 * (4100 + 4000) * 3900ull, "operands went up once only");
    }
    xg_lane_destroy(lane);
    XT_CHECK(small->used_bytes == 0);
    xg_backend_close(small);
}

/* The same call gives the same bits when it is repeated, with other leading dimensions, and with
 * another team. */
static void test_repeatable(void)
{
    static const int threads[] = {8, 8, 1, 3};
    float *first = NULL;
    const int64_t m = 1500, n = 1300, k = 2100;
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        struct xg_lane *lane;
        struct xg_result result;
        XT_CHECK(xg_lane_create(dev, threads[t], &lane) == XG_OK);
        struct fx_shape shape = {m, n, k, false, false, 1, 0, (int64_t)t};
        struct fx_product padded = fx_product_create(&shape, 5);
        struct xg_cpu cpu = fx_product_cpu(&padded);
        uint64_t seed = 77;
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < k; l++)
                padded.a[i * padded.call.lda + l] = xt_random(&seed);
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                padded.b[l * padded.call.ldb + j] = xt_random(&seed);
        XT_CHECK(xg_pipeline_run(lane, &padded.call, XG_MATH_STRICT, NULL, &cpu, &result) == XG_OK);
        float *c = malloc((size_t)(m * n) * sizeof *c);
        for (int64_t i = 0; i < m; i++)
            memcpy(c + i * n, (float *)padded.call.c + i * padded.call.ldc, (size_t)n * sizeof *c);
        if (first)
            XT_CHECK(!memcmp(first, c, (size_t)(m * n) * sizeof *c), "team of %d, padding %zu",
                     threads[t], t);
        if (first)
            free(c);
        else
            first = c;
        fx_product_destroy(&padded);
        xg_lane_destroy(lane);
    }
    free(first);
}

/* Some rows of op(A) get numbers from 2^-spread to 1, which FP16's pieces do not serve. */
static void widen(struct fx_product *product, int64_t first, int64_t rows, unsigned spread)
{
    uint64_t seed = 5;
    const struct xg_problem *call = &product->call;
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t l = 0; l < call->k; l++) {
            float *a = product->a + (call->transa ? l * call->lda + i : i * call->lda + l);
            *a = ldexpf(*a, -(int)((unsigned)(fabsf(xt_random(&seed)) * 0x1p20f) % (spread + 1)));
        }
}

/*
 * Products from pieces: of numbers that FP16's pieces serve, of some rows that need BF16's, and of
 * some that need FP32. Refused tiles are computed again, and the next product, which gets all kinds
 * of pieces at once, has the same bits.
 */
static void test_pieces(void)
{
    static const unsigned spreads[] = {0, 40, 100};
    if (!dev->facts.pieces)
        return;
    for (int trans = 0; trans < 4; trans++)
        for (size_t s = 0; s < sizeof spreads / sizeof spreads[0]; s++) {
            struct xg_lane *lane;
            struct fx_shape shape = {2048, 2050 + trans,       2300, trans & 1, trans & 2,
                                     0.5f, (float)(trans % 2), trans};
            struct fx_product product = fx_product_create(&shape, 9);
            XT_CHECK(xg_lane_create(dev, 8, &lane) == XG_OK);
            if (spreads[s])
                widen(&product, 600, 100, spreads[s]);
            run_product(lane, &product, &shape, XG_MATH_ACCURATE, "pieces");
            XT_CHECK((lane->all_kinds_left > 0) == (s > 0), "spread %u: %d products left",
                     spreads[s], lane->all_kinds_left);
            float *first = malloc(product.c_elems * sizeof *first);
            memcpy(first, product.c_all, product.c_elems * sizeof *first);
            fx_product_reset(&product);
            run_product(lane, &product, &shape, XG_MATH_ACCURATE, "pieces again");
            XT_CHECK(!memcmp(first, product.c_all, product.c_elems * sizeof *first),
                     "spread %u: other bits", spreads[s]);
            free(first);
            fx_product_destroy(&product);
            xg_lane_destroy(lane);
        }
}

/* All of A is page-locked in place, or only its first half, or nothing. */
static void test_locked(struct xg_lane *lane)
{
    enum { PAGE = 4096, M = 1500, N = 1300, K = 1024, BYTES = M * K * sizeof(float) };
    static const size_t locked[] = {BYTES, BYTES / 2 / PAGE * PAGE, 0};
    CUresult (*enlist)(void *, size_t, unsigned);
    CUresult (*release)(void *);
    *(void **)&enlist = dlsym(dev->drv.library, "cuMemHostRegister_v2");
    *(void **)&release = dlsym(dev->drv.library, "cuMemHostUnregister");
    XT_CHECK(enlist && release);
    must(xg_dev_enter(dev), "context");
    for (size_t i = 0; i < sizeof locked / sizeof locked[0]; i++) {
        struct fx_shape shape = {M, N, K, false, false, 1, 0, 0};
        struct fx_product product = fx_product_create(&shape, 21);
        float *pages = aligned_alloc(PAGE, BYTES);
        memcpy(pages, product.a, BYTES);
        free(product.a);
        product.call.a = product.a = pages;
        XT_CHECK(!locked[i] || enlist(pages, locked[i], 0) == CUDA_SUCCESS);
        XT_CHECK(xg_mem_pinned(dev, pages, BYTES) == (locked[i] == BYTES), "%zu bytes", locked[i]);
        XT_CHECK(!xg_mem_pinned(dev, pages, BYTES + 1));
        XT_CHECK(!locked[i] || xg_mem_pinned(dev, pages + 1, locked[i] - sizeof *pages));
        run_product(lane, &product, &shape, XG_MATH_STRICT, "page-locked");
        XT_CHECK(!locked[i] || release(pages) == CUDA_SUCCESS);
        fx_product_destroy(&product);
    }
    xg_dev_leave(dev);
}

static void *lane_main(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    struct xg_lane *lane;
    enum xg_status status = xg_lane_create(dev, 3, &lane);
    XT_CHECK(status == XG_OK);
    for (int i = 0; i < 6 && status == XG_OK; i++) {
        struct fx_shape shape = {700 + 10 * i, 900, 1100 - 7 * i,   i & 1,
                                 i & 2,        1,   (float)(i & 1), i};
        run(lane, &shape, seed + (uint64_t)i, "lanes");
    }
    if (status == XG_OK)
        xg_lane_destroy(lane);
    return NULL;
}

static void test_lanes(void)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, lane_main, (void *)(1000 * (i + 1)));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_lane *lane;
    alarm(300);
    enum xg_status status = xg_backend_open(&conf, &dev);
    if (status == XG_ERR_NOTFOUND)
        return xt_skip("no CUDA device");
    if (status == XG_OK && gpu_is_fake(dev))
        return xt_skip("the device is the fake driver's");
    XT_CHECK(status == XG_OK && xg_lane_create(dev, 8, &lane) == XG_OK);
    if (xt_failures)
        return xt_done();
    test_shapes(lane);
    test_locked(lane);
    xg_lane_destroy(lane);
    test_out_of_core();
    test_repeatable();
    test_pieces();
    test_lanes();
    XT_CHECK(dev->used_bytes == 0, "%zu bytes", (size_t)dev->used_bytes);
    printf("%s: largest error %.3g of the bound (k + 3) * 2^-24\n", dev->name, worst_error);
    xg_backend_close(dev);
    return xt_done();
}
