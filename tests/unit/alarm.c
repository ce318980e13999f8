/* SPDX-License-Identifier: MIT */
/* No false alarm: verification never calls a right product wrong, whatever its numbers and the
 * order of its sums. Contract 9.6. */

/*
 * Small products over the distributions of the accuracy suite, all transposes, paddings, alpha and
 * beta, in FP32 in several orders, in pieces as Hopper's tensor cores add them
 * (tests/support/emulation.c), and in TF32; and as many products of doubles: 20,000 of each, or
 * XT_VERIFY_PRODUCTS. Some sums must come close to the bounds: a bound that is ten times too small
 * raises an alarm.
 */
#include <fenv.h>
#include <math.h>

#include "src/verify/verify.h"
#include "tests/support/distribution.h"
#include "tests/support/emulation.h"
#include "tests/support/guarded.h"
#include "tests/support/typed.h"

enum { PRODUCTS = 20000, PRODUCTS_SHORT = 2000, DEPTH_MAX = 30000 };

static struct xg_team *team;

/* --- Sums in the orders of devices
 * ------------------------------------------------------------------ */

enum order { FMA, ROUNDED, BACKWARDS, FOUR, SLICES, FP16X3, BF16X6, TF32, ORDERS };
static const char *const names[ORDERS] = {"FMA",    "rounded", "backwards", "four sums",
                                          "slices", "FP16x3",  "BF16x6",    "TF32"};

/* One row of op(A) and one column of op(B), next to each other. */
struct factors {
    float *a, *b;
    int64_t k;
};

