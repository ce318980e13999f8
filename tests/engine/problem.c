/* SPDX-License-Identifier: MIT */
/*
 * Every operation and type through the engine: results are right in every triangle, transpose and
 * scalar, with padding, out of core, and with a failure of any driver call; memory outside C is
 * untouched. An environment that asks cuBLAS to emulate doubles changes no result. Contract 1.2,
 * 3.2, 9.1 (doc/contract.md).
 */
#include "kernels/table.h"
#include "lane.h"
#include "src/decide/plan.h"
#include "src/pipeline/pipeline.h"
#include "src/pipeline/queue.h"
#include "tests/support/xt_level3.h"

static struct fakecuda fake;

/* The CPU's wholes and parts of the last problem, and the engine's number of tiles. */
static long last_wholes, last_parts, last_tiles;

/* Runs the problem once, with XGEMM_KERNEL `named`. The kernel `wanted` must compute it; NULL: any.
 * Returns the engine's status. */
static enum xg_status run_named(struct xg_lane *lane, const struct xt_level3_shape *s,
                                const char *named, const char *wanted, uint64_t seed)
{
    struct xt_level3 o = xt_level3_create(s, seed);
    struct fx_cpu_count count = {.call = &o.p};
    struct xg_cpu cpu = fx_cpu(&count);
    struct xg_result result;
    enum xg_status status = xg_pipeline_run(lane, &o.p, XG_MATH_ACCURATE, named, &cpu, &result);
    if (status == XG_DECLINED)
        xg_cpu_compute(&o.p);
    const char *name = xt_level3_name(s);
    last_wholes = count.wholes, last_parts = count.parts, last_tiles = result.tiles;
    xt_level3_check(&o, name);
    XT_CHECK(status != XG_OK || (!count.wholes && !count.parts), "%s: by the CPU", name);
    XT_CHECK(status != XG_OK || !wanted || (result.kernel && !strcmp(result.kernel, wanted)),
             "%s: by %s, not %s", name, result.kernel ? result.kernel : "nothing", wanted);
    xt_level3_destroy(&o);
    return status;
}

static enum xg_status run_by(struct xg_lane *lane, const struct xt_level3_shape *s,
                             const char *kernel, uint64_t seed)
{
    return run_named(lane, s, kernel, kernel, seed);
}

static enum xg_status run(struct xg_lane *lane, const struct xt_level3_shape *s, uint64_t seed)
{
    return run_by(lane, s, NULL, seed);
}

static void test_kinds(struct xg_lane *lane)
{
    static const int64_t sizes[][3] = {{1, 1, 1},      {5, 3, 7},      {64, 96, 33},
                                       {131, 70, 257}, {270, 280, 40}, {40, 33, 900}};
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (int size = 0; size < (int)(sizeof sizes / sizeof sizes[0]); size++)
            for (int form = size; form < size + 9; form += fx_short() ? 4 : 1) {
                struct xt_level3_shape s =
                    xt_level3_of(kind, form, sizes[size], xt_level3_scalars[form % 3]);
                enum xg_status status = run(lane, &s, (uint64_t)form + 1);
                XT_CHECK(status == XG_OK, "%s: %s", xt_level3_name(&s), xg_status_name(status));
            }
}

/* Each row of double computes every operation that consists of products, in several forms. */
static void test_kernels(struct xg_lane *lane)
{
    static const enum xg_op ops[] = {XG_OP_GEMM,  XG_OP_SYRK, XG_OP_SYMM,      XG_OP_SYR2K,
                                     XG_OP_GEMMT, XG_OP_GEMV, XG_OP_GEMM_BATCH};
    static const int64_t sizes[][3] = {{1, 1, 1}, {5, 3, 7}, {131, 70, 257}, {300, 310, 40}};
    int rows = 0;
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct xg_kernel *row = &xg_kernel_table[r];
        if (row->type != (int)XG_TYPE_D || row->flags & XG_KERNEL_RESIDUES)
            continue;
        rows++;
        for (int form = 0; form < 16; form += fx_short() ? 3 : 1) {
            const enum xg_op op = ops[(form + form / 4) % 7];
            struct xt_level3_shape s =
                xt_level3_of(xg_kind(op, XG_TYPE_D), form, sizes[(form + (int)r) % 4],
                             xt_level3_scalars[form % 3]);
            enum xg_status status = run_by(lane, &s, row->name, (uint64_t)form + 1);
            XT_CHECK(status == XG_OK, "%s by %s: %s", xt_level3_name(&s), row->name,
                     xg_status_name(status));
        }
    }
    XT_CHECK(rows > 0, "no row of double");
}

