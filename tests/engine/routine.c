/* SPDX-License-Identifier: MIT */
/* LAPACK's routines through a lane: results are right for all types and shapes, and a fault loses
 * nothing. Contract 1.3 (doc/contract.md). */
#include "src/pipeline/factor.h"

#include <sys/mman.h>

#include "lane.h"
#include "src/compute/cublas.h"
#include "src/compute/solver_library.h"
#include "src/pipeline/least_squares.h"
#include "src/verify/block.h"
#include "src/verify/residual.h"
#include "tests/support/dense.h"
#include "tests/support/routines.h"

static struct fakecuda fake;
static struct xg_lane *lane;
static long factored[2]; /* faults behind R and Qᴴ B, by whether the status is XG_OK */

/* --- Right ----------------------------------------------------------------------------------- */

static enum xg_status run(const struct xg_routine *routine)
{
    struct xg_result result;
    enum xg_status status = xg_routine_run(lane, routine, &result);
    xg_least_squares_finish(routine, &result);
    XT_CHECK(status == XG_OK, "%s of %lld by %lld: %s", judge_text(routine), (long long)routine->m,
             (long long)routine->n, xg_status_name(status));
    XT_CHECK(result.up_bytes > 0 && result.down_bytes > 0, "nothing moved");
    XT_CHECK(!(result.factored && routine->decomposes), "%s: left to the CPU", judge_text(routine));
    return status;
}

static void test_type(rx_run *each, enum xg_type type, int64_t n, int64_t pad)
{
    const int64_t k = n / 2 + 1, wide = n + n / 3 + 1;
    for (int lower = 0; lower <= 1; lower++) {
        const enum xg_uplo uplo = lower ? XG_LOWER : XG_UPPER;
        rx_cholesky(each, type, uplo, n, k, pad);
        rx_triangle(each, type, uplo, false, n, pad);
        if (n > 1)
            rx_triangle(each, type, uplo, true, n, pad);
        for (int vectors = 0; vectors <= 1; vectors++) {
            rx_eigen(each, type, uplo, n, pad, vectors, false, RX_RANDOM);
            rx_eigen(each, type, uplo, n, pad, vectors, true, RX_DEFICIENT);
            rx_some_eigen(each, type, uplo, n, pad, vectors, n / 3, n / 2 + 1);
            rx_generalized(each, type, uplo, n, pad, vectors, 1 + lower + vectors);
        }
    }
    rx_general(each, type, n, pad, false);
    rx_general(each, type, n, pad, true);
    rx_lu(each, type, n, n, k, pad, 4);
    rx_lu(each, type, n, wide, k, pad, 8);
    rx_lu(each, type, wide, n, k, pad, 4);
    rx_qr(each, type, wide, n, k, pad);
    rx_qr(each, type, n, wide, k, pad);
    rx_squares(each, type, wide, n, k, pad);
    rx_squares(each, type, n, n, 1, pad);
    for (int vectors = XG_VECTORS_NONE; vectors <= XG_VECTORS_ALL; vectors++)
        for (int spectrum = RX_RANDOM; spectrum <= RX_DEFICIENT; spectrum++) {
            rx_singular(each, type, wide, n, pad, (enum xg_vectors)vectors,
                        (enum rx_spectrum)spectrum);
            rx_singular(each, type, n, wide, pad, (enum xg_vectors)vectors,
                        (enum rx_spectrum)spectrum);
        }
}

/* Sizes around one chunk, and more columns than a worker takes at once. Every second size runs as
 * on a device whose doubles are slow. */
static void test_right(void)
{
    static const int64_t sizes[] = {1, 2, 7, 33, 150};
    const int kept = lane->dev->facts.fp64_ratio;
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] - (fx_short() ? 1 : 0); i++) {
            lane->dev->facts.fp64_ratio = i % 2 ? 64 : kept;
            test_type(run, (enum xg_type)type, sizes[i], i % 2 ? 3 : 0);
        }
    lane->dev->facts.fp64_ratio = kept;
    rx_balanced(run, XG_TYPE_D, 40);
    rx_balanced(run, XG_TYPE_Z, 40);
}

/* --- What tests share ------------------------------------------------------------------------ */

