/* SPDX-License-Identifier: MIT */
/* Verification finds errors of the sizes and with the probabilities that verify.h promises.
 * Contract 9.6. */
#include <fenv.h>
#include <math.h>

#include "src/verify/verify.h"
#include "tests/support/guarded.h"
#include "tests/support/typed.h"

static struct xg_team *team;

/* --- A second statement of the bounds -------------------------------------------------------- */

static double a_at(const struct xg_problem *p, int64_t i, int64_t l)
{
    return (double)((const float *)p->a)[p->transa ? l * p->lda + i : i * p->lda + l];
}

static double b_at(const struct xg_problem *p, int64_t l, int64_t j)
{
    return (double)((const float *)p->b)[p->transb ? j * p->ldb + l : l * p->ldb + j];
}

/* The threshold of floats above which verification computes row i again. */
static double threshold_of(const struct fx_product *product, int64_t i)
{
    const struct xg_problem *p = &product->call;
    double sum = 0, old = 0;
    for (int64_t l = 0; l < p->k; l++) {
        double squares = 0;
        for (int64_t j = 0; j < p->n; j++)
            squares += b_at(p, l, j) * b_at(p, l, j);
        sum += fabs(a_at(p, i, l)) * sqrt(squares);
    }
    for (int64_t j = 0; p->beta != 0 && j < p->n; j++) {
        double c0 = (double)product->c_before[FX_GUARD + i * p->ldc + j];
        old += c0 * c0;
    }
    double share = (sqrt((double)p->k) / 2 + 4) * fabs((double)p->alpha) * sum +
                   4 * fabs((double)p->beta) * sqrt(old);
    return fmin(8, sqrt((double)p->n)) * share * 0x1p-24;
}

/* The largest error of element (i,j) that passes. */
static double bound_of(const struct fx_product *product, int64_t i, int64_t j)
{
    const struct xg_problem *p = &product->call;
    float c0 = p->beta == 0 ? 0 : product->c_before[FX_GUARD + i * p->ldc + j];
    double scale = (double)xg_cpu_exact(p, i, j, &c0).magnitude;
    double old = fabs((double)p->beta * (double)c0);
    return ((double)(p->k + 12) * (scale - old) + 4 * old) * 0x1p-24;
}

/* --- One product ----------------------------------------------------------------------------- */

/* C, each element rounded once. */
static void compute(struct fx_product *product)
{
    const struct xg_problem *p = &product->call;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float c0 = product->c_before[FX_GUARD + i * p->ldc + j];
            ((float *)p->c)[i * p->ldc + j] = (float)xg_cpu_exact(p, i, j, &c0).re;
        }
}

static struct xg_verify *create(const struct fx_product *product, uint64_t seed)
{
    struct xg_verify *verify = NULL;
    enum xg_status status =
        xg_verify_create(&product->call, seed, team, xg_team_size(team), &verify);
    XT_CHECK(status == XG_OK, "status %d", status);
    if (!verify)
        exit(XT_HARD);
    return verify;
}

/* Verifies the product with `wrong` added to element (i,j) of a right one. */
static struct xg_verify_report check_with(struct fx_product *product, uint64_t seed, int64_t i,
                                          int64_t j, double wrong)
{
    struct xg_verify_report report;
    fx_product_reset(product);
    struct xg_verify *verify = create(product, seed);
    compute(product);
    float *c = &((float *)product->call.c)[i * product->call.ldc + j];
    *c = (float)((double)*c + wrong);
    xg_verify_check(verify, XG_SUMS_FP32, &report);
    xg_verify_destroy(verify);
    return report;
}