/* Operations of a type by residues. cuBLAS computes problems with a complex alpha. */
static void residue_forms(struct xg_lane *lane, enum xg_type type, const char *name)
{
    static const enum xg_op ops[] = {XG_OP_GEMM,  XG_OP_SYRK, XG_OP_SYMM,
                                     XG_OP_GEMMT, XG_OP_HERK, XG_OP_HEMM};
    static const int64_t sizes[][3] = {{1, 1, 64}, {5, 3, 71}, {131, 270, 257}, {300, 310, 640}};
    static const double real_alpha[] = {-1.3, 0, 0.7, 0.2};
    for (int form = 0; form < (xg_type_is_complex(type) ? 96 : 64); form += fx_short() ? 7 : 1) {
        struct xt_level3_shape s =
            xt_level3_of(xg_kind(ops[form / 16], type), form, sizes[form / 4 % 4],
                         form % 5 ? real_alpha : xt_level3_scalars[form % 3]);
        const bool deep = s.k >= 64 && (!xt_level3_is_structured(s.op) || s.m >= 64);
        const bool residues = deep && (s.alpha_im == 0 || !xg_type_is_complex(type));
        const char *wanted = residues ? name : xg_type_is_complex(type) ? "cublas" : NULL;
        enum xg_status status = run_named(lane, &s, name, wanted, (uint64_t)form + 1);
        XT_CHECK(status == XG_OK, "%s: %s", xt_level3_name(&s), xg_status_name(status));
    }
}

/* Residues, with panels that are split as they arrive; every driver call fails in turn. */
static void test_residues(void)
{
    static char name[] = "ozaki2_mma";
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    conf.kernel = strdup(name);
    struct xg_lane *lane = fx_lane_open(&conf, 3, &dev);
    XT_CHECK(dev->facts.residues);
    residue_forms(lane, XG_TYPE_D, name);
    residue_forms(lane, XG_TYPE_Z, name);
    /* Deeper than the integers allow. */
    struct xt_level3_shape s = {
        .op = XG_OP_GEMM, .type = XG_TYPE_D, .m = 3, .n = 2, .k = 66000, .alpha = 1, .beta = 1};
    XT_CHECK(run_named(lane, &s, name, NULL, 5) == XG_OK, "%s", xt_level3_name(&s));
    s.type = XG_TYPE_Z, s.k = 33000;
    XT_CHECK(run_named(lane, &s, name, "cublas", 5) == XG_OK, "%s", xt_level3_name(&s));
    s.m = 140, s.n = 90, s.k = 200;
    for (int type = XG_TYPE_D; type <= XG_TYPE_Z; type += XG_TYPE_Z - XG_TYPE_D) {
        long nth = 0;
        s.type = (enum xg_type)type;
        for (bool struck = true; struck; nth += fx_short() ? 5 : 1) {
            fake.reset((unsigned)nth);
            fake.fail(NULL, nth + 1, FX_CODE_NOMEM, FAKECUDA_ONCE);
            run_named(lane, &s, name, NULL, 3);
            struck = fake.faults(NULL) > 0;
        }
        XT_CHECK(nth > 10, "%ld calls", nth);
    }
    fake.reset(1);
    fx_lane_close(lane, dev);
    xg_conf_fini(&conf);
}

/* In little memory panels take turns; and a triangle has many tiles. */
static void test_tiles(int64_t mem_limit_bytes)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    conf.mem_limit_bytes = mem_limit_bytes;
    struct xg_lane *lane = fx_lane_open(&conf, 3, &dev);
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (int form = 0; form < 2; form++) {
            /* A structured operand makes a product deep. */
            int64_t n = fx_short() || xt_level3_is_structured(xg_kind_op(kind)) ? 450 : 900;
            struct xt_level3_shape s = {.op = xg_kind_op(kind),
                                        .type = xg_kind_type(kind),
                                        .transa = form ? XG_TRANS : XG_NO_TRANS,
                                        .m = n,
                                        .n = n - 100,
                                        .k = 65,
                                        .pad = 1,
                                        .alpha = 1,
                                        .beta = form ? 1 : 0};
            xt_level3_settle(&s, 3 * form);
            enum xg_status status = run(lane, &s, 7);
            XT_CHECK(status == XG_OK, "%s in %ld bytes: %s", xt_level3_name(&s),
                     (long)mem_limit_bytes, xg_status_name(status));
        }
    /* Instances of which none fits the memory whole. */
    struct xt_level3_shape large = {.op = XG_OP_GEMM_BATCH,
                                    .m = 2 * 1200,
                                    .n = 1200,
                                    .k = 300,
                                    .alpha = 1,
                                    .beta = 1,
                                    .instances = 2};
    enum xg_status status = run(lane, &large, 8);
    XT_CHECK(status == XG_OK, "%s in %ld bytes: %s", xt_level3_name(&large), (long)mem_limit_bytes,
             xg_status_name(status));
    fx_lane_close(lane, dev);
}

