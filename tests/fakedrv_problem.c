/* SPDX-License-Identifier: MIT */
/*
 * Every operation and type through the engine: right, in every triangle, transpose and scalar,
 * with padding, out of core, and whatever driver call fails; what is not of C is untouched.
 */
#include "fakedrv_util.h"

#include "src/compute/backend.h"
#include "src/pipeline/gemm.h"
#include "src/pipeline/lane.h"

static struct fakecuda fake;

/* A problem with memory of its own; B is A's memory where the operation has one operand. */
struct operands {
    struct xg_problem p;
    char *a, *b, *c, *before;
    size_t c_bytes;
};

struct shape {
    enum xg_op op;
    enum xg_type type;
    enum xg_uplo uplo;
    enum xg_trans transa, transb;
    int64_t m, n, k, pad;
    double alpha, alpha_im, beta, beta_im;
};

/* NaN where numbers must not be read: between rows. */
static char *matrix(enum xg_type type, int64_t rows, int64_t columns, int64_t ld, bool fill,
                    uint64_t *seed)
{
    int64_t parts = xg_type_is_complex(type) ? 2 : 1;
    size_t bytes = (size_t)(rows * ld) * xg_type_bytes(type);
    char *memory = malloc(bytes);
    if (!memory)
        exit(XT_HARD);
    for (int64_t i = 0; i < rows * ld * parts; i++) {
        bool inside = i / parts % ld < columns && fill;
        float value = inside ? xt_random(seed) : NAN;
        if (xg_type_is_double(type))
            ((double *)(void *)memory)[i] = (double)value;
        else
            ((float *)(void *)memory)[i] = value;
    }
    return memory;
}

static struct operands create(const struct shape *s, uint64_t seed)
{
    bool syrk = s->op == XG_OP_SYRK, complex_type = xg_type_is_complex(s->type);
    int64_t a_rows = s->transa ? s->k : s->m, a_columns = s->transa ? s->m : s->k;
    int64_t b_rows = s->transb ? s->n : s->k, b_columns = s->transb ? s->k : s->n;
    struct operands o = {.p = {.op = s->op,
                               .type = s->type,
                               .uplo = s->uplo,
                               .transa = s->transa,
                               .transb = s->transb,
                               .m = s->m,
                               .n = s->n,
                               .k = s->k,
                               .alpha = s->alpha,
                               .alpha_im = complex_type ? s->alpha_im : 0,
                               .lda = a_columns + s->pad,
                               .ldb = b_columns + s->pad,
                               .beta = s->beta,
                               .beta_im = complex_type ? s->beta_im : 0,
                               .ldc = s->n + s->pad}};
    o.a = matrix(s->type, a_rows, a_columns, o.p.lda, true, &seed);
    o.b = syrk ? NULL : matrix(s->type, b_rows, b_columns, o.p.ldb, true, &seed);
    o.c = matrix(s->type, s->m, s->n, o.p.ldc, !xg_problem_beta_zero(&o.p), &seed);
    if (syrk) {
        o.p.transb = s->transa ? XG_NO_TRANS : XG_TRANS;
        o.p.ldb = o.p.lda;
    }
    o.c_bytes = (size_t)(s->m * o.p.ldc) * xg_type_bytes(s->type);
    o.before = malloc(o.c_bytes);
    if (!o.before)
        exit(XT_HARD);
    memcpy(o.before, o.c, o.c_bytes);
    o.p.a = o.a;
    o.p.b = syrk ? o.a : o.b;
    o.p.c = o.c;
    return o;
}

static void destroy(struct operands *o)
{
    free(o->a), free(o->b), free(o->c), free(o->before);
}

static long double number(enum xg_type type, const char *memory, int64_t index)
{
    return xg_type_is_double(type) ? (long double)((const double *)(const void *)memory)[index]
                                   : (long double)((const float *)(const void *)memory)[index];
}

/* The largest componentwise error, in units of what k + 4 roundings of the type may come to. */
static double error_at(const struct operands *o, int64_t i, int64_t j)
{
    const struct xg_problem *p = &o->p;
    int64_t at = i * p->ldc + j, parts = xg_type_is_complex(p->type) ? 2 : 1;
    struct xg_cpu_exact exact =
        xg_cpu_exact(p, i, j, o->before + at * (int64_t)xg_problem_elem_bytes(p));
    long double unit = xg_type_is_double(p->type) ? 0x1p-53L : 0x1p-24L, worst = 0;
    for (int64_t part = 0; part < parts; part++) {
        long double value = number(p->type, o->c, at * parts + part);
        long double off = fabsl(value - (part ? exact.im : exact.re));
        long double error = off / (exact.magnitude * unit * (long double)(p->k + 4) * parts);
        if (off != 0 && !(error <= worst))
            worst = error;
    }
    return (double)worst;
}