/* The call, and a copy of its operands. */
static struct xg_routine copy_of(const struct xg_routine *routine)
{
    struct xg_routine copy = *routine;
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++) {
        size_t bytes = xg_routine_span_bytes(routine, (enum xg_slot)slot);
        if (!routine->operand[slot].at)
            continue;
        copy.operand[slot].at = malloc(bytes);
        if (!copy.operand[slot].at)
            exit(XT_HARD);
        memcpy(copy.operand[slot].at, routine->operand[slot].at, bytes);
    }
    return copy;
}

static void free_copy(struct xg_routine *copy)
{
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++)
        free(copy->operand[slot].at);
}

/* Frees the copy. same: the operands that the routine reads must be unchanged. */
static void check_copy(struct xg_routine *copy, const struct xg_routine *routine, bool same)
{
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++)
        if (same && routine->operand[slot].at &&
            xg_routine_use(routine->name, (enum xg_slot)slot)->in)
            XT_CHECK(!memcmp(copy->operand[slot].at, routine->operand[slot].at,
                             xg_routine_span_bytes(routine, (enum xg_slot)slot)),
                     "%s: operand %d has changed", judge_text(routine), slot);
    free_copy(copy);
}

/* --- Verified -------------------------------------------------------------------------------- */
/* Contract 9.6. */

static double largest_residual;
static bool covered[XG_ROUTINE_COUNT];

static double residual_of(const struct xg_routine *before, const struct xg_routine *after)
{
    struct xg_residual residual;
    enum xg_status status = xg_residual_measure(before, after, 5, NULL, 1, &residual);
    bool able = xg_residual_covers(before);
    XT_CHECK(status == (able ? XG_OK : XG_DECLINED), "%s: %s", judge_text(before),
             xg_status_name(status));
    return able && status == XG_OK ? residual.units : 0;
}

/* One number of a result is changed: each result has a residual that shows it. */
static void check_found(const struct xg_routine *before, const struct xg_routine *after,
                        enum xg_slot slot)
{
    const struct xg_use *use = xg_routine_use(after->name, slot);
    const struct xg_matrix *host = &after->operand[slot];
    const size_t bytes = xg_routine_slot_bytes(after, slot);
    const bool wide = xg_type_is_double(after->type);
    int64_t j = host->columns / 3, i = (2 * host->rows) / 3;
    if (use->triangle && after->uplo == XG_UPPER)
        i = j;
    char *at = (char *)host->at + (size_t)(j * host->ld + i) * bytes;
    const struct xg_block_matrix operand = {.matrix = *host,
                                            .type = xg_routine_slot_type(after, slot),
                                            .part = use->triangle ? after->uplo : XG_FULL};
    static struct xg_block_row room[256];
    char kept[16];
    memcpy(kept, at, bytes);
    for (int other = 0; other < 2; other++) {
        const double norm = xg_block_measure(&operand, room, NULL, 1).norm;
        const double value = other ? 1e25 : norm > 0 ? 2 * norm : 1;
        if (wide)
            *(double *)at += value;
        else
            *(float *)at += (float)value;
        double units = residual_of(before, after);
        XT_CHECK(!(units <= XG_RESIDUAL_BOUND), "%s: %g more in operand %d: only %g units",
                 judge_text(after), value, slot, units);
        memcpy(at, kept, bytes);
    }
}

static enum xg_status run_verified(const struct xg_routine *routine)
{
    static uint64_t seed;
    struct xg_result result;
    struct xg_routine before = copy_of(routine);
    const bool able = xg_residual_covers(routine);
    const bool judged = able || routine->decomposes; /* GESDD of R can be verified */
    enum xg_status status = xg_routine_run_verified(lane, routine, seed++, &result);
    xg_least_squares_finish(routine, &result);
    XT_CHECK(status == XG_OK, "%s: %s", judge_text(routine), xg_status_name(status));
    XT_CHECK(result.verdict == (judged ? XG_VERDICT_RIGHT : XG_VERDICT_UNABLE) &&
                 result.deviation <= 0.3,
             "%s: verdict %d, %g of the bound", judge_text(routine), result.verdict,
             result.deviation);
    covered[routine->name] |= able;
    largest_residual = fmax(largest_residual, residual_of(&before, routine));
    for (int slot = 0; slot < XG_SLOT_COUNT && able && status == XG_OK; slot++)
        if (routine->operand[slot].at && slot != XG_SLOT_PIVOTS &&
            xg_routine_use(routine->name, (enum xg_slot)slot)->out)
            check_found(&before, routine, (enum xg_slot)slot);
    free_copy(&before);
    return status;
}