static const struct fx_shape shapes[] = {
    {37, 45, 53, false, false, 1, 0, 0},     {37, 45, 53, false, true, -0.5f, 0, 3},
    {37, 45, 53, true, false, 1, 1, 5},      {37, 45, 53, true, true, 2, -0.3f, 1},
    {600, 20, 9, false, false, 1, 0, 2},     {5, 700, 130, true, false, 3, 0, 0},
    {1, 60, 1100, false, true, 1, 0.5f, 0},  {64, 1, 70, true, true, 1, 0, 4},
    {130, 129, 1, false, false, 1, 0.25f, 0}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* --- Found ----------------------------------------------------------------------------------- */

/*
 * One wrong element, anywhere: verification finds an error of twice the row's threshold that
 * exceeds the element's bound, and never calls an element within the bound wrong.
 */
static void test_element(const struct fx_shape *shape, uint64_t *state)
{
    enum { TIMES = 60 };
    struct fx_product product = fx_product_create(shape, *state);
    compute(&product);
    for (int time = 0; time < TIMES; time++) {
        int64_t i = (int64_t)(fabsf(xt_random(state)) * (float)shape->m);
        int64_t j = (int64_t)(fabsf(xt_random(state)) * (float)shape->n);
        double sign = time & 1 ? 1 : -1, bound = bound_of(&product, i, j);
        double sure = fmax(2 * threshold_of(&product, i), bound);
        double half_step =
            fabs((double)((float *)product.call.c)[i * product.call.ldc + j]) * 0x1p-24;
        struct xg_verify_report report =
            check_with(&product, *state, i, j, sign * (1.05 * sure + half_step));
        XT_CHECK(report.wrong && report.row == i && report.column == j,
                 "%ldx%ldx%ld (%ld,%ld): off by %g: %s", (long)shape->m, (long)shape->n,
                 (long)shape->k, (long)i, (long)j, sure, report.wrong ? "elsewhere" : "not found");
        report = check_with(&product, *state, i, j, sign * (0.95 * bound - half_step));
        XT_CHECK(!report.wrong, "(%ld,%ld): %g within %g", (long)i, (long)j, 0.95 * bound, bound);
        report = check_with(&product, *state, i, j, 0);
        XT_CHECK(!report.wrong && report.rows_computed == 0 && report.deviation < 0.5,
                 "right: %g of a threshold", report.deviation);
    }
    fx_product_destroy(&product);
}

/*
 * Two errors of one size are the hardest to find in a row, because half of all signs cancel them:
 * 1 - 2^-XG_VERIFY_VECTORS of the seeds find them.
 */
static void test_chance(void)
{
    enum { SEEDS = 2000 };
    const struct fx_shape shape = {20, 300, 12, false, false, 1, 0, 0};
    struct fx_product product = fx_product_create(&shape, 5);
    double sure = 0, expected = 1 - exp2(-XG_VERIFY_VECTORS);
    int found = 0;
    for (int64_t j = 0; j < 2; j++)
        sure = fmax(sure, fmax(threshold_of(&product, 7), bound_of(&product, 7, 30 * j)));
    compute(&product);
    ((float *)product.call.c)[7 * product.call.ldc] += (float)(3 * sure);
    ((float *)product.call.c)[7 * product.call.ldc + 30] += (float)(3 * sure);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct xg_verify_report report;
        struct xg_verify *verify = create(&product, seed);
        xg_verify_check(verify, XG_SUMS_FP32, &report);
        found += report.wrong;
        xg_verify_destroy(verify);
    }
    double off = 5 * sqrt(expected * (1 - expected) / SEEDS);
    XT_CHECK(fabs((double)found / SEEDS - expected) <= off, "%d of %d", found, SEEDS);
    fx_product_destroy(&product);
}

/* Typical results of a faulty device or library. */
enum fault { STALE, TRANSPOSED, TILE, COLUMN, ROWS_SWAPPED, SIGN, BETA, ALPHA, FAULTS };
static const char *const fault_names[] = {"nothing was written", "op(A) transposed", "another tile",
                                          "a column of zeros",   "two rows swapped", "one sign",
                                          "beta forgotten",      "alpha forgotten"};

static void break_it(struct fx_product *product, enum fault fault)
{
    struct xg_problem *p = &product->call, other = *p;
    float *c = p->c;
    if (fault == STALE) {
        fx_product_reset(product);
    } else if (fault == TRANSPOSED || fault == BETA || fault == ALPHA) {
        fx_product_reset(product);
        other.transa ^= fault == TRANSPOSED;
        other.beta = fault == BETA ? 0 : other.beta;
        other.alpha = fault == ALPHA ? 1 : other.alpha;
        xg_cpu_compute(&other);
    } else if (fault == TILE) {
        for (int64_t i = 0; i < 16; i++)
            memcpy(c + i * p->ldc, c + (i + 32) * p->ldc + 16, 16 * sizeof *c);
    } else if (fault == COLUMN) {
        for (int64_t i = 0; i < p->m; i++)
            c[i * p->ldc + 3] = 0;
    } else if (fault == ROWS_SWAPPED) {
        for (int64_t j = 0; j < p->n; j++) {
            float kept = c[j];
            c[j] = c[p->ldc + j];
            c[p->ldc + j] = kept;
        }
    } else {
        c[p->ldc + 1] = -c[p->ldc + 1];
    }
}

