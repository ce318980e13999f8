/* SPDX-License-Identifier: MIT */
/* The guard of products of pieces, compared with the computed errors of the kernels' arithmetic. */
#include "tests/support/emulation.h"

#include <math.h>

#include "tests/support/distribution.h"
#include "tests/support/reference.h"
#include "tests/support/xt.h"

/* cuBLAS is computed as one FFMA sum in order of k, which measurements showed (kernels/NOTES.md).
 * The rule is that of tests/gpu/accuracy; but the largest error of 3072 elements varies more than
 * that of 65536. */
static const double WORSE_RMS = 1.10, WORSE_MAX = 1.25;
enum { M = 64, N = 96, K_MAX = 4096, ELEMENTS = REFERENCE_ROWS * N };

static struct xg_team *team;
static float a[M * K_MAX], b[N * K_MAX], c[ELEMENTS];
static struct emulation_row a_rows[M], b_rows[N];
static struct reference reference;

static void create_rows(struct emulation_row *rows, const float *matrix, int count, int64_t k)
{
    for (int i = 0; i < count; i++)
        if (!emulation_row_create(&rows[i], matrix + i * k, k))
            exit(XT_HARD);
}

static struct xg_problem call_of(int64_t k)
{
    return (struct xg_problem){
        .transb = true, .m = M, .n = N, .k = k, .alpha = 1.0f, .a = a, .lda = k, .b = b, .ldb = k};
}

/* The operands in a and b, (M,k) and (N,k), with rows and exact sums. */
static void open_operands(int64_t k)
{
    const struct xg_problem call = call_of(k);
    create_rows(a_rows, a, M, k);
    create_rows(b_rows, b, N, k);
    if (!reference_create(&reference, &call, team))
        exit(XT_HARD);
}

static void close_operands(void)
{
    for (int i = 0; i < M; i++)
        emulation_row_destroy(&a_rows[i]);
    for (int j = 0; j < N; j++)
        emulation_row_destroy(&b_rows[j]);
    reference_destroy(&reference);
}

static struct score score_of(enum emulation how)
{
    for (int r = 0; r < REFERENCE_ROWS; r++)
        for (int j = 0; j < N; j++)
            c[r * N + j] = (float)emulation_element(how, &a_rows[reference.row[r]], &b_rows[j]);
    return reference_score(&reference, c, 1.0f, 0.0f, NULL);
}

static struct xg_split_verdict accuracy(int64_t k)
{
    struct xg_split_stats a_stats = {0}, b_stats = {0};
    for (int i = 0; i < M; i++)
        emulation_count(&a_stats, &a_rows[i]);
    for (int j = 0; j < N; j++)
        emulation_count(&b_stats, &b_rows[j]);
    return xg_split_judge(&a_stats, &b_stats, k);
}

/* --- The emulation itself --------------------------------------------------------------------- */

static float step_of(float sum, float x, float times, int count)
{
    float left[16] = {0}, right[16] = {0};
    for (int i = 0; i < count; i++)
        left[i] = x, right[i] = times;
    return emulation_step(sum, left, right);
}

/* These results were measured on a device (kernels/NOTES.md). */
static void test_step(void)
{
    float left[16] = {1.0f, -1.0f, 0x1p-13f}, right[16] = {1.0f, 1.0f, 0x1p-12f};
    XT_CHECK(emulation_step(0.0f, left, right) == 0x1p-25f);
    right[2] = 0x1p-13f;
    XT_CHECK(emulation_step(0.0f, left, right) == 0.0f);
    XT_CHECK(step_of(1.0f, 0x1p-13f, 0x1p-13f, 16) == 1.0f);
    XT_CHECK(step_of(1.0f, 0x1p-12f, 0x1p-12f, 16) == 1.0f + 0x1p-20f);
    XT_CHECK(step_of(1.0f, 0x1.8p-12f, 0x1p-12f, 1) == 1.0f, "cut, not rounded");
    XT_CHECK(step_of(-1.0f, -0x1.8p-12f, 0x1p-12f, 1) == -1.0f, "towards zero");
    XT_CHECK(step_of(0.0f, 0.0f, 1.0f, 16) == 0.0f);
}

