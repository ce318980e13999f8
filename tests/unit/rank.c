/* SPDX-License-Identifier: MIT */
/* Medians, and the exact rank test compared with published values and with counts by hand. */
#include <math.h>

#include "tests/support/xt.h"
#include "tools/rank.h"

static void test_median(void)
{
    static const double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};

    XT_CHECK(rank_median(odd, 3) == 3, "%g", rank_median(odd, 3));
    XT_CHECK(rank_median(even, 4) == 2.5, "%g", rank_median(even, 4));
    XT_CHECK(rank_median(one, 1) == 7, "%g", rank_median(one, 1));
}

static void check_p(const double *a, int a_count, const double *b, int b_count, double expected)
{
    double p = rank_p(a, a_count, b, b_count), swapped = rank_p(b, b_count, a, a_count);

    XT_CHECK_LE(fabs(p - expected), 1e-12 * expected, "%.17g and not %.17g", p, expected);
    XT_CHECK_LE(fabs(p - swapped), 1e-12 * expected, "%.17g one way, %.17g the other", p, swapped);
}

/* Two-sided: twice the values of Mann and Whitney's tables for U. */
static void test_known(void)
{
    static const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
    static const double mixed[] = {1, 2, 3, 4, 6}, rest[] = {5, 7, 8, 9, 10};
    static const double odd[] = {1, 4, 5}, even[] = {2, 3, 6};

    check_p(low, 5, high, 5, 2.0 / 252);   /* U = 0 */
    check_p(mixed, 5, rest, 5, 4.0 / 252); /* U = 1 */
    check_p(low, 4, high, 4, 2.0 / 70);
    check_p(low, 3, high, 3, 2.0 / 20);
    check_p(low, 1, high, 1, 1);
    check_p(odd, 3, even, 3, 1); /* sums of ranks 10 and 11: none is closer to the middle */
    check_p(low, 2, high, 5, 2.0 / 21);
}

/* Equal values share their ranks; if all are equal, p is 1. */
static void test_ties(void)
{
    static const double same[] = {2, 2, 2, 2, 2};
    static const double low[] = {1, 1, 1, 2}, high[] = {2, 3, 3, 3};

    check_p(same, 5, same, 5, 1);
    /* Ranks 2 2 2 4.5 | 4.5 7 7 7: of 70 choices of four, {2 2 2 4.5} in 2 ways, and its mirror. */
    check_p(low, 4, high, 4, 4.0 / 70);
}

/* rank_p_least equals rank_p for samples without overlap, and p stays a probability. */
static void test_many(void)
{
    static double a[RANK_MAX], b[RANK_MAX];
    uint64_t seed = 1;

    for (int count = 1; count <= RANK_MAX; count += 9) {
        for (int i = 0; i < count; i++) {
            a[i] = i;
            b[i] = 1000 + i;
        }
        double p = rank_p(a, count, b, count), least = rank_p_least(count);
        XT_CHECK_LE(fabs(p / least - 1), 1e-9, "%d: %g and %g", count, p, least);
    }
    for (int i = 0; i < RANK_MAX; i++) {
        a[i] = (double)xt_random(&seed);
        b[i] = (double)xt_random(&seed);
    }
    double p = rank_p(a, RANK_MAX, b, RANK_MAX);
    XT_CHECK(p > 0.01 && p <= 1, "%g", p);
    for (int i = 0; i < RANK_MAX; i++)
        b[i] += 1;
    p = rank_p(a, RANK_MAX, b, RANK_MAX);
    XT_CHECK(p > 0 && p < 1e-6, "%g", p);
}

/* At most one in twenty pairs of samples of one distribution is found to differ. */
static void test_level(void)
{
    enum { TRIALS = 4000 };
    uint64_t seed = 7;
    int found = 0;

    for (int trial = 0; trial < TRIALS; trial++) {
        double a[5], b[5];
        for (int i = 0; i < 5; i++) {
            a[i] = (double)xt_random(&seed);
            b[i] = (double)xt_random(&seed);
        }
        found += rank_p(a, 5, b, 5) <= 0.05;
    }
    /* 8 of 252 sums of ranks are this far from the middle: 0.032. */
    XT_CHECK(found > TRIALS * 0.02 && found < TRIALS * 0.05, "%d of %d", found, TRIALS);
}

int main(void)
{
    test_median();
    test_known();
    test_ties();
    test_many();
    test_level();
    return xt_done();
}