static float sum_in_order(const struct factors *f, enum order order)
{
    float sums[4] = {0};
    for (int64_t at = 0; at < f->k; at++) {
        int64_t l = order == BACKWARDS ? f->k - 1 - at : at;
        float *sum = &sums[order == FOUR ? at % 4 : order == SLICES ? at * 3 / f->k : 0];
        if (order == ROUNDED) {
            volatile float product = f->a[l] * f->b[l];
            *sum += product;
        } else {
            *sum = fmaf(f->a[l], f->b[l], *sum);
        }
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* x truncated to so many bits. */
static double to_bits(double x, int bits)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return isfinite(x) ? ldexp(trunc(ldexp(fraction, bits)), exponent - bits) : x;
}

/* With the pieces that the guard chooses for these factors, at least BF16's if bf16. */
static float sum_of_pieces(const struct factors *f, bool bf16)
{
    struct emulation_row a, b;
    struct xg_split_stats a_stats = {0}, b_stats = {0};
    if (!emulation_row_create(&a, f->a, f->k) || !emulation_row_create(&b, f->b, f->k))
        exit(XT_HARD);
    emulation_count(&a_stats, &a);
    emulation_count(&b_stats, &b);
    struct xg_split_verdict verdict = xg_split_judge(&a_stats, &b_stats, f->k);
    if (bf16 && verdict.kind == XG_SPLIT_FP16)
        verdict.kind = XG_SPLIT_BF16;
    const double sum = emulation_element(emulation_of(verdict), &a, &b);
    emulation_row_destroy(&a);
    emulation_row_destroy(&b);
    return (float)sum;
}

/* TF32 has FP32's exponents: subnormal numbers lose more. */
static double to_tf32(float x)
{
    return fabsf(x) < 0x1p-126f ? trunc((double)x * 0x1p136) * 0x1p-136 : to_bits((double)x, 11);
}

static float sum_tf32(const struct factors *f)
{
    double sum = 0;
    for (int64_t l = 0; l < f->k; l++)
        sum = to_bits(sum + to_tf32(f->a[l]) * to_tf32(f->b[l]), 24);
    return (float)sum;
}

/* Whether the sums are far from overflow. */
static bool serves_pieces(const struct factors *f)
{
    float a = 0, b = 0;
    for (int64_t l = 0; l < f->k; l++) {
        a = fmaxf(a, isnan(f->a[l]) ? INFINITY : fabsf(f->a[l]));
        b = fmaxf(b, isnan(f->b[l]) ? INFINITY : fabsf(f->b[l]));
    }
    return isfinite(a) && isfinite(b) && (double)a * (double)b < 0x1p110;
}

/* In FP32 where pieces do not serve. */
static float sum_of(const struct factors *f, enum order order)
{
    if (order < FP16X3 || !serves_pieces(f))
        return sum_in_order(f, order);
    return order == TF32 ? sum_tf32(f) : sum_of_pieces(f, order == BF16X6);
}

/* --- Products ------------------------------------------------------------------------------- */

static const float *copy_factor(float *to, const float *from, int64_t k, int64_t stride)
{
    for (int64_t l = 0; l < k; l++)
        to[l] = from[l * stride];
    return to;
}

/* A rounding mode of enter: to nearest, and subnormal numbers become zero (x86 alone). */
enum { FLUSHING = -1 };

static void enter(int rounding)
{
    fesetenv(FE_DFL_ENV);
    if (rounding != FLUSHING)
        fesetround(rounding);
#ifdef __x86_64__
    else
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

/* The CPU adds to C in the floating-point environment of the program. */
static void compute(const struct xg_problem *call, enum order order, int rounding)
{
    static float a[DEPTH_MAX], b[DEPTH_MAX];
    struct factors f = {a, b, call->k};
    for (int64_t i = 0; i < call->m; i++) {
        copy_factor(a, (const float *)call->a + (call->transa ? i : i * call->lda), call->k,
                    call->transa ? call->lda : 1);
        for (int64_t j = 0; j < call->n; j++) {
            copy_factor(b, (const float *)call->b + (call->transb ? j * call->ldb : j), call->k,
                        call->transb ? 1 : call->ldb);
            volatile float *c = (float *)call->c + i * call->ldc + j;
            volatile float product = call->alpha * sum_of(&f, order);
            enter(rounding);
            if (call->beta == 0) {
                *c = product;
            } else {
                volatile float old = call->beta * *c;
                *c = product + old;
            }
            enter(FE_TONEAREST);
        }
    }
}

static int64_t draw(uint64_t *state, int64_t least, int64_t most)
{
    return least + (int64_t)(fabsf(xt_random(state)) * (float)(most - least + 1));
}

/* Small shapes; every tenth has a large k. */
static struct fx_shape draw_shape(uint64_t *state, int64_t number)
{
    static const float alphas[] = {1.0f, 1.0f, -1.0f, 0.3f, 1e-20f, 1e20f};
    static const float betas[] = {0.0f, 0.0f, 1.0f, -0.7f, 1e-30f, 1e10f};
    return (struct fx_shape){.m = draw(state, 1, 12),
                             .n = draw(state, 1, 24),
                             .k = number % 10 ? draw(state, 1, 24) : draw(state, 25, 700),
                             .transa = number & 1,
                             .transb = number >> 1 & 1,
                             .alpha = alphas[draw(state, 0, 5)],
                             .beta = betas[draw(state, 0, 5)],
                             .pad = draw(state, 0, 3)};
}

/* The largest deviation of each order, in units of the threshold above which verification computes
 * a row again. */
static double most[ORDERS];
static int64_t rows, rows_computed, rows_skipped;

static void test_product(int64_t number, uint64_t *state)
{
    static const int roundings[] = {FE_TONEAREST, FLUSHING, FE_UPWARD, FE_TOWARDZERO};
    const struct distribution *distribution =
        &distribution_table[(number / ORDERS) % distribution_count];
    enum order order = (enum order)(number % ORDERS);
    struct fx_shape shape = draw_shape(state, number / 8);
    struct fx_product product = fx_product_create(&shape, (uint64_t)number);
    struct xg_problem *call = &product.call;
    call->lda -= shape.pad;
    call->ldb -= shape.pad;
    distribution_fill(distribution, team, (uint64_t)number, call);
    if (number % 5 == 0)
        for (size_t i = 0; i < product.c_elems; i++)
            product.c_all[i] *= 0x1p-130f;

    struct xg_verify *verify = NULL;
    struct xg_verify_report report;
    XT_CHECK(xg_verify_create(call, *state, NULL, 1, &verify) == XG_OK, "not verified");
    if (!verify)
        exit(XT_HARD);
    compute(call, order, roundings[number / 3 % 4]);
    xg_verify_check(verify,
                    order == TF32     ? XG_SUMS_TF32
                    : order >= FP16X3 ? XG_SUMS_PIECES
                                      : XG_SUMS_FP32,
                    &report);
    XT_CHECK(!report.wrong, "%ld: %s, %s, %ldx%ldx%ld alpha %g beta %g: %g, not %g +- %g",
             (long)number, distribution->name, names[order], (long)call->m, (long)call->n,
             (long)call->k, (double)call->alpha, (double)call->beta, report.value, report.exact,
             report.bound);
    most[order] = fmax(most[order], report.deviation);
    rows += report.rows;
    rows_computed += report.rows_computed;
    rows_skipped += report.rows_skipped;
    xg_verify_destroy(verify);
    fx_product_destroy(&product);
}

/* --- Doubles -------------------------------------------------------------------------------- */

enum { DOUBLE_M = 12, DOUBLE_N = 24, DOUBLE_K = 700 };

static double sum_of_doubles(const double *a, int64_t a_stride, const double *b, int64_t b_stride,
                             int64_t k, enum order order)
{
    double sums[4] = {0};
    for (int64_t at = 0; at < k; at++) {
        int64_t l = order == BACKWARDS ? k - 1 - at : at;
        double *sum = &sums[order == FOUR ? at % 4 : order == SLICES ? at * 3 / k : 0];
        volatile double product = a[l * a_stride] * b[l * b_stride];
        *sum = order == ROUNDED ? *sum + product : fma(a[l * a_stride], b[l * b_stride], *sum);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void compute_doubles(const struct xg_problem *call, enum order order, int rounding)
{
    const double *a = call->a, *b = call->b;
    for (int64_t i = 0; i < call->m; i++)
        for (int64_t j = 0; j < call->n; j++) {
            volatile double *c = (double *)call->c + i * call->ldc + j;
            volatile double product =
                call->alpha * sum_of_doubles(a + (call->transa ? i : i * call->lda),
                                             call->transa ? call->lda : 1,
                                             b + (call->transb ? j * call->ldb : j),
                                             call->transb ? 1 : call->ldb, call->k, order);
            enter(rounding);
            volatile double old = call->beta == 0 ? 0 : call->beta * *c;
            *c = call->beta == 0 ? product : product + old;
            enter(FE_TONEAREST);
        }
}

/* The numbers differ by factors of up to 2^(2 spread); every 40th operand has a NaN, an infinity or
 * a zero. */
static void draw_doubles(double *x, int64_t count, double spread, double scale, uint64_t *state)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0};
    for (int64_t i = 0; i < count; i++)
        x[i] = ((double)xt_random(state) + 0x1p-25 * (double)xt_random(state)) * scale *
               exp2(spread * (double)xt_random(state));
    if (draw(state, 0, 39) == 0)
        x[draw(state, 0, count - 1)] = odd[draw(state, 0, 3)];
}

static void test_doubles(int64_t number, uint64_t *state)
{
    static double a[DOUBLE_M * DOUBLE_K], b[DOUBLE_N * DOUBLE_K], c[DOUBLE_M * DOUBLE_N];
    static const int roundings[] = {FE_TONEAREST, FLUSHING, FE_UPWARD, FE_TOWARDZERO};
    static const double spreads[] = {0, 3, 40, 250, 500}, scales[] = {1, 1, 0x1p500, 0x1p-530};
    static const double alphas[] = {1, 1, -1, 0.3, 1e-200, 1e200},
                        betas[] = {0, 0, 1, -0.7, 1e-300};
    const struct fx_shape shape = draw_shape(state, number);
    struct xg_problem call =
        xt_problem(XG_TYPE_D, shape.m, shape.n, shape.k, shape.transa, shape.transb, a, b, c);
    call.alpha = alphas[draw(state, 0, 5)];
    call.beta = betas[draw(state, 0, 4)];
    draw_doubles(a, shape.m * shape.k, spreads[draw(state, 0, 4)], scales[draw(state, 0, 3)],
                 state);
    draw_doubles(b, shape.n * shape.k, spreads[draw(state, 0, 4)], scales[draw(state, 0, 3)],
                 state);
    draw_doubles(c, shape.m * shape.n, spreads[draw(state, 0, 4)], scales[draw(state, 0, 3)],
                 state);
    struct xg_verify *verify = NULL;
    struct xg_verify_report report;
    if (xg_verify_create(&call, *state, NULL, 1, &verify) != XG_OK)
        exit(XT_HARD);
    compute_doubles(&call, (enum order)(number % FP16X3), roundings[number / 3 % 4]);
    xg_verify_check(verify, XG_SUMS_FP32, &report);
    XT_CHECK(!report.wrong, "%ld: doubles, %s, %ldx%ldx%ld alpha %g beta %g: %g, not %g +- %g",
             (long)number, names[number % FP16X3], (long)call.m, (long)call.n, (long)call.k,
             call.alpha, call.beta, report.value, report.exact, report.bound);
    XT_CHECK(report.deviation <= 1e9, "%g is no figure", report.deviation);
    xg_verify_destroy(verify);
}

/* Sums whose roundings all have one sign: verification computes rows again, and none is wrong. */
static void test_constant(float a, float b, enum order order)
{
    const struct fx_shape shape = {6, 40, DEPTH_MAX, false, true, 1, 0, 0};
    struct fx_product product = fx_product_create(&shape, 1);
    struct xg_problem *call = &product.call;
    struct xg_verify *verify = NULL;
    struct xg_verify_report report;
    for (int64_t i = 0; i < call->m * call->k; i++)
        product.a[i] = a;
    for (int64_t i = 0; i < call->n * call->k; i++)
        product.b[i] = b;
    if (xg_verify_create(call, 1, NULL, 1, &verify) != XG_OK)
        exit(XT_HARD);
    compute(call, order, FE_TONEAREST);
    xg_verify_check(verify, order < FP16X3 ? XG_SUMS_FP32 : XG_SUMS_PIECES, &report);
    XT_CHECK(!report.wrong, "%s of %g x %g: %g, not %g +- %g", names[order], (double)a, (double)b,
             report.value, report.exact, report.bound);
    XT_CHECK(order >= FP16X3 || report.rows_computed == XG_VERIFY_ROWS, "%s: %g of a threshold",
             names[order], report.deviation);
    /* The worst row is among those that are computed again. */
    ((float *)call->c)[5 * call->ldc + 7] *= 1.5f;
    xg_verify_check(verify, order < FP16X3 ? XG_SUMS_FP32 : XG_SUMS_PIECES, &report);
    XT_CHECK(report.wrong && report.row == 5 && report.column == 7, "%s: not found", names[order]);
    xg_verify_destroy(verify);
    fx_product_destroy(&product);
}

int main(void)
{
    const char *wanted = getenv("XT_VERIFY_PRODUCTS");
    int64_t count = wanted ? atoll(wanted) : fx_short() ? PRODUCTS_SHORT : PRODUCTS;
    uint64_t state = 1;
    if (xg_team_create(1, &team) != XG_OK)
        return XT_HARD;
    for (int64_t number = 0; number < count; number++) {
        test_product(number, &state);
        test_doubles(number, &state);
    }
    xg_team_destroy(team);
    test_constant(0.1f, 0.3f, FMA);
    test_constant(0.1f, 0.3f, BACKWARDS);
    test_constant(0.1f, 0.3f, FP16X3);
    test_constant(0.7f, 0.3f, BF16X6);
    printf("%ld products, %ld rows: %ld computed again, %ld skipped; most of a threshold:",
           (long)count, (long)rows, (long)rows_computed, (long)rows_skipped);
    for (int order = 0; order < ORDERS; order++)
        printf(" %s %.2g", names[order], most[order]);
    printf("\n");
    /* The test means something only if some rows exceeded the threshold and few were skipped. */
    XT_CHECK(rows_computed > 0 && rows_skipped < rows / 10, "%ld of %ld rows skipped",
             (long)rows_skipped, (long)rows);
    return xt_done();
}
