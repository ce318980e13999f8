/* SPDX-License-Identifier: MIT */
/* Recent selections equal xg_select's choice, whatever was selected before. */
#include "tests/support/xt.h"

#include "src/decide/recent.h"

static struct xg_recent recent;

static int64_t extent(uint64_t *seed)
{
    static const int64_t extents[] = {1, 3, 64, 100, 512, 777, 2048, 5000};
    float x = xt_random(seed) * 0.5f + 0.5f;
    return extents[(size_t)(x * 8.0f) % 8];
}

static struct xg_device_facts some_facts(uint64_t bits)
{
    return (struct xg_device_facts){.sm = bits & 1 ? 90 : 80,
                                    .sm_count = bits & 2 ? 132 : 108,
                                    .smem_block_bytes = bits & 4 ? 227 << 10 : 163 << 10,
                                    .clusters = bits & 1,
                                    .images = true,
                                    .cublas = bits & 8,
                                    .pieces = bits & 16 ? xg_select_find("fp16x3") : NULL};
}

static bool same(struct xg_choice x, struct xg_choice y)
{
    return x.row == y.row && x.cycles == y.cycles && x.slices == y.slices;
}

/* Few extents and many facts: shapes share places, and return with other facts. */
static void test_same_answer(void)
{
    uint64_t seed = 3, bits = 0;
    for (int i = 0; i < 5000; i++) {
        bits = (bits * 25214903917u + 11) & 0xffff;
        struct xg_device_facts facts = some_facts(bits >> 4);
        enum xg_math math = (enum xg_math)(bits % 3);
        const struct xg_shape shape = {.m = extent(&seed),
                                       .n = extent(&seed),
                                       .k = extent(&seed),
                                       .type = bits & 512 ? XG_TYPE_D : XG_TYPE_S,
                                       .transa = bits & 1024,
                                       .transb = bits & 2048,
                                       .unaligned = bits & 4096};
        struct xg_choice expected = xg_select(&facts, math, NULL, &shape);
        for (int again = 0; again < 2; again++)
            XT_CHECK(same(xg_recent_select(&recent, &facts, math, NULL, &shape), expected));
        XT_CHECK(same(xg_recent_select(NULL, &facts, math, NULL, &shape), expected));
    }
}

/* A named row is not kept: the next selection without a name must not return it. */
static void test_named(void)
{
    struct xg_device_facts facts = some_facts(7);
    const struct xg_shape shape = {.m = 512, .n = 512, .k = 512, .type = XG_TYPE_S};
    const struct xg_kernel *row = xg_select(&facts, XG_MATH_STRICT, NULL, &shape).row;
    const struct xg_kernel *tiled = xg_select_find("tiled");
    XT_CHECK(tiled && row && tiled != row);
    for (int i = 0; i < 2; i++) {
        XT_CHECK(xg_recent_select(&recent, &facts, XG_MATH_STRICT, "tiled", &shape).row == tiled);
        XT_CHECK(xg_recent_select(&recent, &facts, XG_MATH_STRICT, NULL, &shape).row == row);
    }
}

int main(void)
{
    test_same_answer();
    test_named();
    return xt_done();
}
