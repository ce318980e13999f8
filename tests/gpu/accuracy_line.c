/* SPDX-License-Identifier: MIT */
/* The sides of gpu/accuracy, their lines, and the judge. */
#include "accuracy_line.h"

#include <math.h>

#include "tests/support/xt.h"

/*
 * worse: how many times larger than the error beside it the largest and the rms error may be; 0:
 * not compared. Accurate and emulated: a tie, no more; the largest error of doubles varies where
 * integers do not serve and another native kernel sums. Strict is one sum in order of k, and so is
 * most of cuBLAS; but cuBLAS divides a long k into parts for some transposes (seen on sm_90 for tn
 * from 4096 on, for nt at 65536), whose sums err less, up to 3 times. Where no row but strict's
 * serves accurate (without tensor cores, or for a small k) it is that sum.
 */
static const struct side float_sides[] = {
    {"CPU BLAS", NULL, CPU_BLAS, 0, 0, false, false},
    {"cuBLAS", "cublas", CUBLAS, 0, 0, false, false},
    {"strict", NULL, STRICT, 4.0, 4.0, true, true},
    {"accurate", NULL, ACCURATE, 1.10, 1.10, true, true},
    {"fp16x3_mma", "fp16x3_mma", EMULATED, 1.10, 1.10, true, true}};
static const struct side double_sides[] = {
    {"cublas", "cublas", CUBLAS, 0, 0, true, false},
    {"dmma_128x128x16", "dmma_128x128x16", NATIVE, 0, 0, true, true},
    {"ozaki2", "ozaki2", EMULATED, 1.5, 1.10, true, true},
    {"ozaki2_mma", "ozaki2_mma", EMULATED, 1.5, 1.10, true, true}};

const struct side *accuracy_sides(enum xg_type type, int *count)
{
    const bool doubles = type == XG_TYPE_D;
    *count = doubles ? sizeof double_sides / sizeof double_sides[0]
                     : sizeof float_sides / sizeof float_sides[0];
    return doubles ? double_sides : float_sides;
}

const char *accuracy_line_trans_name(const struct xg_problem *call)
{
    static const char *const names[] = {"nn", "nt", "tn", "tt"};
    return names[2 * call->transa + call->transb];
}

void accuracy_line_score(struct line *line)
{
    int count;
    accuracy_sides(line->call->type, &count);
    for (int side = 0; side < count; side++)
        if (line->there[side])
            line->scores[side] = reference_score(line->reference, line->sampled[side],
                                                 line->call->alpha, line->call->beta, line->c0);
}

void accuracy_line_print_head(enum xg_type type)
{
    const bool doubles = type == XG_TYPE_D;
    int side_count;
    const struct side *sides = accuracy_sides(type, &side_count);
    printf("%-20s %6s %2s", doubles ? "operands" : "", doubles ? "k" : "", "");
    for (int side = 0; side < side_count; side++)
        printf(" | %-26s", sides[side].name);
    if (!doubles) {
        printf("\n%-20s %6s %2s", "operands", "k", "");
        for (int side = 0; side < side_count; side++)
            printf(" | %8s %8s %8s", "max", "rms", "mean");
        printf(" | rows");
    }
    printf("\n");
}

void accuracy_line_print(const struct line *line)
{
    const bool doubles = line->call->type == XG_TYPE_D, special = line->rule == RULE_SPECIAL;
    int side_count;
    const struct side *sides = accuracy_sides(line->call->type, &side_count);
    const struct score *scores = line->scores;
    const bool *there = line->there;
    printf("%-20s %6ld %2s", line->name, (long)line->call->k, accuracy_line_trans_name(line->call));
    for (int side = 0; side < side_count; side++) {
        const long wrong = special && there[side]
                               ? (long)reference_misplaced(line->reference, line->sampled[side])
                               : 0;
        if (!there[side] && (doubles || !special))
            printf(" | %8s %8s %8s", "-", "-", "-");
        else if (there[side] && !special)
            printf(" | %8.4g %8.4g %8.1e", scores[side].max, scores[side].rms, scores[side].mean);
        else if (doubles)
            printf(" | %20ld wrong", wrong);
        else if (there[side])
            printf(" | %s %ld", sides[side].name, wrong);
    }
    if (!doubles && !special)
        printf(" | %s, %s", line->strict->name, line->accurate->name);
    printf("\n");
}

/* Compares a side with cuBLAS, or with the native kernel of doubles. A block of that kernel needs
 * more shared memory than some devices have. */
static void judge_beside(const struct line *line, const struct side *sides, int side, bool fake)
{
    const bool doubles = line->call->type == XG_TYPE_D, *there = line->there;
    const struct score *scores = line->scores;
    const int beside = doubles ? (there[NATIVE_SIDE] ? NATIVE_SIDE : 0) : CUBLAS_SIDE;
    const bool strict = sides[side].how == ACCURATE && line->accurate == line->strict;
    const struct side *limits = &sides[strict ? STRICT_SIDE : side];
    if (!there[beside] || limits->worse_max == 0)
        return;
    if (side == MMA_SIDE && !doubles && fake) /* it sums doubles */
        return;
    XT_CHECK(score_within(&scores[side], &scores[beside], limits->worse_max, limits->worse_rms),
             "%s, k %ld, %s: max %.4g, rms %.4g; %s %.4g, %.4g", line->name, (long)line->call->k,
             sides[side].name, scores[side].max, scores[side].rms, sides[beside].name,
             scores[beside].max, scores[beside].rms);
}

static void judge(const struct line *line, const struct side *sides, int side, bool fake)
{
    const struct xg_problem *call = line->call;
    const enum distribution_rule rule = line->rule;
    const char *name = line->name;
    if (rule == RULE_CUBLAS)
        judge_beside(line, sides, side, fake);
    if (rule == RULE_EXACT && sides[side].exact)
        XT_CHECK_LE(line->scores[side].max, 0.0, "%s, k %ld, %s: not exact, off by %.3g", name,
                    (long)call->k, sides[side].name, line->scores[side].max);
    if (rule == RULE_SPECIAL && sides[side].special) {
        const long count = (long)reference_misplaced(line->reference, line->sampled[side]);
        XT_CHECK(count == 0, "%s, k %ld, %s: %ld elements of the wrong kind", name, (long)call->k,
                 sides[side].name, count);
    }
    if (call->k == 1 && rule == RULE_CUBLAS && call->beta == 0 && call->alpha == 1 &&
        sides[side].exact) {
        const long unrounded = (long)reference_unrounded(line->reference, line->sampled[side]);
        XT_CHECK(unrounded == 0, "%s, %s: %ld products of k = 1 are not the rounded ones", name,
                 sides[side].name, unrounded);
    }
    if (call->type == XG_TYPE_D && side == OZAKI_MMA_SIDE && line->there[OZAKI_SIDE] &&
        rule != RULE_SPECIAL)
        XT_CHECK(!memcmp(line->sampled[side], line->sampled[OZAKI_SIDE],
                         (size_t)(REFERENCE_ROWS * call->n) * sizeof(double)),
                 "%s, k %ld: other bits by wgmma", name, (long)call->k);
}

void accuracy_line_judge(const struct line *line, bool fake)
{
    int count;
    const struct side *sides = accuracy_sides(line->call->type, &count);
    for (int side = 0; side < count; side++)
        if (line->there[side])
            judge(line, sides, side, fake);
}