static void test_verified(void)
{
    static const int64_t sizes[] = {1, 2, 40, 90};
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] - (fx_short() ? 1 : 0); i++)
            test_type(run_verified, (enum xg_type)type, sizes[i], i % 2 ? 3 : 0);
    int count = 0;
    for (int name = 0; name < XG_ROUTINE_COUNT; name++)
        count += covered[name];
    XT_CHECK(count >= 14, "only %d routines are verified", count);
}

/* The device computes a wrong result, and the operands are unchanged. Then it computes the routine
 * again, and the result is right. */
static enum xg_status run_flipped(const struct xg_routine *routine)
{
    struct xg_result result;
    struct xg_routine copy = copy_of(routine);
    fake.fail("flip", 1, 30, FAKECUDA_ONCE);
    enum xg_status status = xg_routine_run_verified(lane, routine, 1, &result);
    const bool found = status == XG_ERR_WRONG && result.verdict == XG_VERDICT_WRONG;
    XT_CHECK(found || status == XG_DECLINED, "%s: %s, verdict %d", judge_text(routine),
             xg_status_name(status), result.verdict);
    check_copy(&copy, routine, true);
    status = xg_routine_run_verified(lane, routine, 1, &result);
    XT_CHECK(status == XG_OK && result.verdict == XG_VERDICT_RIGHT);
    return status;
}

static void test_flipped(void)
{
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type += XG_TYPE_Z) {
        rx_cholesky(run_flipped, (enum xg_type)type, type % 2 ? XG_LOWER : XG_UPPER, 60, 7, 1);
        rx_lu(run_flipped, (enum xg_type)type, 40, 40, 5, 0, 4);
        rx_qr(run_flipped, (enum xg_type)type, 50, 30, 4, 2);
        rx_eigen(run_flipped, (enum xg_type)type, XG_UPPER, 50, 0, true, true, RX_RANDOM);
        rx_generalized(run_flipped, (enum xg_type)type, XG_LOWER, 30, 0, true, 1);
    }
}

/* A random, positive definite matrix of condition 1e10, by columns. */
static void fill_hard(double *b, int n)
{
    uint64_t seed = 3;
    for (int i = 0; i < n * n; i++)
        b[i] = 0;
    for (int l = 0; l < n; l++) {
        double x[64];
        for (int i = 0; i < n; i++)
            x[i] = (double)xt_random(&seed) - 0.5;
        for (int i = 0; i < n * n; i++)
            b[i] += x[i % n] * x[i / n] * pow(10, -10.0 * l / n);
    }
}

static void check_right(const struct xg_routine *routine, const char *what)
{
    struct xg_result result;
    enum xg_status status = xg_routine_run_verified(lane, routine, 7, &result);
    XT_CHECK(status == XG_OK && result.verdict == XG_VERDICT_RIGHT, "%s: %s, %g of the bound", what,
             xg_status_name(status), result.deviation);
}

/* Right results with large rounding errors raise no alarm: LU that grows by 2^(n - 1), inverses and
 * a generalized problem of a large condition. */
static void test_hard(void)
{
    enum { N = 48 };
    static double a[N * N], b[N * N], w[N];
    int64_t pivots[N];
    struct xg_routine routine = {.type = XG_TYPE_D, .uplo = XG_UPPER, .m = N, .n = N, .k = N};
    routine.pivot_bytes = 8;
    routine.vectors = XG_VECTORS_ALL;
    routine.operand[XG_SLOT_A] = (struct xg_matrix){a, N, N, N};
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, N, N, N};
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, N, 1, N};
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            a[j * N + i] = i == j || j == N - 1 ? 1 : i > j ? -1 : 0;
            b[j * N + i] = cos(i + 3 * j);
        }
    routine.name = XG_ROUTINE_GESV;
    check_right(&routine, "growth");
    routine.operand[XG_SLOT_B] = (struct xg_matrix){0};
    fill_hard(a, N);
    routine.name = XG_ROUTINE_GETRF;
    check_right(&routine, "factors");
    routine.name = XG_ROUTINE_GETRI;
    check_right(&routine, "inverse");
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){0};
    fill_hard(a, N);
    routine.name = XG_ROUTINE_POTRF;
    check_right(&routine, "factor");
    routine.name = XG_ROUTINE_POTRI;
    check_right(&routine, "inverse from it");
    routine.name = XG_ROUTINE_SYGVD;
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, N, N, N};
    routine.operand[XG_SLOT_U] = routine.operand[XG_SLOT_A];
    routine.operand[XG_SLOT_W] = (struct xg_matrix){w, N, 1, N};
    for (routine.itype = 1; routine.itype <= 3; routine.itype++) {
        for (int i = 0; i < N * N; i++)
            a[i] = sin(i % N * (i / N));
        fill_hard(b, N);
        check_right(&routine, "generalized");
    }
}

