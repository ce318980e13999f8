/* SPDX-License-Identifier: MIT */
/* Operands in the caller's page-locked memory: copied directly, with the same results. */
#include "lane.h"
#include "src/pipeline/pipeline.h"

enum { LOCKED_A = 1, LOCKED_B = 2, LOCKED_C = 4, LOCKED_ALL = 7 };

static struct fakecuda fake;
static struct xg_dev *dev;

/* Moves an allocation to page-locked memory. */
static void *lock(float *matrix, size_t elems)
{
    void *locked;
    XT_CHECK(dev->drv.cuMemHostAlloc(&locked, elems * sizeof(float), 0) == CUDA_SUCCESS);
    memcpy(locked, matrix, elems * sizeof(float));
    free(matrix);
    return locked;
}

static size_t elems_of(int64_t rows, int64_t columns, int64_t ld)
{
    return (size_t)((rows - 1) * ld + columns);
}

/* Rows for efficient copies: long ones, or short ones without gaps. */
static bool copied_well(int64_t columns, int64_t ld)
{
    return columns >= 256 || (ld == columns && columns % 4 == 0);
}

static void check_copies(const void *matrix, bool locked, bool direct, const char *name)
{
    long copies = locked ? fake.copies(matrix) : 0;
    XT_CHECK(direct ? copies > 0 : copies == 0, "%s: %ld copies", name, copies);
}

/* One product, whose operands in the mask are page-locked. */
static void check(struct xg_lane *lane, const struct fx_shape *shape, int mask)
{
    struct fx_product product = fx_product_create(shape, 11);
    struct xg_problem *call = &product.call;
    int64_t a_columns = call->transa ? call->m : call->k;
    int64_t b_columns = call->transb ? call->k : call->n;
    XT_CHECK(xg_dev_enter(dev) == XG_OK);
    if (mask & LOCKED_A)
        call->a = product.a =
            lock(product.a, elems_of(call->transa ? call->k : call->m, a_columns, call->lda));
    if (mask & LOCKED_B)
        call->b = product.b =
            lock(product.b, elems_of(call->transb ? call->n : call->k, b_columns, call->ldb));
    if (mask & LOCKED_C) {
        product.c_all = lock(product.c_all, product.c_elems);
        call->c = product.c_all + FX_GUARD;
    }

    struct fx_cpu_count count = {.call = call};
    struct xg_cpu cpu = fx_cpu(&count);
    struct xg_result result;
    XT_CHECK(xg_pipeline_run(lane, call, XG_MATH_STRICT, NULL, &cpu, &result) == XG_OK);
    XT_CHECK(count.wholes == 0 && count.parts == 0, "the CPU computed");
    fx_product_check(&product, 1, "page-locked");
    bool a = a_columns % 4 == 0 && copied_well(a_columns, call->lda);
    bool b = b_columns % 4 == 0 && copied_well(b_columns, call->ldb);
    bool c = call->beta == 0 && copied_well(call->n, call->ldc);
    check_copies(product.a, mask & LOCKED_A, (mask & LOCKED_A) && a, "A");
    check_copies(product.b, mask & LOCKED_B, (mask & LOCKED_B) && b, "B");
    check_copies(call->c, mask & LOCKED_C, (mask & LOCKED_C) && c, "C");

    float **operands[] = {&product.a, &product.b, &product.c_all};
    for (int i = 0; i < 3; i++)
        if (mask & 1 << i) {
            dev->drv.cuMemFreeHost(*operands[i]);
            *operands[i] = NULL;
        }
    xg_dev_leave(dev);
    fx_product_destroy(&product);
}

static const int64_t sizes[][3] = {
    {1, 4, 8}, {64, 64, 64}, {130, 257, 90}, {300, 4, 1021}, {260, 300, 256}};

static void test_shapes(struct xg_lane *lane)
{
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int mask = 1; mask <= LOCKED_ALL; mask += fx_short() ? 3 : 1)
            for (int trans = 0; trans < 4; trans++)
                for (int64_t pad = 0; pad <= 3; pad += 3) {
                    struct fx_shape shape = {sizes[s][0], sizes[s][1], sizes[s][2], trans & 2,
                                             trans & 1,   1.5f,        0,           pad};
                    check(lane, &shape, mask);
                    shape.beta = -0.5f;
                    check(lane, &shape, mask);
                }
}

