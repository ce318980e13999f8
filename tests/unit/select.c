/* SPDX-License-Identifier: MIT */
/*
 * Selection: every shape gets a row that serves it, by name when forced, and always the same one.
 * Contract 1.2 (doc/contract.md).
 */
#include <math.h>

#include "src/decide/route.h"
#include "src/decide/tensor.h"

#include "tests/support/xt.h"

static const struct xg_device_facts H200 = {
    .sm = 90, .sm_count = 132, .smem_block_bytes = 232448, .clusters = true, .images = true};

/* Type and alignment of the products; a test that changes them puts them back. */
static struct xg_shape like;

static const struct xg_kernel *choose_by(enum xg_math math, const struct xg_device_facts *facts,
                                         const char *name, int64_t m, int64_t n, int64_t k)
{
    struct xg_shape shape = {.m = m, .n = n, .k = k, .type = like.type};
    shape.unaligned = like.unaligned;
    return xg_route_resident(facts, math, name, &shape).row;
}

static const struct xg_kernel *choose(const struct xg_device_facts *facts, const char *name,
                                      int64_t m, int64_t n, int64_t k)
{
    return choose_by(XG_MATH_ACCURATE, facts, name, m, n, k);
}

static struct xg_choice by_row(const struct xg_kernel *row, const struct xg_device_facts *facts,
                               int64_t m, int64_t n, int64_t k)
{
    struct xg_shape shape = {.m = m, .n = n, .k = k, .type = like.type};
    shape.unaligned = like.unaligned;
    return xg_select_row(row, facts, &shape);
}

/* The table names each row once, and each row of ours says all that a launch needs. */
static void test_table(void)
{
    static const char *const ladder[] = {"uncoalesced", "coalesced",   "single_block",
                                         "tiled",       "corner_turn", "coarse_1d",
                                         "coarse_2d",   "vectorized",  "cublas"};
    for (size_t i = 0; i < sizeof ladder / sizeof ladder[0]; i++)
        XT_CHECK(xg_select_find(ladder[i]), "%s is not in the table", ladder[i]);
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        XT_CHECK(xg_select_find(row->name) == row, "%s is there twice", row->name);
        if (row->flags & XG_KERNEL_CUBLAS)
            continue;
        int threads = row->threads_x * row->threads_y;
        /* Their launches are those of src/compute/split.c and residue.c. */
        bool pieces = row->flags & (XG_KERNEL_PIECES | XG_KERNEL_RESIDUES);
        XT_CHECK(pieces || (row->entry && row->image >= xg_image_table &&
                            row->image < xg_image_table + xg_image_count),
                 "%s", row->name);
        XT_CHECK(row->bm > 0 && row->bn > 0 && row->bk > 0 && row->sm_min >= 75, "%s", row->name);
        XT_CHECK(threads >= 32 && threads <= 1024 && threads % 32 == 0, "%s", row->name);
        XT_CHECK(row->efficiency > 0.0, "%s", row->name);
        /* Few warps keep the tensor cores busy, and the model's share of them takes that back. */
        double most = row->type == (int)XG_TYPE_S ? 1.0 : 1.2;
        XT_CHECK(pieces || row->efficiency <= most, "%s", row->name);
        XT_CHECK(pieces || row->type == (int)XG_TYPE_S || row->flags & XG_KERNEL_VEC4, "%s",
                 row->name);
    }
}