/* Numbers whose squares would leave the range of the type are not verified. */
static void test_range(void)
{
    static const double scales[] = {1e-60, 1e-30, 1, 1e30, 1e60};
    enum { N = 20 };
    double a[N * N];
    struct xg_routine routine = {.name = XG_ROUTINE_POTRF, .type = XG_TYPE_D, .m = N, .n = N};
    routine.operand[XG_SLOT_A] = (struct xg_matrix){a, N, N, N};
    for (int i = 0; i < 5; i++) {
        struct xg_result result;
        routine.uplo = i % 2 ? XG_UPPER : XG_LOWER;
        fake.reset(1);
        for (int at = 0; at < N * N; at++)
            a[at] = scales[i] * (at % (N + 1) ? 0.25 : N);
        XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
        XT_CHECK(result.verdict == (i % 4 ? XG_VERDICT_RIGHT : XG_VERDICT_UNABLE), "%g: %d",
                 scales[i], result.verdict);
        XT_CHECK(fake.calls("cuLaunchKernel") == (i % 2 ? 2 : 0), "kernels that mirror");
    }
}

/* --- Declined -------------------------------------------------------------------------------- */

/* Any status is accepted, but operands are unchanged unless it is XG_OK and the result complete. */
static enum xg_status run_faulty(const struct xg_routine *routine)
{
    struct xg_result result;
    struct xg_routine copy = copy_of(routine);
    enum xg_status status = xg_routine_run(lane, routine, &result);
    xg_least_squares_finish(routine, &result);
    XT_CHECK(status <= XG_OK || status == XG_DECLINED, "status %d", status);
    check_copy(&copy, routine, status != XG_OK || result.factored);
    factored[status == XG_OK] += result.factored;
    return result.factored ? XG_OK : status;
}

static enum xg_status expected;

static enum xg_status run_declined(const struct xg_routine *routine)
{
    enum xg_status status = run_faulty(routine);
    XT_CHECK(status == expected, "%s: %s", judge_text(routine), xg_status_name(status));
    return XG_DECLINED;
}

/* One infinite or NaN element, in the first and in the last column. */
static void test_infinite(void)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    static const enum xg_routine_name names[] = {XG_ROUTINE_SYEVD, XG_ROUTINE_TRTRI,
                                                 XG_ROUTINE_GEEV};
    enum { N = 40 };
    double a[N * N], v[N * N], w[N], wi[N];
    struct xg_routine routine = {.name = XG_ROUTINE_SYEVD,
                                 .type = XG_TYPE_D,
                                 .uplo = XG_LOWER,
                                 .vectors = XG_VECTORS_ALL,
                                 .m = N,
                                 .n = N,
                                 .operand = {[XG_SLOT_A] = {a, N, N, N},
                                             [XG_SLOT_U] = {a, N, N, N},
                                             [XG_SLOT_V] = {v, N, N, N},
                                             [XG_SLOT_W] = {w, N, 1, N},
                                             [XG_SLOT_WI] = {wi, N, 1, N}}};
    expected = XG_DECLINED;
    for (int i = 0; i < 18; i++) {
        routine.name = names[i / 6];
        for (int at = 0; at < N * N; at++)
            a[at] = at % (N + 1) ? 0.25 : 1 + at;
        a[i % 2 ? N * N - 1 : 1] = odd[i % 6 / 2];
        run_declined(&routine);
    }
    /* The routine does not read the other triangle. */
    routine.name = XG_ROUTINE_SYEVD;
    for (int at = 0; at < N * N; at++)
        a[at] = at % N < at / N ? NAN : 1.0 / (1 + at);
    XT_CHECK(run_faulty(&routine) == XG_OK);
}