static void test_faults(void)
{
    const struct fx_shape square = {80, 80, 80, false, true, 1.5f, 0.5f, 2};
    struct fx_product product = fx_product_create(&square, 11);
    for (int fault = 0; fault < FAULTS; fault++) {
        struct xg_verify_report report;
        fx_product_reset(&product);
        struct xg_verify *verify = create(&product, (uint64_t)fault);
        compute(&product);
        break_it(&product, (enum fault)fault);
        xg_verify_check(verify, XG_SUMS_FP32, &report);
        XT_CHECK(report.wrong, "%s: %g of a threshold", fault_names[fault], report.deviation);
        /* It restores every bit of C, and nothing beside C. */
        xg_verify_restore(verify);
        XT_CHECK(fx_untouched(&product), "%s", fault_names[fault]);
        xg_verify_destroy(verify);
    }
    fx_product_destroy(&product);
}

static void test_skipped(void)
{
    const struct fx_shape shape = {50, 20, 30, false, false, 1, 0, 0};
    struct fx_product product = fx_product_create(&shape, 3);
    for (int i = 10; i < 30; i++)
        product.a[i * product.call.lda + 7] = NAN;
    struct xg_verify_report report = check_with(&product, 1, 40, 3, 1.0);
    XT_CHECK(report.wrong && report.row == 40, "beside rows of NaN");
    XT_CHECK(report.rows_skipped == 20 - XG_VERIFY_ROWS, "%ld skipped", (long)report.rows_skipped);
    fx_product_destroy(&product);
}

/* --- Either type ----------------------------------------------------------------------------- */

enum { DM = 23, DN = 77, DK = 91 };

/* Operands of one size, of floats or doubles, and C = op(A) op(B) / 2 - C / 4, or without C. */
struct numbers {
    double a[DM * DK], b[DK * DN], before[DM * DN], c[DM * DN];
    struct xg_problem call;
};

/* form: bits of transposes (1, 2), of beta (4), of positive numbers (8) and of scales whose squares
 * overflow and underflow (32). spread: of the exponents. */
static void fill(struct numbers *d, enum xg_type type, int form, double spread)
{
    uint64_t state = (uint64_t)form + 1;
    double *parts[] = {d->a, d->b, d->before};
    const int counts[] = {DM * DK, DK * DN, DM * DN};
    const double scales[] = {0x1p560, 0x1p-560, 1};
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < counts[part]; i++) {
            double x = xt_random(&state) + 0x1p-30 * xt_random(&state);
            xt_set(type, parts[part], i,
                   (form & 8 ? fabs(x) : x) * exp2(spread * xt_random(&state)) *
                       (form & 32 ? scales[part] : 1));
        }
    d->call = xt_problem(type, DM, DN, DK, form & 1, form & 2, d->a, d->b, d->c);
    d->call.alpha = 0.5;
    d->call.beta = form & 4 ? -0.25 : 0;
}

/* Begins the check, and computes C. */
static struct xg_verify *begin(struct numbers *d, uint64_t seed)
{
    struct xg_verify *verify = NULL;
    memcpy(d->c, d->before, sizeof d->c);
    if (xg_verify_create(&d->call, seed, team, xg_team_size(team), &verify) != XG_OK)
        exit(XT_HARD);
    xg_cpu_compute(&d->call);
    return verify;
}

static struct xg_verify_report end(struct xg_verify *verify)
{
    struct xg_verify_report report;
    xg_verify_check(verify, XG_SUMS_FP32, &report);
    xg_verify_destroy(verify);
    return report;
}

/* Returns |alpha| |op(A)| |op(B)| of an element; *row: row i's sum of |alpha| |a| times a bound of
 * b's norms. */
static double magnitude_of(const struct numbers *d, int64_t i, int64_t j, double *row)
{
    const struct xg_problem *p = &d->call;
    double sum = 0;
    *row = 0;
    for (int64_t l = 0; l < DK; l++) {
        double a = fabs(d->a[p->transa ? l * DM + i : i * DK + l]), largest = 0;
        sum += a * fabs(d->b[p->transb ? j * DK + l : l * DN + j]);
        for (int64_t c = 0; c < DN; c++) {
            double b = d->b[p->transb ? c * DK + l : l * DN + c];
            largest = fmax(largest, fabs(b));
        }
        *row += a * largest * sqrt(DN);
    }
    *row *= 0.5;
    return 0.5 * sum;
}

