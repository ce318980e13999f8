/* SPDX-License-Identifier: MIT */
/* Medians, and the exact Mann-Whitney test by counting sums of ranks. */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

#include "bench/median.h"

double rank_median(const double *values, int count)
{
    double sorted[RANK_MAX];

    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    double upper = median_sort(sorted, count);
    return (sorted[(count - 1) / 2] + upper) / 2;
}

/* Twice the rank, which is a whole number: equal values share the mean of their ranks. */
static int rank_twice(const double *values, int count, double value)
{
    int below = 0, equal = 0;

    for (int i = 0; i < count; i++) {
        below += values[i] < value;
        equal += values[i] == value;
    }
    return 2 * below + equal + 1;
}

/* ways[j * sums + s]: the number of ways in which j of the ranks seen so far add up to s. It is at
 * most 10^59 (100 of 200), of which a double keeps 16 digits. */
static void count_ways(double *ways, int most, int sums, const int *ranks, int count)
{
    ways[0] = 1;
    for (int i = 0; i < count; i++)
        for (int j = i < most ? i + 1 : most; j >= 1; j--)
            for (int s = sums - 1; s >= ranks[i]; s--)
                ways[j * sums + s] += ways[(j - 1) * sums + s - ranks[i]];
}

double rank_p(const double *a, int a_count, const double *b, int b_count)
{
    double all[2 * RANK_MAX];
    int ranks[2 * RANK_MAX], count = a_count + b_count, observed = 0;
    int sums = count * (count + 1) + 1, middle = a_count * (count + 1);
    double *ways = calloc((size_t)(a_count + 1) * (size_t)sums, sizeof *ways);
    double total = 0, as_far = 0;

    if (!ways)
        return 1;
    memcpy(all, a, (size_t)a_count * sizeof *all);
    memcpy(all + a_count, b, (size_t)b_count * sizeof *all);
    for (int i = 0; i < count; i++) {
        ranks[i] = rank_twice(all, count, all[i]);
        observed += i < a_count ? ranks[i] : 0;
    }
    count_ways(ways, a_count, sums, ranks, count);
    for (int s = 0; s < sums; s++) {
        total += ways[a_count * sums + s];
        if (abs(s - middle) >= abs(observed - middle))
            as_far += ways[a_count * sums + s];
    }
    free(ways);
    return as_far / total;
}

double rank_p_least(int count)
{
    double p = 2;

    for (int i = 1; i <= count; i++)
        p *= (double)i / (count + i);
    return p < 1 ? p : 1;
}