/* Of larger problems one element in so many is judged. */
enum { WHOLE_MAX = 350, JUDGED_STEP = 7 };

/* Every element that the operation has is right, and every other byte of C is as it was. */
static void check(const struct operands *o, const char *what)
{
    const struct xg_problem *p = &o->p;
    size_t bytes = xg_problem_elem_bytes(p);
    for (int64_t i = 0; i < p->m; i++) {
        int64_t begin, end;
        xg_problem_row(p, i, 0, p->n, &begin, &end);
        for (int64_t j = 0; j < p->ldc; j++) {
            size_t at = (size_t)(i * p->ldc + j) * bytes;
            if (j >= begin && j < end) {
                if (p->m > WHOLE_MAX && (i * p->n + j) % JUDGED_STEP)
                    continue;
                double error = error_at(o, i, j);
                XT_CHECK(error <= 1, "%s: (%ld,%ld) is %g units off", what, (long)i, (long)j,
                         error);
                if (!(error <= 1))
                    return;
            } else {
                XT_CHECK(!memcmp(o->c + at, o->before + at, bytes), "%s: (%ld,%ld) was touched",
                         what, (long)i, (long)j);
            }
        }
    }
}

static const char *name_of(const struct shape *s)
{
    static char text[160];
    snprintf(text, sizeof text, "%s %d%d%d %ldx%ldx%ld+%ld, (%g,%g) (%g,%g)",
             xg_kind_name(xg_kind(s->op, s->type)), (int)s->uplo, (int)s->transa, (int)s->transb,
             (long)s->m, (long)s->n, (long)s->k, (long)s->pad, s->alpha, s->alpha_im, s->beta,
             s->beta_im);
    return text;
}

/* Runs it once, by the kernel of that name or a chosen one; returns what the engine said. */
static enum xg_status run_by(struct xg_lane *lane, const struct shape *s, const char *kernel,
                             uint64_t seed)
{
    struct operands o = create(s, seed);
    struct fx_cpu_count count = {.call = &o.p};
    struct xg_cpu cpu = fx_cpu(&count);
    struct xg_gemm_result result;
    enum xg_status status = xg_gemm_run(lane, &o.p, XG_MATH_ACCURATE, kernel, &cpu, &result);
    if (status == XG_DECLINED)
        xg_cpu_compute(&o.p);
    check(&o, name_of(s));
    XT_CHECK(status != XG_OK || (!count.wholes && !count.parts), "%s: by the CPU", name_of(s));
    XT_CHECK(status != XG_OK || !kernel || (result.kernel && !strcmp(result.kernel, kernel)),
             "%s: by %s, not %s", name_of(s), result.kernel ? result.kernel : "nothing", kernel);
    destroy(&o);
    return status;
}

static enum xg_status run(struct xg_lane *lane, const struct shape *s, uint64_t seed)
{
    return run_by(lane, s, NULL, seed);
}

static void test_kinds(struct xg_lane *lane)
{
    static const int64_t sizes[][3] = {{1, 1, 1},      {5, 3, 7},      {64, 96, 33},
                                       {131, 70, 257}, {300, 310, 40}, {40, 33, 900}};
    static const double scalars[][4] = {{1, 0, 0, 0}, {-2, 1, 1, 0}, {0.5, -1, 2, 0.5}};
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++)
            for (int form = 0; form < 9; form += fx_short() ? 4 : 1) {
                const double *scalar = scalars[(form + (int)size) % 3];
                struct shape s = {.op = (enum xg_op)(kind / XG_TYPE_COUNT),
                                  .type = (enum xg_type)(kind % XG_TYPE_COUNT),
                                  .transa = (enum xg_trans)(form % 3),
                                  .transb = (enum xg_trans)(form / 3),
                                  .m = sizes[size][0],
                                  .n = sizes[size][1],
                                  .k = sizes[size][2],
                                  .pad = form % 2 * 3,
                                  .alpha = scalar[0],
                                  .alpha_im = scalar[1],
                                  .beta = scalar[2],
                                  .beta_im = scalar[3]};
                if (s.op == XG_OP_SYRK) {
                    s.uplo = (form + (int)size) % 2 ? XG_UPPER : XG_LOWER;
                    s.transa = form / 3 % 2 ? XG_TRANS : XG_NO_TRANS;
                    s.n = s.m;
                }
                enum xg_status status = run(lane, &s, (uint64_t)form + 1);
                XT_CHECK(status == XG_OK, "%s: %s", name_of(&s), xg_status_name(status));
            }
}