/* BF16's pieces add up to the number; FP16's differ by up to a unit in the last of 23 bits. */
static void test_pieces(void)
{
    enum { K = 1000 };
    uint64_t state = 3;
    struct emulation_row row;
    float number[K];
    int inexact = 0;
    for (int l = 0; l < K; l++)
        number[l] = xt_random(&state);
    if (!emulation_row_create(&row, number, K))
        exit(XT_HARD);
    for (int l = 0; l < K; l++) {
        double fp16 = (double)row.fp16[0][l] + (double)row.fp16[1][l];
        double bf16 = (double)row.bf16[0][l] + (double)row.bf16[1][l] + (double)row.bf16[2][l];
        double off = ldexp(fp16, -row.fp16_scale) - (double)number[l];
        XT_CHECK(ldexp(bf16, -row.bf16_scale) == (double)number[l]);
        XT_CHECK_LE(fabs(off), 0x1p-22 * fabs((double)number[l]) + 0x1p-39);
        inexact += off != 0.0;
    }
    XT_CHECK(inexact > K / 20 && inexact < K / 2, "%d of %d numbers are inexact", inexact, K);
    emulation_row_destroy(&row);
}

/* --- Rows of so many numbers --------------------------------------------------------------------
 */

enum place { SCATTERED, NEIGHBOURS };
static const char *const place_names[] = {"scattered", "neighbours"};

/* `products` numbers a row of A, positive or of either sign, by a dense B. */
static void draw(int64_t k, int64_t products, enum place place, bool positive, uint64_t seed)
{
    uint64_t state = seed;
    memset(a, 0, sizeof(float) * (size_t)(M * k));
    for (int64_t e = 0; e < N * k; e++)
        b[e] = positive ? fabsf(xt_random(&state)) : xt_random(&state);
    for (int64_t i = 0; i < M; i++)
        for (int64_t p = 0; p < products; p++) {
            int64_t at = place == NEIGHBOURS ? i * 37 % (k - products + 1) + p
                                             : (i * 5 + p * k / products) % k;
            float x = xt_random(&state);
            a[i * k + at] = positive ? fabsf(x) : x;
        }
}

/* The guard's choice errs no more than FFMA. */
static void check_choice(const char *name, int64_t k)
{
    struct xg_split_verdict verdict = accuracy(k);
    struct score ours = score_of(emulation_of(verdict)), ffma = score_of(EMULATION_FFMA_ONE);
    XT_CHECK(ours.max <= WORSE_MAX * ffma.max && ours.rms <= WORSE_RMS * ffma.rms,
             "%s, k %ld: kind %d, products %d: max %.3g, rms %.3g; FFMA %.3g, %.3g", name, (long)k,
             verdict.kind, verdict.products, ours.max, ours.rms, ffma.max, ffma.rms);
}

static void test_few(void)
{
    static const int64_t depths[] = {128, 2048};
    static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 63, 64, 128, 256};
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts && counts[n] <= depths[d]; n++)
            for (int way = 0; way < 4; way++) {
                enum place place = way & 1 ? NEIGHBOURS : SCATTERED;
                char name[80];
                /* See test_neighbours. */
                if (place == NEIGHBOURS && counts[n] < 4)
                    continue;
                snprintf(name, sizeof name, "%ld products, %s, %s", (long)counts[n],
                         place_names[place], way & 2 ? "positive" : "of either sign");
                draw(depths[d], counts[n], place, way & 2, n + 1);
                open_operands(depths[d]);
                check_choice(name, depths[d]);
                close_operands();
            }
}

/* Here the largest errors exceed FFMA's: one step of the tensor core truncates two or three
 * products at neighbouring places of k, whose sizes differ. */
static void test_neighbours(void)
{
    enum { K = 128 };
    for (int64_t products = 2; products < 4; products++) {
        draw(K, products, NEIGHBOURS, false, 7);
        open_operands(K);
        struct score ours = score_of(emulation_of(accuracy(K))),
                     ffma = score_of(EMULATION_FFMA_ONE);
        XT_CHECK(ours.max <= 1.5 * ffma.max && ours.rms <= ffma.rms,
                 "%ld neighbours: max %.3g, rms %.3g; FFMA %.3g, %.3g", (long)products, ours.max,
                 ours.rms, ffma.max, ffma.rms);
        close_operands();
    }
}

