/* SPDX-License-Identifier: MIT */
/* The median of the times that benchmarks and tools measure. */
#ifndef BENCH_MEDIAN_H
#define BENCH_MEDIAN_H

#include <stdlib.h>

static inline int median_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values (count >= 1, no NaN) and returns the median; for an even count the upper of the
 * two. */
static inline double median_sort(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, median_order);
    return values[count / 2];
}

#endif