/* Rows of double in the place of cuBLAS where they are named, of both operations, in every form. */
static void test_kernels(struct xg_lane *lane)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {5, 3, 7}, {131, 70, 257}, {300, 310, 40}};
    int rows = 0;
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct xg_kernel *row = &xg_kernel_table[r];
        if (row->type != (int)XG_TYPE_D)
            continue;
        rows++;
        for (int form = 0; form < 16; form++) {
            const int64_t *size = sizes[(form + (int)r) % 4];
            bool syrk = form & 8;
            struct shape s = {.op = syrk ? XG_OP_SYRK : XG_OP_GEMM,
                              .type = XG_TYPE_D,
                              .uplo = !syrk      ? XG_FULL
                                      : form & 1 ? XG_UPPER
                                                 : XG_LOWER,
                              .transa = form & 2 ? XG_TRANS : XG_NO_TRANS,
                              .transb = form & 1 ? XG_TRANS : XG_NO_TRANS,
                              .m = size[0],
                              .n = syrk ? size[0] : size[1],
                              .k = size[2],
                              .pad = form % 3,
                              .alpha = form & 4 ? 1 : -1.3,
                              .beta = form & 4 ? 0 : 0.7};
            enum xg_status status = run_by(lane, &s, row->name, (uint64_t)form + 1);
            XT_CHECK(status == XG_OK, "%s by %s: %s", name_of(&s), row->name,
                     xg_status_name(status));
        }
    }
    XT_CHECK(rows > 0, "no row of double");
}

/* In so little memory that panels take turns; and a triangle of many tiles. */
static void test_tiles(int64_t mem_limit_bytes)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    struct xg_lane *lane;
    conf.mem_limit_bytes = mem_limit_bytes;
    XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK && xg_lane_create(dev, 3, &lane) == XG_OK);
    if (xt_failures)
        exit(xt_done());
    int64_t n = fx_short() ? 500 : 900;
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (int form = 0; form < 2; form++) {
            struct shape s = {.op = (enum xg_op)(kind / XG_TYPE_COUNT),
                              .type = (enum xg_type)(kind % XG_TYPE_COUNT),
                              .transa = form ? XG_TRANS : XG_NO_TRANS,
                              .m = n,
                              .n = n - 100,
                              .k = 65,
                              .pad = 1,
                              .alpha = 1,
                              .beta = form ? 1 : 0};
            if (s.op == XG_OP_SYRK) {
                s.uplo = form ? XG_UPPER : XG_LOWER;
                s.n = s.m;
            }
            enum xg_status status = run(lane, &s, 7);
            XT_CHECK(status == XG_OK, "%s in %ld bytes: %s", name_of(&s), (long)mem_limit_bytes,
                     xg_status_name(status));
        }
    xg_lane_destroy(lane);
    xg_backend_close(dev);
}

/* Each driver call of a problem fails once: whatever is left is computed by the CPU, and right. */
static void test_faults(void)
{
    static const struct shape shapes[] = {
        {XG_OP_GEMM, XG_TYPE_D, XG_FULL, XG_TRANS, XG_NO_TRANS, 200, 190, 30, 2, 1, 0, 1, 0},
        {XG_OP_SYRK, XG_TYPE_S, XG_LOWER, XG_NO_TRANS, XG_TRANS, 500, 500, 20, 1, 2, 0, -1, 0},
        {XG_OP_SYRK, XG_TYPE_Z, XG_UPPER, XG_TRANS, XG_NO_TRANS, 300, 300, 20, 0, 1, 1, 0.5, 1}};
    for (size_t which = 0; which < sizeof shapes / sizeof shapes[0]; which++)
        for (long nth = 1, step = fx_short() ? 11 : 3;; nth += step) {
            struct xg_conf conf = fx_conf();
            struct xg_dev *dev;
            struct xg_lane *lane;
            conf.mem_limit_bytes = 3 << 20;
            fake.reset((unsigned long)nth);
            XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK &&
                     xg_lane_create(dev, 2, &lane) == XG_OK);
            fake.fail(NULL, nth, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
            enum xg_status status = run(lane, &shapes[which], 5);
            bool struck = fake.faults(NULL) > 0;
            XT_CHECK(status == XG_OK || struck, "%s: %s without a fault", name_of(&shapes[which]),
                     xg_status_name(status));
            fake.reset(1);
            xg_lane_destroy(lane);
            xg_backend_close(dev);
            if (!struck)
                break;
        }
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    struct xg_lane *lane;
    struct fakecuda_live live;
    fx_watchdog(240);
    fake = fx_fake();
    XT_CHECK(xg_backend_open(&conf, &dev) == XG_OK && xg_lane_create(dev, 3, &lane) == XG_OK);
    if (xt_failures)
        return xt_done();
    test_kinds(lane);
    test_kernels(lane);
    xg_lane_destroy(lane);
    fake.live(&live);
    XT_CHECK(!live.dev && !live.pinned && !live.streams && !live.events, "something is left");
    xg_backend_close(dev);
    test_tiles(0);
    test_tiles(5 << 20);
    test_faults();
    return xt_done();
}
