/* SPDX-License-Identifier: MIT */
/* Shared by tests of the engine: products with guarded operands, their judge, a CPU side that
 * counts. */
#ifndef GUARDED_H
#define GUARDED_H

#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/conf.h"
#include "src/base/xg.h"
#include "src/reference/cpu.h"
#include "xt.h"

#define FAKECUDA_WANT_LOAD
#include "tests/fakedrv/fakecuda.h"

enum { FX_GUARD = 16, FX_CODE_NOMEM = 2, FX_CODE_LAUNCH_FAILED = 719, FX_CODE_UNKNOWN = 999 };

/* True in builds with a sanitizer and under XT_SHORT=1: smaller products, fewer of them. */
static inline bool fx_short(void)
{
#ifdef XG_SANITIZED
    return true;
#else
    const char *value = getenv("XT_SHORT");
    return value && !strcmp(value, "1");
#endif
}

/* The default configuration. The caller owns the pointers in it. */
static inline const char *fx_no_environment(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

static inline void fx_no_report(void *ctx, const char *text)
{
    (void)ctx;
    XT_CHECK(false, "configuration: %s", text);
}

static inline struct xg_conf fx_conf(void)
{
    struct xg_conf conf;
    xg_conf_parse(&conf, fx_no_environment, fx_no_report, NULL);
    return conf;
}

/* The CPU side of a call: the built-in loop, counted. The ctx is a struct fx_cpu_count. */
struct fx_cpu_count {
    const struct xg_problem *call;
    atomic_long wholes, parts;
};

static inline void fx_cpu_whole(void *ctx)
{
    struct fx_cpu_count *count = ctx;
    count->wholes++;
    xg_cpu_compute(count->call);
}

static inline void fx_cpu_part(void *ctx, const struct xg_problem *part)
{
    struct fx_cpu_count *count = ctx;
    count->parts++;
    xg_cpu_compute(part);
}

static inline struct xg_cpu fx_cpu(struct fx_cpu_count *count)
{
    return (struct xg_cpu){.whole = fx_cpu_whole, .part = fx_cpu_part, .ctx = count};
}

/* A product whose operands end with their last element, so that a sanitizer sees reads after it.
 * The padding of A and B is NaN, and C lies between guards. If beta is 0, all of C is NaN. */
struct fx_product {
    struct xg_problem call;
    float *a, *b;
    float *c_all, *c_before; /* guard, C with its padding, guard */
    size_t c_elems;          /* of c_all */
    struct fx_cpu_count count;
};

struct fx_shape {
    int64_t m, n, k;
    bool transa, transb;
    float alpha, beta;
    int64_t pad; /* elements added to each leading dimension */
};

static inline float *fx_matrix(int64_t rows, int64_t cols, int64_t ld, uint64_t *seed)
{
    size_t elems = rows ? (size_t)((rows - 1) * ld + cols) : 0;
    float *x = xt_alloc(elems, sizeof(*x));
    for (size_t i = 0; i < elems; i++)
        x[i] = (int64_t)(i % (size_t)ld) < cols ? xt_random(seed) : NAN;
    return x;
}

static inline struct fx_product fx_product_create(const struct fx_shape *shape, uint64_t seed)
{
    struct fx_product p = {.call = {.transa = shape->transa,
                                    .transb = shape->transb,
                                    .m = shape->m,
                                    .n = shape->n,
                                    .k = shape->k,
                                    .alpha = shape->alpha,
                                    .beta = shape->beta}};
    struct xg_problem *call = &p.call;
    call->lda = (call->transa ? call->m : call->k) + shape->pad;
    call->ldb = (call->transb ? call->k : call->n) + shape->pad;
    call->ldc = call->n + shape->pad;
    call->a = p.a =
        fx_matrix(call->transa ? call->k : call->m, call->lda - shape->pad, call->lda, &seed);
    call->b = p.b =
        fx_matrix(call->transb ? call->n : call->k, call->ldb - shape->pad, call->ldb, &seed);
    p.c_elems = (size_t)((call->m - 1) * call->ldc + call->n + 2 * FX_GUARD);
    p.c_all = xt_alloc(p.c_elems, sizeof(float));
    p.c_before = xt_alloc(p.c_elems, sizeof(float));
    for (size_t i = 0; i < p.c_elems; i++)
        p.c_before[i] = xt_random(&seed);
    call->c = p.c_all + FX_GUARD;
    for (int64_t i = 0; i < call->m && call->beta == 0.0f; i++)
        for (int64_t j = 0; j < call->n; j++)
            p.c_before[FX_GUARD + i * call->ldc + j] = NAN;
    memcpy(p.c_all, p.c_before, p.c_elems * sizeof(float));
    return p;
}

/* The CPU side of the product, with new counts. */
static inline struct xg_cpu fx_product_cpu(struct fx_product *p)
{
    p->count = (struct fx_cpu_count){.call = &p->call};
    return fx_cpu(&p->count);
}

/* C as it was before the call. */
static inline void fx_product_reset(struct fx_product *p)
{
    memcpy(p->c_all, p->c_before, p->c_elems * sizeof(float));
}

static inline void fx_product_destroy(struct fx_product *p)
{
    free(p->a);
    free(p->b);
    free(p->c_all);
    free(p->c_before);
}

/* Guards and padding have the bits that they had. */
static inline bool fx_padding_intact(const struct fx_product *p)
{
    const int64_t ldc = p->call.ldc, n = p->call.n;
    for (size_t i = 0; i < p->c_elems; i++) {
        int64_t at = (int64_t)i - FX_GUARD;
        bool inside = at >= 0 && at / ldc < p->call.m && at % ldc < n;
        if (!inside && memcmp(&p->c_all[i], &p->c_before[i], sizeof(float)))
            return false;
    }
    return true;
}

static inline bool fx_untouched(const struct fx_product *p)
{
    return !memcmp(p->c_all, p->c_before, p->c_elems * sizeof(float));
}

/* The largest componentwise error of C in units of its bound, (k + 3) * 2^-24 * scale; NaN if an
 * element is NaN. Judges every `stride`-th element. */
static inline double fx_error(const struct fx_product *p, int64_t stride)
{
    const struct xg_problem *call = &p->call;
    double worst = 0.0;
    for (int64_t at = 0; at < call->m * call->n; at += stride) {
        int64_t i = at / call->n, j = at % call->n, begin, end;
        xg_problem_row(call, i, 0, call->n, &begin, &end);
        if (j < begin || j >= end)
            continue;
        float c0 = p->c_before[FX_GUARD + i * call->ldc + j],
              c = ((float *)call->c)[i * call->ldc + j];
        const struct xg_cpu_exact exact = xg_cpu_exact(call, i, j, &c0);
        double bound = (double)(call->k + 3) * 0x1p-24 * (double)exact.magnitude + 0x1p-149;
        double error = fabs((double)c - (double)exact.re) / bound;
        if (!(error <= worst))
            worst = error;
        if (isnan(worst))
            break;
    }
    return worst;
}

/* With a sanitizer fewer elements are judged: sums take two to ten times as long, and the
 * sanitizer's own checks do not need them. */
#ifdef XG_SANITIZED
enum { FX_JUDGED = 17 };
#else
enum { FX_JUDGED = 1 };
#endif

/* Checks C and its surroundings; `what` names the case. */
static inline void fx_product_check(const struct fx_product *p, int64_t stride, const char *what)
{
    const struct xg_problem *call = &p->call;
    double error = fx_error(p, FX_JUDGED * stride);
    XT_CHECK_LE(error, 1.0, "%s: %c%c %lld,%lld,%lld alpha %g beta %g ldc %lld: error %g", what,
                call->transa ? 't' : 'n', call->transb ? 't' : 'n', (long long)call->m,
                (long long)call->n, (long long)call->k, (double)call->alpha, (double)call->beta,
                (long long)call->ldc, error);
    XT_CHECK(fx_padding_intact(p), "%s: %lld,%lld,%lld ldc %lld", what, (long long)call->m,
             (long long)call->n, (long long)call->k, (long long)call->ldc);
}

/* A test that takes longer hangs: more than ten times the duration of a test alone on a slow
 * machine, which may run other tests too. */
static inline void fx_watchdog(void)
{
    alarm(fx_short() ? 3000 : 1200);
}

/* Returns the fake driver's controls and starts the watchdog. Ends the test if another driver was
 * found. */
static inline struct fakecuda fx_fake(void)
{
    struct fakecuda fake;
    fx_watchdog();
    if (!fakecuda_load(&fake)) {
        fprintf(stderr, "libcuda.so.1 is not the fake: run with LD_LIBRARY_PATH=tests/fakedrv\n");
        exit(XT_HARD);
    }
    return fake;
}

/* The driver's living objects. */
static inline struct fakecuda_live fx_live(const struct fakecuda *fake)
{
    struct fakecuda_live live;
    fake->live(&live);
    return live;
}

/* Checks that the driver has no living object, after the engine's end. */
static inline void fx_nothing_left(const struct fakecuda *fake)
{
    const struct fakecuda_live live = fx_live(fake);
    XT_CHECK(!live.dev && !live.pinned && !live.streams && !live.events && !live.modules &&
                 !live.contexts && !live.reclaimed,
             "objects are left");
}

#endif