/* Rows further apart than the driver's largest pitch are staged. Only one operand has such rows,
 * because two would be too large. */
static void test_far_rows(struct xg_lane *lane)
{
    enum { EXTENT = 256 };
    const int64_t far = INT64_C(1) << 29;
    for (int mask = LOCKED_A; mask <= LOCKED_C; mask <<= 1) {
        struct fx_shape shape = {mask == LOCKED_B ? EXTENT : 1,
                                 EXTENT,
                                 mask == LOCKED_B ? 1 : EXTENT,
                                 false,
                                 false,
                                 1,
                                 0,
                                 0};
        struct fx_product product = fx_product_create(&shape, 5);
        struct xg_problem *call = &product.call;
        struct fx_cpu_count count = {.call = call};
        struct xg_cpu cpu = fx_cpu(&count);
        struct xg_result result;
        XT_CHECK(xg_dev_enter(dev) == XG_OK);
        float **matrix = mask == LOCKED_A   ? &product.a
                         : mask == LOCKED_B ? &product.b
                                            : &product.c_all;
        *matrix = lock(*matrix, mask == LOCKED_C ? product.c_elems : EXTENT);
        call->a = product.a;
        call->b = product.b;
        call->c = product.c_all + FX_GUARD;
        *(mask == LOCKED_A ? &call->lda : mask == LOCKED_B ? &call->ldb : &call->ldc) = far;
        XT_CHECK(xg_pipeline_run(lane, call, XG_MATH_STRICT, NULL, &cpu, &result) == XG_OK &&
                     !count.wholes && !count.parts,
                 "operand %d: the CPU computed", mask);
        fx_product_check(&product, 1, "far rows");
        dev->drv.cuMemFreeHost(*matrix);
        *matrix = NULL;
        xg_dev_leave(dev);
        fx_product_destroy(&product);
    }
}

/* Panels take turns in slots: each is copied directly from the operand, as often as needed. */
static void test_out_of_core(void)
{
    struct xg_conf conf = fx_conf();
    conf.mem_limit_bytes = 2 << 20;
    struct xg_dev *whole = dev;
    struct xg_lane *lane = fx_lane_open(&conf, 3, &dev);
    for (int mask = 1; mask <= LOCKED_ALL; mask++) {
        struct fx_shape shape = {500, 600, 404, mask & 1, mask & 2, 1, 0, 4};
        check(lane, &shape, mask);
    }
    fx_lane_close(lane, dev);
    dev = whole;
}

/* A driver call fails, early or late: C is right, although a part of it was copied directly. */
static void test_faults(struct xg_lane *lane)
{
    enum { CALLS_MAX = 400 };
    for (long nth = 1; nth < CALLS_MAX; nth += 3) {
        struct fx_shape shape = {130, 256, 88, false, false, 1, 0, 0};
        struct fx_product product = fx_product_create(&shape, 3);
        struct xg_cpu cpu = fx_product_cpu(&product);
        struct xg_result result;
        XT_CHECK(xg_dev_enter(dev) == XG_OK);
        product.c_all = lock(product.c_all, product.c_elems);
        product.call.c = product.c_all + FX_GUARD;
        fake.reset((unsigned long)nth);
        fake.fail(NULL, nth, FX_CODE_NOMEM, FAKECUDA_ONCE);
        xg_pipeline_run(lane, &product.call, XG_MATH_STRICT, NULL, &cpu, &result);
        bool struck = fake.faults(NULL) > 0;
        fake.reset((unsigned long)nth);
        fx_product_check(&product, 1, "faults");
        dev->drv.cuMemFreeHost(product.c_all);
        product.c_all = NULL;
        xg_dev_leave(dev);
        fx_product_destroy(&product);
        if (!struck)
            return;
    }
    XT_CHECK(false, "a product of %d calls did not end", CALLS_MAX);
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    fake = fx_fake();
    struct xg_lane *lane = fx_lane_open(&conf, 3, &dev);
    test_shapes(lane);
    test_far_rows(lane);
    test_out_of_core();
    test_faults(lane);
    fx_lane_close(lane, dev);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(!live.pageable, "%zu copies of memory that is not page-locked", live.pageable);
    xg_conf_fini(&conf);
    return xt_done();
}