/* A right product passes, and no row is computed again; an error above the row's threshold is
 * found. */
static void test_doubles(void)
{
    static struct numbers d;
    for (int form = 0; form < 64; form++) {
        fill(&d, XG_TYPE_D, form, form & 16 ? 40 : 1);
        struct xg_verify_report report = end(begin(&d, (uint64_t)form));
        XT_CHECK(!report.wrong && report.rows_computed == 0 && report.rows_skipped == 0 &&
                     report.deviation < 0.5,
                 "form %d: right, %g of a threshold", form, report.deviation);
        const int64_t i = form % DM, j = 3 * form % DN;
        double row, size = magnitude_of(&d, i, j, &row), old = fabs(d.before[i * DN + j]);
        double threshold = 8 * 0x1p-53 *
                           (row * (2.5 * sqrt(DK) + sqrt(DN) + 12) +
                            0.25 * sqrt(DN) * (form & 4 ? 40 * old + 40 * exp2(40) : 0));
        double off = fmax(2.1 * threshold, 2.1 * (DK + 12) * 0x1p-53 * (size + old));
        struct xg_verify *verify = begin(&d, (uint64_t)form);
        d.c[i * DN + j] += form & 32 ? -off : off;
        report = end(verify);
        XT_CHECK(report.wrong && report.row == i && report.column == j,
                 "form %d: off by %g, not found", form, off);
        verify = begin(&d, (uint64_t)form);
        d.c[i * DN + j] += 0.9 * (DK + 12) * 0x1p-53 * size;
        XT_CHECK(!end(verify).wrong, "form %d: within the bound", form);
        verify = begin(&d, (uint64_t)form);
        memset(d.c, 0, sizeof d.c);
        xg_verify_restore(verify);
        XT_CHECK(!memcmp(d.c, form & 4 ? d.before : (double[DM * DN]){0}, sizeof d.c), "restored");
        xg_verify_destroy(verify);
    }
}

/* An error between the threshold and the bound: verification computes the row again, and it passes.
 */
static void test_doubted_double(void)
{
    enum { K = 5000 };
    static double a[K], b[K];
    double c = 0;
    uint64_t state = 7;
    struct xg_problem p = xt_problem(XG_TYPE_D, 1, 1, K, false, false, a, b, &c);
    struct xg_verify *verify = NULL;
    for (int l = 0; l < K; l++) {
        a[l] = 1 + fabs(xt_random(&state));
        b[l] = 1 + fabs(xt_random(&state));
    }
    if (xg_verify_create(&p, 1, team, 1, &verify) != XG_OK)
        exit(XT_HARD);
    xg_cpu_compute(&p);
    c *= 1 + 0.9 * K * 0x1p-53;
    struct xg_verify_report report = end(verify);
    XT_CHECK(!report.wrong && report.rows_computed == 1, "%g of a threshold", report.deviation);
}

/* NaN, infinities, and numbers whose squares or sums overflow. Where a sum of doubles overflows,
 * verify.h allows more values. */
struct odd {
    const char *name;
    double a, b, c0; /* put into op(A)(1,2), op(B)(3,2) and C(1,2); 0: left; LARGE: see large_of */
    double value;    /* put into C(1,2) of the right result; 0: left */
    bool overflows;  /* op(A)(1,4) is large_of the type, and op(B)(4,2) is minus that */
    bool wrong_float, wrong_double;
};
enum { LARGE = 3 };

/* Its square overflows. */
static double large_of(enum xg_type type)
{
    return type == XG_TYPE_D ? 1e200 : 1e30;
}

