/* SPDX-License-Identifier: MIT */
/*
 * DGEMM by residues beside the native kernel: the lines of single precision with numbers of 53
 * bits, and double's own. Contract 1.1, 2.1 (doc/contract.md).
 */

/*
 * Errors are componentwise, |C - exact| / (|A||B|), in units of 2^-53; exact sums are in long
 * double. It fails where the largest or the rms error by residues is more than WORSE times that of
 * the native kernel, which is one sum in order of k (of cuBLAS, where that does not run); where a
 * sum that is exact in double precision is not that sum; where NaN, infinity, overflow or a result
 * below the normal numbers is wrong; and where both kernels of residues give different bits.
 */
#include "accuracy_doubles.h"

#include <float.h>
#include <math.h>

#include "src/compute/residue.h"
#include "src/decide/select.h"
#include "src/device/mem.h"
#include "tests/support/distribution.h"
#include "util.h"

enum { ROWS = 32, EXACT_DEPTH = 1024 };
enum side { CUBLAS, NATIVE, WGMMA, MMA, SIDES };
static const char *const names[SIDES] = {"cublas", "dmma_128x128x16", "ozaki2", "ozaki2_mma"};

/* A tie, where integers do not serve and another native kernel sums: by root mean square, and by
 * the largest of 65536 samples. */
static const double WORSE_RMS = 1.10, WORSE_MAX = 1.5;

/* From the smallest depth for which selection considers residues. */
static const int64_t depths[] = {64, 127, 1000, 4096};

struct score {
    double max, rms, mean;
    bool there;
};

/* The product at work. */
static const struct accuracy_doubles *test;
static struct xg_residue residues[SIDES];
static struct {
    const struct distribution *distribution;
    int64_t k;
    bool transa, transb;
} line;
static double *host, *columns;      /* an operand as stored; op(B) (side,k) */
static double *rows;                /* (ROWS,k): sampled rows of op(A) */
static double *sampled[SIDES];      /* (ROWS,side) */
static long double *sum, *absolute; /* (ROWS,side) */
static struct xg_mem_dev dev_a, dev_b, dev_c, scratch;

static int64_t sampled_row(int64_t r)
{
    const int64_t band = test->side / ROWS;
    return r * band + r * 29 % band;
}

/* --- Operands and exact sums ---------------------------------------------------------------- */

static double element(char which, int64_t outer, int64_t l)
{
    const struct distribution_place place = {.seed = test->seed,
                                             .digits = DBL_MANT_DIG,
                                             .which = which,
                                             .outer = outer,
                                             .l = l,
                                             .k = line.k};
    return distribution_element(line.distribution, place);
}

struct fill {
    double *to;
    char which;
    bool along_k;
    int64_t ld;
};

/* Of an operand as stored: the native kernel wants a multiple of 4. */
static int64_t ld_of(bool along_k)
{
    return xg_round_up(along_k ? line.k : test->side, 4);
}

static void fill_rows(void *arg, int worker)
{
    const struct fill *fill = arg;
    const int64_t height = fill->along_k ? test->side : line.k;
    const int64_t width = fill->along_k ? line.k : test->side;
    for (int64_t i = worker; i < height; i += xg_team_size(test->team))
        for (int64_t j = 0; j < fill->ld; j++)
            fill->to[i * fill->ld + j] =
                j < width ? element(fill->which, fill->along_k ? i : j, fill->along_k ? j : i)
                          : 0.0;
}

static void put(const struct xg_mem_dev *to, char which, bool along_k)
{
    struct fill fill = {host, which, along_k, ld_of(along_k)};
    const size_t height = (size_t)(along_k ? test->side : line.k);
    xg_team_run(test->team, xg_team_size(test->team), fill_rows, &fill);
    must(XG_DRV(&test->dev->drv, cuMemcpyHtoDAsync, to->ptr, host,
                height * (size_t)fill.ld * sizeof *host, test->stream),
         "copy up");
    must(XG_DRV(&test->dev->drv, cuStreamSynchronize, test->stream), "copy up");
}

static void sum_columns(void *unused, int worker)
{
    (void)unused;
    for (int64_t j = worker; j < test->side; j += xg_team_size(test->team))
        for (int64_t r = 0; r < ROWS; r++) {
            long double total = 0.0L, magnitude = 0.0L;
            for (int64_t l = 0; l < line.k; l++) {
                long double term =
                    (long double)rows[r * line.k + l] * (long double)columns[j * line.k + l];
                total += term;
                magnitude += fabsl(term);
            }
            sum[r * test->side + j] = total;
            absolute[r * test->side + j] = magnitude;
        }
}

static void draw(int trans)
{
    struct fill fill = {columns, 'b', true, line.k};
    line.transa = trans >> 1;
    line.transb = trans & 1;
    put(&dev_a, 'a', !line.transa);
    put(&dev_b, 'b', line.transb);
    xg_team_run(test->team, xg_team_size(test->team), fill_rows, &fill);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t l = 0; l < line.k; l++)
            rows[r * line.k + l] = element('a', sampled_row(r), l);
    xg_team_run(test->team, xg_team_size(test->team), sum_columns, NULL);
}

