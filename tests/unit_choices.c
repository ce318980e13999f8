/* SPDX-License-Identifier: MIT */
/* The choices answer what selection does, whatever they were asked before. */
#include "xt.h"

#include "src/decide/choices.h"

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
                                    .pieces = bits & 16,
                                    .scratch_bytes = bits & 32 ? 64 << 20 : 0,
                                    .unaligned = bits & 64,
                                    .transa = bits & 128,
                                    .transb = bits & 256};
}

/* Few extents and many facts: shapes meet in a place, and come again with other facts. */
static void test_same_answer(void)
{
    static struct xg_choices choices;
    uint64_t seed = 3, bits = 0;
    for (int i = 0; i < 5000; i++) {
        bits = (bits * 25214903917u + 11) & 0xffff;
        struct xg_device_facts facts = some_facts(bits >> 4);
        enum xg_math math = (enum xg_math)(bits % 3);
        int64_t m = extent(&seed), n = extent(&seed), k = extent(&seed);
        const struct xg_kernel *row = xg_select(&facts, math, NULL, m, n, k);
        double cycles = -1, expected = row ? xg_select_cycles(row, &facts, m, n, k) : 0;
        for (int again = 0; again < 2; again++) {
            XT_CHECK(xg_choices_select(&choices, &facts, math, NULL, m, n, k, &cycles) == row);
            XT_CHECK(cycles == expected, "%g cycles, not %g", cycles, expected);
        }
        XT_CHECK(xg_choices_select(NULL, &facts, math, NULL, m, n, k, NULL) == row);
    }
}

/* A name is not part of a place: a named row must not be the next one's answer. */
static void test_named(void)
{
    static struct xg_choices choices;
    struct xg_device_facts facts = some_facts(7);
    const struct xg_kernel *row = xg_select(&facts, XG_MATH_STRICT, NULL, 512, 512, 512);
    const struct xg_kernel *tiled = xg_select_find("tiled");
    XT_CHECK(tiled && row && tiled != row);
    for (int i = 0; i < 2; i++) {
        XT_CHECK(xg_choices_select(&choices, &facts, XG_MATH_STRICT, "tiled", 512, 512, 512,
                                   NULL) == tiled);
        XT_CHECK(xg_choices_select(&choices, &facts, XG_MATH_STRICT, NULL, 512, 512, 512, NULL) ==
                 row);
    }
}

int main(void)
{
    test_same_answer();
    test_named();
    return xt_done();
}