/* LAPACK's info would not be 0. */
static void test_info(void)
{
    float a[9] = {1, 2, 3, 2, 4, 6, 3, 6, 9}, b[3] = {1, 2, 3};
    int32_t pivots[3];
    struct xg_routine routine = {.type = XG_TYPE_S, .m = 3, .n = 3, .k = 1, .pivot_bytes = 4};
    routine.operand[XG_SLOT_A] = (struct xg_matrix){a, 3, 3, 3};
    routine.uplo = XG_UPPER;
    expected = XG_DECLINED;
    routine.name = XG_ROUTINE_POTRF;
    run_declined(&routine);
    for (int i = 0; i < 3; i++)
        a[6 + i] = 0;
    routine.name = XG_ROUTINE_GELS;
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, 3, 1, 3};
    run_declined(&routine);
    for (int i = 0; i < 3; i++)
        a[6 + i] = a[i] * 3;
    a[4] = 0;
    routine.name = XG_ROUTINE_TRTRI;
    run_declined(&routine);
    a[4] = 4;
    routine.name = XG_ROUTINE_GESV;
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, 3, 1, 3};
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, 3, 1, 3};
    run_declined(&routine);
}

/* cuSOLVER returns infinite numbers or NaN, or pivots that are not rows, and no error. */
static void test_singular(void)
{
    enum { N = 30 };
    double a[N * N], b[N];
    int64_t pivots[N];
    struct xg_routine routine = {.name = XG_ROUTINE_GETRI, .type = XG_TYPE_D, .m = N, .n = N};
    routine.k = 1;
    routine.pivot_bytes = 8;
    routine.operand[XG_SLOT_A] = (struct xg_matrix){a, N, N, N};
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, N, 1, N};
    for (int i = 0; i < N * N; i++)
        a[i] = i % (N + 1) ? 0.01 * (i % 5) : 1;
    for (int i = 0; i < N; i++)
        pivots[i] = i + 1, b[i] = 1;
    XT_CHECK(run_faulty(&routine) == XG_OK);
    expected = XG_DECLINED;
    a[20 * (N + 1)] = 0;
    run_declined(&routine);
    routine.name = XG_ROUTINE_GETRS;
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, N, 1, N};
    run_declined(&routine);
    a[20 * (N + 1)] = 1;
    for (int i = 0; i < 3; i++) {
        pivots[7] = (const int64_t[]){0, N + 1, -5}[i];
        run_declined(&routine);
    }
    pivots[7] = N;
    XT_CHECK(run_faulty(&routine) == XG_OK);
}

/* An older cuSOLVER lacks GEEV and TRTRI, and computes the others. */
static void test_lacking(void)
{
    struct xg_solver_functions all = xg_solver_functions;
    expected = XG_DECLINED;
    xg_solver_functions.geev = NULL;
    xg_solver_functions.trtri = NULL;
    rx_general(run_declined, XG_TYPE_D, 20, 0, true);
    rx_triangle(run_declined, XG_TYPE_D, XG_LOWER, false, 20, 0);
    rx_lu(run, XG_TYPE_D, 20, 20, 3, 0, 4);
    xg_solver_functions = all;
    rx_general(run, XG_TYPE_D, 20, 0, true);
}

/* A column that is too long for the driver's copies of rectangles. */
static void test_tall(void)
{
    const int64_t rows = (INT64_C(1) << 28) + 1;
    const size_t bytes = (size_t)rows * sizeof(double);
    struct xg_result result;
    double tau;
    double *a = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct xg_routine routine = {.name = XG_ROUTINE_GEQRF, .type = XG_TYPE_D, .m = rows, .n = 1};
    if (a == MAP_FAILED)
        return;
    routine.operand[XG_SLOT_A] = (struct xg_matrix){a, rows, 1, rows};
    routine.operand[XG_SLOT_TAU] = (struct xg_matrix){&tau, 1, 1, 1};
    enum xg_status status = xg_routine_run(lane, &routine, &result);
    XT_CHECK(status == XG_DECLINED, "%s", xg_status_name(status));
    munmap(a, bytes);
}

/* --- Faults ---------------------------------------------------------------------------------- */

static void check_leaks(const char *what)
{
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(fake.faults("cuCtxPushCurrent") > 0 ||
                 (!live.dev && !live.pinned && !live.streams && !live.events),
             "%s: %zu device, %zu page-locked, %zu streams, %zu events are left", what, live.dev,
             live.pinned, live.streams, live.events);
}