/* The thresholds of the guard exclude these. */
static void test_needed(void)
{
    static const struct {
        enum emulation how;
        int64_t products;
        double max, rms; /* at least so many times FFMA's */
    } cases[] = {
        {EMULATION_FP16, 1, 3.0, 2.5},      {EMULATION_FP16, 16, 0.0, 1.3},
        {EMULATION_BF16, 1, 1.5, 1.5},      {EMULATION_BF16, 8, 0.0, 1.15},
        {EMULATION_BF16_SIX, 1, 1.15, 0.0}, {EMULATION_FFMA, 2, 0.0, 1.12},
    };
    enum { K = 1024 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        draw(K, cases[i].products, SCATTERED, false, 9);
        open_operands(K);
        struct score theirs = score_of(cases[i].how), ffma = score_of(EMULATION_FFMA_ONE);
        XT_CHECK(theirs.max >= cases[i].max * ffma.max && theirs.rms >= cases[i].rms * ffma.rms,
                 "way %d, %ld products: max %.3g, rms %.3g; FFMA %.3g, %.3g", cases[i].how,
                 (long)cases[i].products, theirs.max, theirs.rms, ffma.max, ffma.rms);
        close_operands();
    }
}

/* --- The table of distributions --------------------------------------------------------------- */

static void test_distributions(int64_t k)
{
    const struct xg_problem call = call_of(k);
    for (int d = 0; d < distribution_count; d++) {
        const struct distribution *distribution = &distribution_table[d];
        if (distribution->rule == RULE_SPECIAL)
            continue;
        distribution_fill(distribution, team, 1, &call);
        open_operands(k);
        if (distribution->rule == RULE_CUBLAS) {
            check_choice(distribution->name, k);
        } else {
            struct score ours = score_of(emulation_of(accuracy(k)));
            XT_CHECK_LE(ours.max, 0.0, "%s, k %ld: off by %.3g", distribution->name, (long)k,
                        ours.max);
        }
        close_operands();
    }
}

/* --- The rule ------------------------------------------------------------------------------------
 */

static bool is(struct xg_split_verdict verdict, enum xg_split_kind kind,
               enum xg_split_products products)
{
    return verdict.kind == kind && verdict.products == products;
}

static void test_rule(void)
{
    const struct xg_split_stats dense = {.max_bits = 0x3f800000, .spread_max = 20};
    const int64_t k = 4096;
    struct xg_split_stats left = dense, right = dense;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_FP16, XG_SPLIT_MANY));
    XT_CHECK(is(xg_split_judge(&left, &right, 63), XG_SPLIT_BF16, XG_SPLIT_SOME));
    XT_CHECK(is(xg_split_judge(&left, &right, 64), XG_SPLIT_FP16, XG_SPLIT_SOME));
    XT_CHECK(is(xg_split_judge(&left, &right, 15), XG_SPLIT_BF16, XG_SPLIT_FEW));

    /* One in 16 places of k, of either operand or both. */
    left.lack_max = left.zero_max = 2000, right.lack_max = right.zero_max = 4096 - 256 - 2000;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_FP16, XG_SPLIT_SOME));
    right.lack_max++;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_BF16, XG_SPLIT_SOME));

    /* Small numbers do not count as zeros. */
    left = right = dense;
    left.lack_max = right.lack_max = 4000;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_BF16, XG_SPLIT_MANY));
    left.lack_max = right.lack_max = 0;
    left.small_max = 513;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_BF16, XG_SPLIT_MANY));

    /* Both operands together have more zeros than k places. */
    left.lack_max = right.lack_max = left.zero_max = right.zero_max = 4000;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_BF16, XG_SPLIT_FEW));
    left.spread_max = 81;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_FFMA, XG_SPLIT_FEW));

    left = right = dense;
    right.max_bits = 0x7f800000;
    XT_CHECK(is(xg_split_judge(&left, &right, k), XG_SPLIT_FFMA, XG_SPLIT_MANY));

    /* The worst of panels, member by member. */
    const struct xg_split_stats panels[] = {{1, 20, 3, 40, 5}, {10, 2, 30, 4, 6}, {2, 3, 4, 5, 50}};
    struct xg_split_stats worst = xg_split_worst(panels, 3);
    XT_CHECK(worst.max_bits == 10 && worst.lack_max == 20 && worst.small_max == 30 &&
             worst.zero_max == 40 && worst.spread_max == 50);
}

int main(void)
{
    if (xg_team_create(2, &team) != XG_OK)
        return XT_HARD;
    test_rule();
    test_step();
    test_pieces();
    test_few();
    test_neighbours();
    test_needed();
    test_distributions(500);
    xg_team_destroy(team);
    return xt_done();
}