/* --- The sides ------------------------------------------------------------------------------ */

static void launch_residues(const struct xg_residue *residue, const struct xg_gemm_args *gemm)
{
    const struct xg_dgemm_args args = {.a = gemm->a,
                                       .b = gemm->b,
                                       .c = gemm->c,
                                       .lda = gemm->lda,
                                       .ldb = gemm->ldb,
                                       .ldc = gemm->ldc,
                                       .m = gemm->m,
                                       .n = gemm->n,
                                       .k = gemm->k,
                                       .alpha = 1.0,
                                       .transa = line.transa,
                                       .transb = line.transb,
                                       .split = 1};
    must(xg_residue_dgemm(residue, &args, scratch.ptr, test->stream), "residues");
}

/* Fills sampled[side]; false where the side is not there. */
static bool compute(enum side side)
{
    const int64_t n = test->side;
    const struct xg_kernel *row = xg_select_find(names[side]);
    const struct xg_gemm_args args = {.type = XG_TYPE_D,
                                      .transa = line.transa ? XG_TRANS : XG_NO_TRANS,
                                      .transb = line.transb ? XG_TRANS : XG_NO_TRANS,
                                      .m = n,
                                      .n = n,
                                      .k = line.k,
                                      .alpha = 1.0,
                                      .a = dev_a.ptr,
                                      .lda = ld_of(!line.transa),
                                      .b = dev_b.ptr,
                                      .ldb = ld_of(line.transb),
                                      .c = dev_c.ptr,
                                      .ldc = xg_round_up(n, 4)};
    const struct xg_shape shape = xg_gemm_shape(&args);
    if (side >= WGMMA ? !residues[side].dev : !xg_select_row(row, &test->dev->facts, &shape).row)
        return false;
    must(XG_DRV(&test->dev->drv, cuMemsetD32Async, dev_c.ptr, 0x7ff80000,
                (size_t)(2 * n * args.ldc), test->stream),
         "poison");
    if (side >= WGMMA)
        launch_residues(&residues[side], &args);
    else
        gpu_launch(test->dev, row, &args, test->stream);
    for (int64_t r = 0; r < ROWS; r++)
        must(XG_DRV(&test->dev->drv, cuMemcpyDtoHAsync, sampled[side] + r * n,
                    dev_c.ptr + (uint64_t)(sampled_row(r) * args.ldc) * sizeof(double),
                    (size_t)n * sizeof(double), test->stream),
             "copy down");
    must(XG_DRV(&test->dev->drv, cuStreamSynchronize, test->stream), names[side]);
    return true;
}

/* --- The table ------------------------------------------------------------------------------ */

static struct score score_of(const double *c)
{
    struct score score = {.there = true};
    double squares = 0.0, total = 0.0;
    const int64_t count = ROWS * test->side;
    for (int64_t e = 0; e < count; e++) {
        const long double off = (long double)c[e] - sum[e];
        const double error = off == 0.0L ? 0.0 : (double)(off / absolute[e] * 0x1p53L);
        if (!(fabs(error) <= score.max))
            score.max = isnan(score.max) ? NAN : fabs(error);
        squares += error * error;
        total += error;
    }
    score.rms = sqrt(squares / (double)count);
    score.mean = total / (double)count;
    return score;
}

/* Elements of another kind than the exact sum, or finite and off by more than the bound. */
static long misplaced(const double *c)
{
    const long double share = (long double)(line.k + 3) * 0x1p-53L;
    long count = 0;
    for (int64_t e = 0; e < ROWS * test->side; e++) {
        bool right = fabsl((long double)c[e] - sum[e]) <=
                     share * absolute[e] + (long double)line.k * 0x1p-1074L;
        if (isnan(sum[e]))
            right = isnan(c[e]);
        else if (isinf(c[e]))
            right = fabsl(sum[e]) >= (1.0L - share) * 0x1p1024L && (c[e] > 0) == (sum[e] > 0);
        count += !right;
    }
    return count;
}

static void judge(const char *name, enum distribution_rule rule, enum side side,
                  const struct score *ours, const struct score *native)
{
    const size_t bytes = (size_t)(ROWS * test->side) * sizeof(double);
    if (rule == RULE_EXACT)
        XT_CHECK_LE(ours->max, 0.0, "%s, k %ld, %s: not exact, off by %.3g", name, (long)line.k,
                    names[side], ours->max);
    if (rule == RULE_CUBLAS && side >= WGMMA && native->there)
        XT_CHECK(ours->max <= WORSE_MAX * native->max && ours->rms <= WORSE_RMS * native->rms,
                 "%s, k %ld, %s: max %.4g, rms %.4g; native %.4g, %.4g", name, (long)line.k,
                 names[side], ours->max, ours->rms, native->max, native->rms);
    if (rule == RULE_SPECIAL)
        XT_CHECK(side == CUBLAS || misplaced(sampled[side]) == 0,
                 "%s, k %ld, %s: %ld elements of the wrong kind", name, (long)line.k, names[side],
                 misplaced(sampled[side]));
    if (side == MMA && residues[WGMMA].dev && rule != RULE_SPECIAL)
        XT_CHECK(!memcmp(sampled[MMA], sampled[WGMMA], bytes), "%s, k %ld: other bits by wgmma",
                 name, (long)line.k);
}