static void test_forced(void)
{
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        struct xg_device_facts facts = H200;
        facts.cublas = true;
        facts.pieces = row->flags & XG_KERNEL_PIECES ? row : xg_select_find("fp16x3");
        like.type = (enum xg_type)row->type;
        if (row->flags & XG_KERNEL_PIECES) {
            XT_CHECK(choose(&facts, row->name, 64, 64, 128) == row, "%s", row->name);
            XT_CHECK(choose(&facts, row->name, 64, 64, 127) != row, "%s", row->name);
            XT_CHECK(choose_by(XG_MATH_STRICT, &facts, row->name, 64, 64, 128) != row, "%s",
                     row->name);
            continue;
        }
        if (row->flags & XG_KERNEL_RESIDUES) {
            XT_CHECK(choose(&facts, row->name, 64, 64, 64) != row, "%s", row->name);
            facts.residues = row;
            XT_CHECK(choose(&facts, row->name, 64, 64, 64) == row, "%s", row->name);
            XT_CHECK(choose(&facts, row->name, 64, 64, 63) != row, "%s", row->name);
            continue;
        }
        if (row->flags & XG_KERNEL_TF32) {
            XT_CHECK(choose(&facts, row->name, 64, 64, 64) != row, "%s", row->name);
            XT_CHECK(choose_by(XG_MATH_TF32, &facts, NULL, 4096, 4096, 4096) == row, "%s",
                     row->name);
            continue;
        }
        bool vector = row->flags & XG_KERNEL_VECTOR;
        int64_t m = vector && row->bm == 1 ? 1 : 5000, n = vector && row->bn == 1 ? 1 : 3000;
        int64_t k = row->flags & XG_KERNEL_ONE_STEP ? row->bk : 64;
        XT_CHECK(choose(&facts, row->name, xg_min_i64(m, 64), xg_min_i64(n, 64), k) == row, "%s",
                 row->name);
        XT_CHECK(!(row->flags & XG_KERNEL_ONE_STEP) ||
                     choose(&facts, row->name, m, n, row->bk + 1) != row,
                 "%s", row->name);
        if (!(row->flags & XG_KERNEL_ONE_BLOCK))
            XT_CHECK(choose(&facts, row->name, m, n, 1) == row, "%s", row->name);
    }
    like.type = XG_TYPE_S;
    XT_CHECK(!choose(&H200, "vectorised", 64, 64, 64), "an unknown name was taken for a row");
    XT_CHECK(!choose(&H200, "", 64, 64, 64), "an empty name was taken for a row");

    /* A forced row that cannot serve gives way to the one that is chosen without it. */
    static const int64_t large[][3] = {
        {65, 64, 64}, {64, 65, 64}, {64, 64, 65}, {4096, 4096, 4096}};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        int64_t m = large[i][0], n = large[i][1], k = large[i][2];
        XT_CHECK(choose(&H200, "single_block", m, n, k) == choose(&H200, NULL, m, n, k),
                 "%ld,%ld,%ld", (long)m, (long)n, (long)k);
    }
    XT_CHECK(choose(&H200, "cublas", 512, 512, 512) == choose(&H200, NULL, 512, 512, 512),
             "cuBLAS is not there, yet it was chosen");
}

/* Every shape on every device gets one of our rows, which serves it, and the same one again. */
static void test_coverage(void)
{
    static const int64_t sizes[] = {1,   2,    3,    4,    7,     16,    31,     32,     33,
                                    63,  64,   65,   100,  127,   128,   129,    255,    257,
                                    512, 1000, 1024, 4096, 10000, 50000, 131072, 1 << 20};
    static const int sms[] = {75, 80, 86, 87, 89, 90, 100, 103, 120, 121};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (size_t s = 0; s < sizeof sms / sizeof sms[0]; s++) {
        struct xg_device_facts facts = H200;
        facts.sm = sms[s];
        facts.sm_count = 14 + 17 * (int)s;
        for (size_t i = 0; i < SIZES * SIZES * SIZES; i++) {
            int64_t m = sizes[i / SIZES / SIZES], n = sizes[i / SIZES % SIZES];
            int64_t k = sizes[i % SIZES];
            facts.cublas = false;
            const struct xg_kernel *row = choose(&facts, NULL, m, n, k);
            XT_CHECK(row && by_row(row, &facts, m, n, k).row, "sm_%d: %ld,%ld,%ld", facts.sm,
                     (long)m, (long)n, (long)k);
            facts.cublas = true;
            XT_CHECK(choose(&facts, NULL, m, n, k) == row, "sm_%d: %ld,%ld,%ld", facts.sm, (long)m,
                     (long)n, (long)k);
            XT_CHECK(row && !(row->flags & XG_KERNEL_CUBLAS), "cuBLAS was preferred");
        }
    }
}

/* What the ranking must get right: the size of the tile follows the size of the product. */
static void test_ranking(void)
{
    for (int64_t side = 512; side <= 32768; side *= 2) {
        const struct xg_kernel *row = choose(&H200, NULL, side, side, side);
        XT_CHECK(row->efficiency > 0.5, "%ld: %s", (long)side, row->name);
        XT_CHECK(side < 4096 || row->bm * row->bn >= 128 * 128, "%ld: %s", (long)side, row->name);
    }
    const struct xg_kernel *small = choose(&H200, NULL, 256, 256, 256);
    XT_CHECK(small->bm < 128 && small->bn < 128, "256: %s fills 4 of 132 SMs", small->name);
    const struct xg_kernel *skinny = choose(&H200, NULL, 16, 4096, 4096);
    XT_CHECK(skinny->bm < 128, "16,4096,4096: %s computes eight times the rows", skinny->name);
}

