/* SPDX-License-Identifier: MIT */
/* Staging uses at most the existing threads and blocks, and the numbers that measurements found
 * best. */
#include "tests/support/xt.h"

#include "src/decide/staging.h"

enum { THREADS = 15, BLOCK_BYTES = 4 << 20 };
static const struct xg_staging_direct none;

static struct xg_staging choose(int64_t m, int64_t n, int64_t k, float beta)
{
    struct xg_problem call = {.m = m, .n = n, .k = k, .alpha = 1, .beta = beta};
    return xg_staging_choose(&call, &none, THREADS, BLOCK_BYTES);
}

/* Each device has a link to fill; the number of cores limits all devices together. */
static void test_share(void)
{
    static const struct {
        int asked, cores, devices, lanes, share;
    } rows[] = {
        {0, 16, 1, 1, 15}, {0, 16, 1, 2, 8},  {0, 32, 1, 1, 15}, {0, 32, 1, 2, 8},
        {0, 32, 2, 1, 15}, {0, 32, 2, 2, 15}, {0, 32, 2, 4, 8},  {0, 16, 2, 4, 4},
        {0, 1, 2, 4, 1},   {6, 32, 2, 4, 2},  {6, 32, 2, 1, 6},  {0, 128, 4, 8, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int share = xg_staging_share(rows[i].asked, rows[i].cores, rows[i].devices, rows[i].lanes);
        XT_CHECK(share == rows[i].share, "row %d: %d", (int)i, share);
    }
}

static void test_bounds(void)
{
    static const int64_t extents[] = {1, 7, 64, 1000, 8192, 100000, (int64_t)1 << 40};
    for (int i = 0; i < 343; i++)
        for (int workers = 1; workers <= 64; workers *= 4)
            for (int mask = 0; mask < 8; mask++) {
                struct xg_problem call = {.m = extents[i % 7],
                                          .n = extents[i / 7 % 7],
                                          .k = extents[i / 49],
                                          .beta = (float)(i % 2)};
                struct xg_staging_direct direct = {mask & 1, mask & 2, mask & 4};
                struct xg_staging staging = xg_staging_choose(&call, &direct, workers, BLOCK_BYTES);
                XT_CHECK(staging.workers >= 1 && staging.workers <= workers, "%d", staging.workers);
                XT_CHECK(staging.load_bytes >= 1 && staging.load_bytes <= BLOCK_BYTES);
                XT_CHECK(staging.store_bytes >= 1 && staging.store_bytes <= BLOCK_BYTES);
                XT_CHECK(staging.ahead >= 1);
                XT_CHECK(staging.populate >= 0 && staging.populate < workers);
                XT_CHECK(staging.joining >= 0 && staging.joining <= staging.populate &&
                         staging.workers + staging.joining <= workers);
                XT_CHECK(!staging.populate || (call.beta == 0 && !direct.c), "C is there");
                /* Without copies the submitter works alone. */
                XT_CHECK(mask != 7 || staging.workers == 1, "%d workers", staging.workers);
            }
}

/* Numbers that measurements found best (doc/explanation/lessons.md). */
static void test_found(void)
{
    XT_CHECK(choose(256, 256, 256, 0).workers == 4, "%d", choose(256, 256, 256, 0).workers);
    XT_CHECK(choose(100000, 64, 64, 0).workers == 10, "both ways, streamed: ten threads");
    XT_CHECK(choose(64, 8192, 8192, 0).workers == 9, "up alone: eight and the submitter");
    XT_CHECK(choose(8192, 4096, 64, 0).workers == 6, "down alone: five and the submitter");
    XT_CHECK(choose(8192, 8192, 8192, 1).workers == 13, "more would disturb each other");
    XT_CHECK(choose(2048, 2048, 2048, 1).workers > choose(2048, 2048, 2048, 0).workers,
             "C that is combined takes more");
    XT_CHECK(choose(8192, 8192, 8192, 0).caches && !choose(2048, 2048, 2048, 0).caches);
    XT_CHECK(!choose(64, 8192, 8192, 0).caches, "nothing comes down beside");
    XT_CHECK(choose(512, 512, 512, 0).load_bytes < choose(8192, 8192, 8192, 0).load_bytes);
}

/* Idle members of the team populate a new C; copiers help if there are too few of them. */
static void test_populate(void)
{
    struct xg_staging staging = choose(4096, 4096, 4096, 0);
    XT_CHECK(staging.populate == 7 && staging.joining == 4, "%d, %d", staging.populate,
             staging.joining);
    staging = choose(2048, 2048, 2048, 0);
    XT_CHECK(staging.populate == 7 && staging.joining == 6, "%d, %d", staging.populate,
             staging.joining);
    struct xg_problem call = {.m = 4096, .n = 4096, .k = 4096, .alpha = 1};
    XT_CHECK(xg_staging_choose(&call, &none, 1, BLOCK_BYTES).populate == 0, "of one");
    staging = xg_staging_choose(&call, &none, 2, BLOCK_BYTES);
    XT_CHECK(staging.populate == 1 && staging.joining == 0, "of two");
    XT_CHECK(xg_staging_choose(&call, &none, 256, BLOCK_BYTES).populate == 7, "of many");
    XT_CHECK(choose(4096, 4096, 4096, 1).populate == 0, "C is read");
    XT_CHECK(choose(256, 256, 256, 0).populate == 0, "too small to wake a thread for");
}

int main(void)
{
    test_share();
    test_bounds();
    test_found();
    test_populate();
    return xt_done();
}