static void test_line(const char *name, enum distribution_rule rule, int64_t k)
{
    static const char *const trans_names[] = {"nn", "nt", "tn", "tt"};
    static int turn;
    struct score scores[SIDES] = {{0}};
    const int trans = turn++ % 4;
    line.k = k;
    draw(trans);
    printf("%-20s %6ld %2s", name, (long)k, trans_names[trans]);
    for (int side = 0; side < SIDES; side++) {
        if (compute((enum side)side))
            scores[side] = score_of(sampled[side]);
        if (!scores[side].there)
            printf(" | %8s %8s %8s", "-", "-", "-");
        else if (rule == RULE_SPECIAL)
            printf(" | %20ld wrong", misplaced(sampled[side]));
        else
            printf(" | %8.4g %8.4g %8.1e", scores[side].max, scores[side].rms, scores[side].mean);
    }
    printf("\n");
    /* A block of the native kernel needs more shared memory than some devices have. */
    const struct score *native = &scores[scores[NATIVE].there ? NATIVE : CUBLAS];
    for (int side = 0; side < SIDES; side++)
        if (scores[side].there)
            judge(name, rule, (enum side)side, &scores[side], native);
}

static void test_rule(enum distribution_rule rule, int64_t k)
{
    for (int d = 0; d < distribution_doubles_count; d++) {
        line.distribution = &distribution_table[d];
        if (line.distribution->rule == rule)
            test_line(line.distribution->name, rule, k);
    }
}

/* --- The program ---------------------------------------------------------------------------- */

static void *room(int64_t numbers, size_t bytes)
{
    void *memory = malloc((size_t)numbers * bytes);
    if (!memory) {
        fprintf(stderr, "accuracy: out of memory\n");
        exit(XT_HARD);
    }
    return memory;
}

static void open_all(int64_t k)
{
    const int64_t n = test->side, stored = (n + 4) * (k + 4);
    for (int side = WGMMA; side < SIDES; side++) {
        const struct xg_kernel *row =
            xg_select_emulated(&test->dev->facts, XG_KERNEL_RESIDUES, names[side]);
        if (row && xg_residue_open(test->dev, row, &residues[side]) != XG_OK)
            printf("%s: not here\n", names[side]);
    }
    host = room(stored, sizeof *host);
    columns = room(n * k, sizeof *columns);
    rows = room(ROWS * k, sizeof *rows);
    sum = room(ROWS * n, sizeof *sum);
    absolute = room(ROWS * n, sizeof *absolute);
    for (int side = 0; side < SIDES; side++)
        sampled[side] = room(ROWS * n, sizeof(double));
    must(xg_mem_dev_reserve(test->dev, &dev_a, (size_t)stored * sizeof(double)), "memory");
    must(xg_mem_dev_reserve(test->dev, &dev_b, (size_t)stored * sizeof(double)), "memory");
    must(xg_mem_dev_reserve(test->dev, &dev_c, (size_t)(n * (n + 4)) * sizeof(double)), "memory");
    must(xg_mem_dev_reserve(test->dev, &scratch, xg_residue_dgemm_bytes(n, n, k)), "memory");
}

static void close_all(void)
{
    struct xg_mem_dev *const memory[] = {&dev_a, &dev_b, &dev_c, &scratch};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        xg_mem_dev_release(test->dev, memory[i]);
    for (int side = 0; side < SIDES; side++)
        free(sampled[side]);
    free(host);
    free(columns);
    free(rows);
    free(sum);
    free(absolute);
}

void accuracy_doubles(const struct accuracy_doubles *of)
{
    const int64_t k_max = xg_min_i64(of->k_max, depths[sizeof depths / sizeof depths[0] - 1]);
    test = of;
    if (k_max < depths[0])
        return;
    open_all(k_max);
    printf(
        "\nDouble precision. Error in units of 2^-53 of |A||B|; by residues max at most %.2f and "
        "rms %.2f times those of %s.\n%-20s %6s %2s",
        WORSE_MAX, WORSE_RMS, names[NATIVE], "operands", "k", "");
    for (int side = 0; side < SIDES; side++)
        printf(" | %-26s", names[side]);
    printf("\n");
    for (size_t d = 0; d < sizeof depths / sizeof depths[0] && depths[d] <= k_max; d++)
        test_rule(RULE_CUBLAS, depths[d]);
    test_rule(RULE_EXACT, xg_min_i64(EXACT_DEPTH, k_max));
    test_rule(RULE_SPECIAL, xg_min_i64(EXACT_DEPTH, k_max));
    close_all();
}