/* Operands of any alignment get a row that takes them, under every arithmetic. */
static void test_unaligned(void)
{
    static const enum xg_math maths[] = {XG_MATH_STRICT, XG_MATH_ACCURATE, XG_MATH_TF32};
    struct xg_device_facts facts = H200;
    facts.pieces = xg_select_find("fp16x3");
    like.unaligned = true;
    for (int64_t size = 1; size <= 16384; size *= 2)
        for (int i = 0; i < 3; i++) {
            const struct xg_kernel *row = choose_by(maths[i], &facts, NULL, size, size, size);
            XT_CHECK(row && !(row->flags & XG_KERNEL_VEC4), "%ld", (long)size);
            XT_CHECK(i > 0 || !(row->flags & XG_KERNEL_PIECES), "%ld: %s is not strict", (long)size,
                     row->name);
        }
    like.unaligned = false;
}

/* What a shape gets, aligned or not. */
static void test_kinds(void)
{
    static const struct {
        int64_t m, n, k;
        unsigned flags;
        const char *begins; /* the name, if the product is aligned */
    } shapes[] = {
        /* A few steps of k: writing C is the bound, in whole lines whatever its pitch. */
        {4097, 4099, 7, XG_KERNEL_ONE_STEP, ""},
        {20000, 1000, 10, XG_KERNEL_ONE_STEP, ""},
        {8192, 8192, 1, XG_KERNEL_ONE_STEP, ""},
        {512, 512, 8192, 0, "splitk"},
        {64, 8192, 8192, 0, "deep"},
        {8192, 64, 8192, 0, "deep"},
        {128, 4096, 4096, 0, "deep"},
        {1024, 1024, 1024, 0, "deep"},
        {256, 256, 16384, 0, "splitk"},
        {100000, 32, 256, 0, "deep"},
        {1000, 1000, 20000, 0, "deep"},
        {1, 8192, 8192, XG_KERNEL_VECTOR, ""},
        {8192, 1, 8192, XG_KERNEL_VECTOR, ""},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        int64_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
        for (int unaligned = 0; unaligned < 2; unaligned++) {
            like.unaligned = unaligned;
            const struct xg_kernel *row = choose(&H200, NULL, m, n, k);
            XT_CHECK((row->flags & shapes[i].flags) == shapes[i].flags &&
                         (unaligned
                              ? !(row->flags & XG_KERNEL_VEC4)
                              : !strncmp(row->name, shapes[i].begins, strlen(shapes[i].begins))),
                     "%ld,%ld,%ld: %s", (long)m, (long)n, (long)k, row->name);
        }
        like.unaligned = false;
    }
}

/* What the launcher relies on: slices that exist, and no cluster where there are none; and the same
 * split again. */
static void test_slices(void)
{
    static const int64_t sizes[] = {1, 8, 16, 64, 100, 256, 1000, 4096, 100000};
    static const int sms[] = {75, 80, 90, 120};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (size_t i = 0; i < 4 * SIZES * SIZES * SIZES; i++) {
        struct xg_device_facts facts = H200;
        facts.sm = sms[i % 4];
        size_t shape = i / 4;
        int64_t m = sizes[shape / SIZES / SIZES], n = sizes[shape / SIZES % SIZES];
        int64_t k = sizes[shape % SIZES];
        for (const struct xg_kernel *row = xg_kernel_table; row < xg_kernel_table + xg_kernel_count;
             row++) {
            if (!by_row(row, &facts, m, n, k).row)
                continue;
            const int slices = by_row(row, &facts, m, n, k).slices;
            const int64_t steps = xg_ceil_div(k, row->bk);
            XT_CHECK(slices == by_row(row, &facts, m, n, k).slices, "%s", row->name);
            XT_CHECK(slices == 1 || row->flags & XG_KERNEL_SPLIT, "%s is split", row->name);
            XT_CHECK(slices >= 1 && slices <= steps, "%s: %d slices of %ld", row->name, slices,
                     (long)steps);
            XT_CHECK(slices == 1 || (facts.sm >= 90 && slices <= 8), "%s: a cluster of %d on sm_%d",
                     row->name, slices, facts.sm);
        }
    }
    const struct xg_kernel *deep = choose(&H200, NULL, 128, 128, 100000);
    XT_CHECK(by_row(deep, &H200, 128, 128, 100000).slices == 8,
             "128,128,100000: %s leaves the device idle", deep->name);
    /* All of a block works at a few results of a long k, and a warp at each of many. */
    XT_CHECK(choose(&H200, NULL, 1, 1, 100000)->bk > 4, "1,1,100000");
    XT_CHECK(choose(&H200, NULL, 10, 1, 100000)->bm == 4, "10,1,100000");
    XT_CHECK(choose(&H200, NULL, 16384, 1, 4096)->bm == 32, "16384,1,4096");
    XT_CHECK(choose(&H200, NULL, 1, 4096, 16384)->bn == 32, "1,4096,16384");
}