static const struct odd odds[] = {
    {"NaN in A", NAN, 0, 0, 0, false, false, false},
    {"NaN swallowed", NAN, 0, 0, 1, false, true, true},
    {"NaN swallowed where sums overflow", NAN, 0, 0, 1, true, true, true},
    {"NaN from nowhere", 0, 0, 0, NAN, false, true, true},
    {"infinity in A", INFINITY, 0, 0, 0, false, false, false},
    {"infinity in B", 0, INFINITY, 0, 0, false, false, false},
    {"infinity in C", 0, 0, -INFINITY, 0, false, false, false},
    {"infinities in A and B", INFINITY, -INFINITY, 0, 0, false, false, false},
    {"infinity of A swallowed", INFINITY, 0, 0, 1, false, true, true},
    {"infinity of B swallowed", 0, INFINITY, 0, 1, false, true, true},
    {"infinity of C swallowed", 0, 0, INFINITY, 5, false, true, true},
    {"infinity turned", INFINITY, 0, 0, 0, false, true, false},
    {"infinity for NaN", 0, 0, NAN, INFINITY, false, true, true},
    {"infinity where sums overflow", INFINITY, 0, 0, INFINITY, true, false, false},
    {"infinity from nowhere", 0, 0, 0, INFINITY, false, true, true},
    {"squares overflow", 0, LARGE, 0, 0, false, false, false},
    {"squares overflow, and an element is wrong", 0, LARGE, 0, LARGE, false, true, true},
    {"sums overflow", 0, 0, 0, 7, true, true, false},
};

static void test_odd(enum xg_type type, const struct odd *odd)
{
    static struct numbers d;
    const double large = large_of(type);
    const bool wrong = type == XG_TYPE_D ? odd->wrong_double : odd->wrong_float;
    enum { A = 1 * DK + 2, B = 3 * DN + 2, C = 1 * DN + 2 };
    fill(&d, type, odd->c0 != 0 ? 4 : 0, 1);
    d.call.m = 4; /* all rows can be computed again */
    if (odd->a != 0)
        xt_set(type, d.a, A, odd->a);
    if (odd->b != 0)
        xt_set(type, d.b, B, odd->b == LARGE ? large : odd->b);
    if (odd->c0 != 0)
        xt_set(type, d.before, C, odd->c0);
    if (odd->overflows) {
        xt_set(type, d.a, A + 2, large);
        xt_set(type, d.b, B + DN, -large);
    }
    struct xg_verify *verify = begin(&d, 9);
    if (odd->value != 0)
        xt_set(type, d.c, C, odd->value == LARGE ? 3 * large : odd->value);
    if (!strcmp(odd->name, "infinity turned"))
        xt_set(type, d.c, C, -xt_get(type, d.c, C));
    struct xg_verify_report report = end(verify);
    XT_CHECK(report.wrong == wrong, "type %d, %s: (%ld,%ld) is %g, not %g", type, odd->name,
             (long)report.row, (long)report.column, report.value, report.exact);
    XT_CHECK(report.rows_skipped == 0, "%s: %ld skipped", odd->name, (long)report.rows_skipped);
}

/* --- Which products ------------------------------------------------------------------------ */

static void test_declined(void)
{
    static float a[4], b[4], c[4];
    struct xg_problem p = {.m = 1 << 14, .n = 1 << 13, .k = 1, .alpha = 1, .beta = 1};
    struct xg_verify *verify = NULL;
    p.a = a, p.b = b, p.c = c;
    p.lda = p.ldb = p.ldc = 1 << 14;
    XT_CHECK(xg_verify_create(&p, 1, NULL, 1, &verify) == XG_DECLINED, "512 MiB to copy");
    p.m = p.n = 1;
    p.alpha = NAN;
    XT_CHECK(xg_verify_create(&p, 1, NULL, 1, &verify) == XG_DECLINED, "alpha is NaN");
    p.alpha = 1;
    p.beta = INFINITY;
    XT_CHECK(xg_verify_create(&p, 1, NULL, 1, &verify) == XG_DECLINED, "beta is infinite");
    p.beta = 0;
    p.c = a;
    XT_CHECK(xg_verify_create(&p, 1, NULL, 1, &verify) == XG_DECLINED, "C is A");
}

static void test_samples(void)
{
    enum { NUMBERS = 1000000, PERIOD = 100 };
    long all = 0, periodic = 0;
    for (uint64_t number = 0; number < NUMBERS; number++) {
        bool sampled = xg_verify_samples(number, 0.01);
        all += sampled;
        periodic += sampled && number % PERIOD == 0;
        XT_CHECK(xg_verify_samples(number, 1) && !xg_verify_samples(number, 0), "always, never");
    }
    XT_CHECK(labs(all - 10000) < 500, "%ld of a million", all);
    XT_CHECK(labs(periodic - 100) < 50, "%ld of every hundredth", periodic);
}

