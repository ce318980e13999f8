/* SPDX-License-Identifier: MIT */
/* The judges of gpu/accuracy pass right results and refuse wrong ones. */
#include <math.h>

#include "src/reference/cpu.h"
#include "tests/support/distribution.h"
#include "tests/support/reference.h"
#include "tests/support/typed.h"
#include "tests/support/xt.h"

enum { M = 70, N = 45, K = 33 };

static struct xg_team *team;
static double a[M * K], b[K * N]; /* or floats */
static float c[REFERENCE_ROWS * N];

static struct xg_problem draw(enum xg_type type, const struct distribution *distribution,
                              bool transa, bool transb)
{
    struct xg_problem call = xt_problem(type, M, N, K, transa, transb, a, b, NULL);
    distribution_fill(distribution, team, 3, &call);
    return call;
}

/* Compares sums and absolute sums with the engine's own exact elements, in every storage. */
static void test_sums(void)
{
    for (int trans = 0; trans < 4; trans++) {
        struct reference reference;
        struct xg_problem call = draw(XG_TYPE_S, &distribution_table[0], trans >> 1, trans & 1);
        XT_CHECK(reference_create(&reference, &call, team), "no memory");
        for (int r = 0; r < REFERENCE_ROWS; r++)
            for (int64_t j = 0; j < N; j++) {
                const struct xg_cpu_exact exact = xg_cpu_exact(&call, reference.row[r], j, NULL);
                const double bound = 1e-13 * (double)exact.magnitude;
                XT_CHECK_LE((double)fabsl(reference.sum[r * N + j] - exact.re), bound,
                            "sum of row %d", r);
                XT_CHECK_LE((double)fabsl(reference.absolute[r * N + j] - exact.magnitude), bound,
                            "absolute sum of row %d", r);
            }
        reference_destroy(&reference);
    }
}

static void test_wrong(void)
{
    struct reference reference;
    struct xg_problem call = draw(XG_TYPE_S, &distribution_table[1], false, false);
    enum { COUNT = REFERENCE_ROWS * N };
    XT_CHECK(reference_create(&reference, &call, team), "no memory");
    for (int e = 0; e < COUNT; e++)
        c[e] = (float)reference.sum[e];
    struct score rounded = reference_score(&reference, c, 1.0f, 0.0f, NULL);
    XT_CHECK_LE(rounded.max, 1.0, "rounded sums do not pass");
    XT_CHECK(reference_unrounded(&reference, c) == 0, "rounded sums are taken for others");
    XT_CHECK(reference_misplaced(&reference, c) == 0, "rounded sums are taken for others");

    c[COUNT - 1] += (float)reference.absolute[COUNT - 1] * 0x1p-18f;
    struct score off = reference_score(&reference, c, 1.0f, 0.0f, NULL);
    XT_CHECK(off.max > 63.0 && off.max < 66.0, "64 units off, %.3g seen", off.max);
    XT_CHECK(!score_within(&off, &rounded, 4.0, 4.0), "an error of 64 units passes");
    XT_CHECK(score_within(&rounded, &off, 1.0, 1.0), "a smaller error does not pass");
    XT_CHECK(reference_unrounded(&reference, c) == 1, "a sum that is not the rounded one passes");
    XT_CHECK(reference_misplaced(&reference, c) == 1, "a sum beyond the bound passes");

    c[7] = NAN;
    struct score nan = reference_score(&reference, c, 1.0f, 0.0f, NULL);
    XT_CHECK(!score_within(&nan, &off, 1e30, 1e30) && !score_within(&off, &nan, 1e30, 1e30),
             "NaN passes");
    XT_CHECK(reference_misplaced(&reference, c) == 2, "NaN in place of a number passes");
    c[7] = INFINITY;
    XT_CHECK(reference_misplaced(&reference, c) == 2, "infinity in place of a number passes");
    reference_destroy(&reference);
}

/* Every distribution suits its rule: under RULE_EXACT the exact sums are numbers of the type, and
 * under RULE_CUBLAS they are finite and some of them are not. */
static void test_distributions(enum xg_type type)
{
    const int count = type == XG_TYPE_D ? distribution_doubles_count : distribution_count;
    for (int d = 0; d < count; d++) {
        const struct distribution *distribution = &distribution_table[d];
        struct reference reference;
        struct xg_problem call = draw(type, distribution, d & 2, d & 1);
        XT_CHECK(reference_create(&reference, &call, team), "no memory");
        long unrounded = 0, finite = 0;
        for (int e = 0; e < REFERENCE_ROWS * N; e++) {
            const double rounded =
                type == XG_TYPE_D ? (double)reference.sum[e] : (double)(float)reference.sum[e];
            unrounded += (long double)rounded != reference.sum[e];
            finite += isfinite(rounded) && isfinite((double)reference.absolute[e]);
        }
        if (distribution->rule == RULE_EXACT)
            XT_CHECK(unrounded == 0, "type %d, %s: %ld sums are inexact", type, distribution->name,
                     unrounded);
        if (distribution->rule == RULE_CUBLAS)
            XT_CHECK(finite == REFERENCE_ROWS * N && unrounded > 0,
                     "type %d, %s: %ld finite, %ld inexact", type, distribution->name, finite,
                     unrounded);
        reference_destroy(&reference);
    }
}

int main(void)
{
    if (xg_team_create(2, &team) != XG_OK)
        return XT_HARD;
    test_sums();
    test_wrong();
    test_distributions(XG_TYPE_S);
    test_distributions(XG_TYPE_D);
    xg_team_destroy(team);
    return xt_done();
}