/* Each driver call of a problem fails once: the CPU computes the rest, and the result is right. */
static void test_faults(void)
{
    static const struct {
        int kind, form;
        int64_t m, n, k;
        double alpha, alpha_im, beta;
    } cases[] = {{XG_KIND_GEMM + XG_TYPE_D, 1, 200, 190, 30, 1, 0, 1},
                 {XG_KIND_SYRK + XG_TYPE_S, 0, 500, 500, 20, 2, 0, -1},
                 {XG_KIND_SYRK + XG_TYPE_Z, 3, 300, 300, 20, 1, 1, 0.5},
                 {XG_KIND_HERK + XG_TYPE_C, 2, 300, 300, 20, 1, 0, 2},
                 {XG_KIND_SYMM + XG_TYPE_D, 2, 150, 110, 0, -1, 0, 0.5},
                 {XG_KIND_SYR2K + XG_TYPE_S, 2, 300, 300, 20, 2, 0, 1},
                 {XG_KIND_HER2K + XG_TYPE_Z, 1, 300, 300, 20, 1, 1, -1},
                 {XG_KIND_TRMM + XG_TYPE_D, 0, 300, 200, 0, 2, 0, 0},
                 {XG_KIND_TRMM + XG_TYPE_S, 6, 300, 200, 0, 2, 0, 0},
                 {XG_KIND_TRSM + XG_TYPE_Z, 0, 220, 300, 0, 2, 1, 0},
                 {XG_KIND_TRSM + XG_TYPE_D, 2, 300, 200, 0, 2, 0, 0},
                 {XG_KIND_TRSM + XG_TYPE_C, 7, 300, 200, 0, 2, 0, 0},
                 {XG_KIND_HEMM + XG_TYPE_C, 1, 90, 140, 0, 1, 2, 1},
                 {XG_KIND_GEMMT + XG_TYPE_S, 3, 500, 500, 20, 2, 0, 1},
                 {XG_KIND_GEMMT + XG_TYPE_Z, 10, 300, 300, 20, 1, 1, 0.5},
                 {XG_KIND_GEMV + XG_TYPE_S, 1, 1, 3000, 600, 2, 0, 1},
                 {XG_KIND_GEMV + XG_TYPE_Z, 0, 700, 1, 600, 1, 1, 0.5},
                 {XG_KIND_GEMM_BATCH + XG_TYPE_S, 11, 400, 190, 60, 2, 0, 1},
                 {XG_KIND_GEMM_BATCH_STRIDED + XG_TYPE_Z, 7, 400, 90, 60, 1, 1, 0.5}};
    for (size_t which = 0; which < sizeof cases / sizeof cases[0]; which++)
        for (long nth = 1, step = fx_short() ? 11 : 3;; nth += step) {
            struct xg_conf conf = fx_conf();
            struct xg_dev *dev;
            conf.mem_limit_bytes = 3 << 20;
            fake.reset((unsigned long)nth);
            struct xg_lane *lane = fx_lane_open(&conf, 2, &dev);
            fake.fail(NULL, nth, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
            struct xt_level3_shape s = {.op = xg_kind_op(cases[which].kind),
                                        .type = xg_kind_type(cases[which].kind),
                                        .transa = XG_TRANS,
                                        .m = cases[which].m,
                                        .n = cases[which].n,
                                        .k = cases[which].k,
                                        .pad = (int64_t)which % 3,
                                        .alpha = cases[which].alpha,
                                        .alpha_im = cases[which].alpha_im,
                                        .beta = cases[which].beta};
            xt_level3_settle(&s, cases[which].form);
            enum xg_status status = run(lane, &s, 5);
            bool struck = fake.faults(NULL) > 0;
            XT_CHECK(status == XG_OK || struck, "%s: %s without a fault", xt_level3_name(&s),
                     xg_status_name(status));
            fake.reset(1);
            fx_lane_close(lane, dev);
            if (!struck)
                break;
        }
}

/* --- Every form, out of core, and cut off in the middle -------------------------------------- */

/* Returns little more device memory than the problem needs. In-place problems then move in panels
 * that take turns. */
static int64_t tight_bytes(const struct xt_level3_shape *s)
{
    struct xt_level3 o = xt_level3_create(s, 1);
    struct xg_plan_limits limits = {.device_bytes = 64 << 20, .row_bytes = XG_QUEUE_BLOCK_BYTES};
    struct xg_plan plan;
    size_t fitting = 0;
    bool resident = true;
    while (xg_plan_init(&plan, &o.p, &limits) == XG_OK) {
        resident = plan.resident;
        fitting = limits.device_bytes;
        limits.device_bytes -= limits.device_bytes / 16;
        xg_plan_fini(&plan);
    }
    XT_CHECK(!resident || !xt_level3_is_in_place(s->op), "%s fits", xt_level3_name(s));
    xt_level3_destroy(&o);
    return (int64_t)fitting;
}

/* Runs the problem on a new device, whose nth operation and all later ones fail; 0: none. */
static enum xg_status attempt(const struct xt_level3_shape *s, int64_t mem_limit_bytes, long nth)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    conf.mem_limit_bytes = mem_limit_bytes;
    fake.reset((unsigned)nth + 1);
    struct xg_lane *lane = fx_lane_open(&conf, 3, &dev);
    if (nth > 0)
        fake.fail("exec", nth, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    enum xg_status status = run(lane, s, (uint64_t)nth + 3);
    fx_lane_close(lane, dev);
    return status;
}

static void test_forms(void)
{
    long partly[2] = {0, 0};
    for (int i = 0; i < XG_KIND_COUNT * XT_LEVEL3_FORMS; i += fx_short() ? 7 : 1) {
        const int form = i / XG_KIND_COUNT, kind = i % XG_KIND_COUNT;
        const enum xg_op op = xg_kind_op(kind);
        const bool in_place = xt_level3_is_in_place(op);
        const int64_t wide = in_place ? 300 : 600, narrow = 130;
        const int64_t size[] = {form & 1 || !xt_level3_is_structured(op) ? wide : narrow,
                                form & 1 ? narrow : wide, 70};
        struct xt_level3_shape s =
            xt_level3_of(kind, form, size, xt_level3_scalars[(form + kind) % 3]);
        /* Other operations have fewer forms; types take turns. */
        if (in_place ? (form / 12 + kind) % 2 : form >= (op == XG_OP_GEMMT ? 18 : 4))
            continue;
        const int64_t bytes = tight_bytes(&s);
        enum xg_status status = attempt(&s, bytes, 0);
        const long execs = fake.calls("exec");
        XT_CHECK(status == XG_OK && (last_tiles > 1 || !in_place), "%s in %ld bytes: %s, %ld tiles",
                 xt_level3_name(&s), (long)bytes, xg_status_name(status), last_tiles);
        /* The number of operations depends on time, so the last faults may not occur. */
        status = attempt(&s, bytes, execs * (24 + (3 * form + kind) % 8) / 32);
        XT_CHECK(status == XG_ERR_LOST || fake.faults("exec") == 0, "%s, one of %ld failed: %s",
                 xt_level3_name(&s), execs, xg_status_name(status));
        partly[in_place] += last_parts > 0 && last_wholes == 0;
    }
    printf("forms computed by both sides: %ld, and %ld in place\n", partly[0], partly[1]);
    XT_CHECK(partly[0] > 0 && partly[1] > 0, "no failure came in the middle");
}

/* The rows of an in-place tile depend on each other: some of them have arrived, and the copies of
 * the others fail. */
static void test_rows(void)
{
    enum { LAST = 5, WIDE = 6144 };
    long partly = 0;
    for (int form = 0; form < XT_LEVEL3_FORMS; form += fx_short() ? 10 : 2) {
        struct xt_level3_shape s = {.op = form & 4 ? XG_OP_TRSM : XG_OP_TRMM,
                                    .type = XG_TYPE_Z,
                                    .m = 64,
                                    .n = WIDE,
                                    .alpha = 1.5};
        xt_level3_settle(&s, form);
        XT_CHECK(attempt(&s, 0, 0) == XG_OK, "%s", xt_level3_name(&s));
        const long execs = fake.calls("exec");
        for (long nth = execs - LAST; nth <= execs; nth++) {
            enum xg_status status = attempt(&s, 0, nth);
            XT_CHECK(status == XG_ERR_LOST || fake.faults("exec") == 0, "%s, %ld of %ld: %s",
                     xt_level3_name(&s), nth, execs, xg_status_name(status));
            partly += last_parts > 0 && last_wholes == 0;
        }
    }
    printf("rows computed by both sides: %ld\n", partly);
    XT_CHECK(partly > 0, "no failure came in the middle");
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1", 1);
    fake = fx_fake();
    struct xg_lane *lane = fx_lane_open(&conf, 3, &dev);
    test_kinds(lane);
    test_kernels(lane);
    XT_CHECK(fake.left(XG_TYPE_S) > 0 && fake.left(XG_TYPE_D) > 0,
             "kernels compute both triangles: %ld floats are left, %ld doubles",
             fake.left(XG_TYPE_S), fake.left(XG_TYPE_D));
    XT_CHECK(fake.calls("cublasZgemm") > 0 && fake.calls("cublasDgemm") == 0,
             "double has rows of ours: %ld calls of cuBLAS", fake.calls("cublasDgemm"));
    xg_lane_destroy(lane);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(!live.dev && !live.pinned && !live.streams && !live.events, "something is left");
    xg_backend_close(dev);
    test_residues();
    test_tiles(0);
    test_tiles(7 << 20);
    test_faults();
    test_forms();
    test_rows();
    return xt_done();
}
