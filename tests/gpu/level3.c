/* SPDX-License-Identifier: MIT */
/*
 * Every operation and type on the device, host to host: in all of its forms, odd sizes and padded
 * rows, of several tiles, and out of core; what is not of C is untouched. Contract 1.1, 3.2
 * (doc/contract.md).
 */
#include <unistd.h>

#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/pipeline/lane.h"
#include "src/pipeline/pipeline.h"
#include "tests/support/guarded.h"
#include "tests/support/xt_level3.h"
#include "util.h"

static long problems, tiles;

static void run(struct xg_lane *lane, struct xt_level3_shape s, int form, enum xg_math math)
{
    struct xt_level3 o = xt_level3_create(&s, (uint64_t)form + 1);
    struct fx_cpu_count count = {.call = &o.p};
    struct xg_cpu cpu = fx_cpu(&count);
    struct xg_result result;
    enum xg_status status = xg_pipeline_run(lane, &o.p, math, NULL, &cpu, &result);
    XT_CHECK(status == XG_OK && !count.wholes && !count.parts, "%s: %s, %ld and %ld by the CPU",
             xt_level3_name(&s), xg_status_name(status), count.wholes, count.parts);
    xt_level3_check(&o, xt_level3_name(&s));
    xt_level3_destroy(&o);
    problems++;
    tiles += result.tiles;
}

/* The forms take turns over sizes and scalars; together they are all. */
static void run_kinds(struct xg_lane *lane, const int64_t (*sizes)[3], int count, int forms)
{
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (int form = 0; form < forms; form++) {
            run(lane,
                xt_level3_of(kind, form, sizes[(form + kind) % count],
                             xt_level3_scalars[(form + form / 3) % 3]),
                form, form % 2 ? XG_MATH_STRICT : XG_MATH_ACCURATE);
        }
}

/* In so little memory that panels take turns. */
static void test_out_of_core(void)
{
    static const int64_t sizes[][3] = {{700, 600, 500}, {900, 300, 200}};
    struct xg_conf conf = fx_conf();
    struct xg_dev *small;
    struct xg_lane *lane;
    conf.mem_limit_bytes = 24 << 20;
    must(xg_backend_open(&conf, &small), "a device of little memory");
    must(xg_lane_create(small, 4, &lane), "its lane");
    run_kinds(lane, sizes, 2, 4);
    xg_lane_destroy(lane);
    xg_backend_close(small);
}

int main(void)
{
    static const int64_t sizes[][3] = {{1, 1, 1},      {5, 3, 7},     {131, 70, 257},
                                       {300, 310, 40}, {40, 33, 900}, {513, 385, 129}};
    static const int64_t large[][3] = {{1500, 1300, 400}};
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    struct xg_lane *lane;
    alarm(600);
    enum xg_status status = xg_backend_open(&conf, &dev);
    if (status == XG_ERR_NOTFOUND)
        return xt_skip("no CUDA device");
    if (status == XG_OK && gpu_is_fake(dev))
        return xt_skip("the device is the fake driver's");
    must(status, "a device");
    must(xg_lane_create(dev, 8, &lane), "a lane");
    run_kinds(lane, sizes, 6, XT_LEVEL3_FORMS);
    if (!fx_short()) /* for the fake driver these would be minutes */
        run_kinds(lane, large, 1, 3);
    xg_lane_destroy(lane);
    test_out_of_core();
    printf("%s: %ld problems in %ld tiles\n", dev->name, problems, tiles);
    xg_backend_close(dev);
    return xt_done();
}