/* --- Surroundings ------------------------------------------------------------------------------
 */

/* The program flushes subnormal numbers to zero and rounds upwards, which would change these
 * results. A team's threads inherit the floating-point environment of their creator. */
static void test_environment(void)
{
    const struct fx_shape shape = {6000, 8, 400, false, true, 1, 0.5f, 0};
    struct fx_product product = fx_product_create(&shape, 4);
    struct xg_team *kept = team;
    struct xg_verify_report report;
    for (int64_t i = 0; i < shape.m * shape.k; i++)
        product.a[i] *= 0x1p-135f;
    for (int64_t i = 0; i < shape.n * shape.k; i++)
        product.b[i] *= 0x1p100f;
    for (size_t i = 0; i < product.c_elems; i++)
        product.c_before[i] *= 0x1p-35f;
    fx_product_reset(&product);
#ifdef __x86_64__
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040);
#endif
    fesetround(FE_UPWARD);
    if (xg_team_create(3, &team) != XG_OK)
        exit(XT_HARD);
    feclearexcept(FE_ALL_EXCEPT);
    struct xg_verify *verify = create(&product, 3);
    int flags = fetestexcept(FE_ALL_EXCEPT), rounding = fegetround();
    fesetenv(FE_DFL_ENV);
    compute(&product);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(before | 0x8040);
#endif
    xg_verify_check(verify, XG_SUMS_FP32, &report);
#ifdef __x86_64__
    XT_CHECK((__builtin_ia32_stmxcsr() & 0xffc0) == ((before | 0x8040) & 0xffc0), "MXCSR");
    __builtin_ia32_ldmxcsr(before);
#endif
    XT_CHECK(flags == 0 && rounding == FE_UPWARD, "flags %x", (unsigned)flags);
    XT_CHECK(!report.wrong && report.rows_computed == 0, "%g of a threshold", report.deviation);
    xg_verify_destroy(verify);
    xg_team_destroy(team);
    team = kept;
    fx_product_destroy(&product);
}

/* Operands at odd addresses. */
static void test_unaligned(void)
{
    enum { M = 9, N = 21, K = 33 };
    static char a[4 * M * K + 1], b[4 * K * N + 2], c[4 * M * N + 3];
    static float values[M * K + K * N], right[M * N];
    uint64_t state = 8;
    struct xg_problem p = {.m = M, .n = N, .k = K, .alpha = 1, .lda = K, .ldb = N, .ldc = N};
    struct xg_verify_report report;
    struct xg_verify *verify = NULL;
    for (int i = 0; i < M * K + K * N; i++)
        values[i] = xt_random(&state);
    p.a = values, p.b = values + M * K, p.c = right;
    xg_cpu_compute(&p);
    memcpy(a + 1, values, 4 * M * K);
    memcpy(b + 2, values + M * K, 4 * K * N);
    memcpy(c + 3, right, sizeof right);
    p.a = (void *)(a + 1), p.b = (void *)(b + 2), p.c = (void *)(c + 3);
    if (xg_verify_create(&p, 1, team, 2, &verify) != XG_OK)
        exit(XT_HARD);
    xg_verify_check(verify, XG_SUMS_FP32, &report);
    XT_CHECK(!report.wrong && report.rows_computed == 0, "right");
    c[3 + 4 * 50 + 3] ^= 2;
    xg_verify_check(verify, XG_SUMS_FP32, &report);
    XT_CHECK(report.wrong && report.row == 50 / N && report.column == 50 % N, "wrong");
    xg_verify_destroy(verify);
}

int main(void)
{
    uint64_t state = 1;
    fx_watchdog();
    for (int threads = 1; threads <= 3; threads += 2) {
        if (xg_team_create(threads, &team) != XG_OK)
            return XT_HARD;
        for (int s = 0; s < SHAPES; s++)
            test_element(&shapes[s], &state);
        test_faults();
        for (size_t i = 0; i < sizeof odds / sizeof odds[0]; i++) {
            test_odd(XG_TYPE_S, &odds[i]);
            test_odd(XG_TYPE_D, &odds[i]);
        }
        test_skipped();
        test_environment();
        test_unaligned();
        test_doubles();
        test_doubted_double();
        if (threads == 1)
            test_chance();
        xg_team_destroy(team);
    }
    test_declined();
    test_samples();
    return xt_done();
}