static void run_all(rx_run *each)
{
    rx_cholesky(each, XG_TYPE_D, XG_UPPER, 60, 7, 1);
    rx_triangle(each, XG_TYPE_C, XG_UPPER, true, 40, 1);
    rx_lu(each, XG_TYPE_Z, 40, 40, 5, 0, 4);
    rx_qr(each, XG_TYPE_S, 50, 30, 4, 2);
    rx_squares(each, XG_TYPE_D, 60, 30, 4, 1);
    rx_eigen(each, XG_TYPE_D, XG_UPPER, 50, 0, true, true, RX_RANDOM);
    rx_generalized(each, XG_TYPE_S, XG_UPPER, 30, 0, false, 1);
    rx_general(each, XG_TYPE_S, 30, 1, true);
    rx_general(each, XG_TYPE_Z, 20, 0, true);
    rx_singular(each, XG_TYPE_D, 30, 50, 1, XG_VECTORS_THIN, RX_RANDOM);
    rx_singular(each, XG_TYPE_C, 50, 30, 0, XG_VECTORS_ALL, RX_GRADED);
    rx_singular(each, XG_TYPE_Z, 50, 30, 0, XG_VECTORS_ALL, RX_DEFICIENT);
    rx_singular(each, XG_TYPE_D, 20, 30, 0, XG_VECTORS_THIN, RX_GRADED);
}

/* Opens a device and a lane and runs all routines, with a fault, and once more on the same lane. */
static void attempt(const char *name, long nth, int code, enum fakecuda_after after)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    char what[80];
    snprintf(what, sizeof what, "%s:%ld:%d:%d", name ? name : "any", nth, code, after);
    fake.reset((unsigned long)nth);
    lane = fx_lane_open(&conf, 3, &dev);
    fake.fail(name, nth, code, after);
    run_all(run_faulty);
    XT_CHECK(!name || nth > 1 || fake.faults(name) > 0, "%s: no fault", what);
    if (after == FAKECUDA_ONCE && fake.faults(NULL) > 0)
        run_all(run);
    xg_lane_destroy(lane);
    check_leaks(what);
    xg_backend_close(dev);
    xg_conf_fini(&conf);
}

#define SIZED(name) "cusolverDn" name "_bufferSize", "cusolverDn" name

static void test_faults(void)
{
    static const struct {
        int code;
        enum fakecuda_after after;
    } ways[] = {{FX_CODE_NOMEM, FAKECUDA_ONCE},
                {FX_CODE_UNKNOWN, FAKECUDA_ONCE},
                {FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY},
                {FX_CODE_NOMEM, FAKECUDA_ALWAYS}};
    static const char *const names[] = {
        "cuMemcpy2DAsync",        "cuEventRecord",    "cuMemHostAlloc",
        "cuLaunchKernel",         "cusolverDnCreate", "cusolverDnSetStream",
        "cusolverDnCreateParams", "cusolverDnXpotrs", "cusolverDnXgetrs",
        SIZED("Dpotrf"),          SIZED("Dpotri"),    SIZED("Xgetrf"),
        SIZED("Xgeqrf"),          SIZED("Sorgqr"),    SIZED("Zungqr"),
        SIZED("Dormqr"),          SIZED("Xsyevd"),    SIZED("Ssygvd"),
        SIZED("Xgesvd"),          SIZED("Xgesvdp"),   SIZED("Xgeev"),
        SIZED("Xtrtri"),          "cublasZgemm"};
    attempt(NULL, 1000000, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    long calls = fake.calls(NULL), turn = 0;
    for (long nth = 1; nth <= calls; nth += calls / (fx_short() ? 10 : 120) + 1, turn++)
        attempt(NULL, nth, ways[turn % 4].code, ways[turn % 4].after);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int way = 0; way < 2; way++)
            attempt(names[i], 1 + way, ways[way].code, ways[way].after);
    XT_CHECK(fx_short() || (factored[false] > 0 && factored[true] > 0),
             "no fault after R and Qᴴ B");
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    fake = fx_fake();
    xg_cublas_load();
    lane = fx_lane_open(&conf, 3, &dev);
    test_right();
    test_verified();
    test_range();
    test_hard();
    test_flipped();
    test_infinite();
    test_info();
    test_singular();
    test_lacking();
    test_tall();
    fx_lane_close(lane, dev);
    test_faults();
    xg_conf_fini(&conf);
    printf("largest residual: %.2g units of n eps; verified: %.2g\n", rx_worst(), largest_residual);
    return xt_done();
}