/* A driver that launches no clusters: there are no slices. */
static void test_no_clusters(void)
{
    static const int64_t shapes[][3] = {
        {300, 4, 1021}, {16, 4096, 4096}, {128, 128, 100000}, {1, 8192, 8192}, {8192, 1, 8192}};
    struct xg_device_facts facts = H200;
    int clusters = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t r = 0; r < xg_kernel_count; r++) {
            int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
            const struct xg_kernel *row = &xg_kernel_table[r];
            facts.clusters = true;
            if (!by_row(row, &facts, m, n, k).row)
                continue;
            clusters += by_row(row, &facts, m, n, k).slices > 1;
            facts.clusters = false;
            const struct xg_choice alone = by_row(row, &facts, m, n, k);
            XT_CHECK(alone.row, "%s needs no cluster", row->name);
            XT_CHECK(alone.slices == 1, "%s: a cluster of %d", row->name, alone.slices);
        }
    XT_CHECK(clusters > 10, "only %d of the cases have clusters at all", clusters);
}

/* An H200 as FP64 sees it. */
static struct xg_device_facts doubles(void)
{
    struct xg_device_facts facts = H200;
    facts.fp64_ratio = 2;
    return facts;
}

/* The tile's width of the products of pieces: rounds times (width + 16), on 132 multiprocessors. */
static void test_widths(void)
{
    static const struct {
        const struct xg_tensor_tiles *tiles;
        int64_t n;
        int width;
    } cases[] = {
        {&xg_tensor_mma, 1024, 128},   {&xg_tensor_mma, 4096, 128},   {&xg_tensor_mma, 8192, 192},
        {&xg_tensor_wgmma, 4096, 176}, {&xg_tensor_wgmma, 8192, 192},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t n = cases[i].n;
        int width = cases[i].tiles->widths[xg_tensor_width(cases[i].tiles, &H200, n, n)];
        XT_CHECK(width == cases[i].width, "case %zu: %d", i, width);
    }
}

/* Double precision gets the rows that were fastest when measured; cuBLAS changes nothing. */
static void test_double_ranking(void)
{
    static const struct {
        int64_t m, n, k;
        const char *name;
        int slices; /* at least */
    } shapes[] = {{1024, 1024, 1024, "dmma_split_64x64x16", 1},
                  {2048, 2048, 2048, "dmma_128x128x16", 1},
                  {4096, 4096, 4096, "dmma_128x128x16", 1},
                  {8192, 8192, 8192, "dmma_128x128x16", 1},
                  {64, 64, 100000, "dmma_split_64x64x16", 8},
                  {1000, 1000, 20000, "dmma_split_128x128x16", 2}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        int64_t m = shapes[i / 2].m, n = shapes[i / 2].n, k = shapes[i / 2].k;
        struct xg_device_facts facts = doubles();
        facts.cublas = i % 2;
        const struct xg_kernel *row = choose(&facts, NULL, m, n, k);
        XT_CHECK(row && !strcmp(row->name, shapes[i / 2].name), "%ld,%ld,%ld: %s", (long)m, (long)n,
                 (long)k, row ? row->name : "none");
        XT_CHECK(row && by_row(row, &facts, m, n, k).slices >= shapes[i / 2].slices,
                 "%ld,%ld,%ld: too few slices", (long)m, (long)n, (long)k);
    }
}

/*
 * The time that the model predicts for squares, beside the mean of what was measured on two H200
 * (bench/kernels --type d: medians, of four transposes each).
 */
static void test_double_times(void)
{
    static const double clock_hz = 1.9e9; /* src/generation/sm90.c */
    static const struct {
        const char *name;
        double us[4]; /* of 1024, 2048, 4096 and 8192 */
    } rows[] = {{"dmma_128x128x16", {76.1, 312.9, 2485.8, 19753}},
                {"dmma_split_128x128x16", {44.4, 314.6, 2458.3, 20422}},
                {"dmma_split_64x64x16", {42.8, 356.5, 2565.6, 19914}}};
    const struct xg_device_facts facts = doubles();
    for (size_t i = 0; i < 4 * sizeof rows / sizeof rows[0]; i++) {
        int64_t size = 1024 << i % 4;
        const struct xg_kernel *row = xg_select_find(rows[i / 4].name);
        double us = row ? 1e6 * by_row(row, &facts, size, size, size).cycles / clock_hz : NAN;
        double ratio = us / rows[i / 4].us[i % 4];
        XT_CHECK(fabs(ratio - 1.0) < 0.12, "%s at %ld: %g us", rows[i / 4].name, (long)size, us);
    }
}

/* Every size gets a row of ours where one serves, and the row that is named. */
static void test_double(void)
{
    static const int64_t sizes[] = {1, 63, 64, 1000, 1024, 4096, 20000};
    struct xg_device_facts facts = doubles();
    int rows = 0, clusters = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t size = sizes[i];
        const struct xg_kernel *best = choose(&facts, NULL, size, size, size);
        XT_CHECK(best && best->type == (int)XG_TYPE_D && best->entry, "%ld", (long)size);
        XT_CHECK(choose(&facts, "vectorized", size, size, size) == best, "a row of FP32");
        for (size_t r = 0; r < xg_kernel_count; r++) {
            const struct xg_kernel *row = &xg_kernel_table[r];
            if (row->type != (int)XG_TYPE_D || row->flags & XG_KERNEL_RESIDUES)
                continue;
            rows++;
            XT_CHECK(choose(&facts, row->name, size, size, size) == row, "%s", row->name);
            like.type = XG_TYPE_S;
            XT_CHECK(choose(&facts, row->name, size, size, size) ==
                         choose(&facts, NULL, size, size, size),
                     "%s for FP32", row->name);
            like.type = XG_TYPE_D;
            double cycles = by_row(row, &facts, size, size, size).cycles;
            XT_CHECK(cycles > 0.0 && cycles < 1e12, "%s: %g cycles", row->name, cycles);
            clusters += by_row(row, &facts, size, size, size).slices > 1;
        }
    }
    XT_CHECK(rows > 0 && clusters > 0, "%d rows, %d clusters", rows, clusters);
    facts.sm = 86;
    facts.smem_block_bytes = 99 << 10;
    const struct xg_kernel *small = choose(&facts, NULL, 4096, 4096, 4096);
    XT_CHECK(small && small->smem_bytes <= facts.smem_block_bytes, "99 KiB of shared memory");
}

/* Where no row of ours serves, cuBLAS computes if it is there, whatever row is named: a device that
 * is too old, a build without device code, doubles that are not aligned, complex numbers. */
static void test_library(void)
{
    static const struct {
        int sm;
        bool images;
        enum xg_type type;
        bool unaligned;
        const char *name;
    } cases[] = {{70, true, XG_TYPE_S, false, "vectorized"},
                 {90, false, XG_TYPE_S, false, "vectorized"},
                 {75, true, XG_TYPE_D, false, "dmma_128x128x16"},
                 {90, true, XG_TYPE_D, true, "dmma_128x128x16"},
                 {90, true, XG_TYPE_Z, false, "dmma_128x128x16"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct xg_device_facts facts = doubles();
        facts.sm = cases[i].sm;
        facts.images = cases[i].images;
        like.type = cases[i].type;
        like.unaligned = cases[i].unaligned;
        XT_CHECK(!choose(&facts, NULL, 512, 512, 512), "case %zu has a row of ours", i);
        facts.cublas = true;
        const struct xg_kernel *row = choose(&facts, NULL, 512, 512, 512);
        XT_CHECK(row && row->flags & XG_KERNEL_CUBLAS, "case %zu: not cuBLAS's", i);
        XT_CHECK(choose(&facts, cases[i].name, 512, 512, 512) == row, "case %zu", i);
    }
    like.type = XG_TYPE_S;
    like.unaligned = false;
}

int main(void)
{
    test_table();
    test_forced();
    test_coverage();
    test_ranking();
    test_slices();
    test_unaligned();
    test_no_clusters();
    test_kinds();
    test_widths();
    like.type = XG_TYPE_D;
    test_double();
    test_double_ranking();
    test_double_times();
    test_library();
    return xt_done();
}
