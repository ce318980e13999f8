/* SPDX-License-Identifier: MIT */
/* Compares two small samples: their medians, and whether they differ by more than chance. Pure. */
#ifndef TOOLS_RANK_H
#define TOOLS_RANK_H

enum { RANK_MAX = 100 /* values in a sample */ };

/* The median of count values; count is at least 1. */
double rank_median(const double *values, int count);

/*
 * The two-sided probability that samples of one distribution differ in their ranks by as much as
 * these do: the exact Mann-Whitney test (Wilcoxon's rank sum). It counts all ways of distributing
 * the ranks over both samples; equal values get the mean of their ranks. It assumes nothing about
 * the distribution. Both counts are from 1 to RANK_MAX. Returns 1 if there is no memory for
 * counting.
 */
double rank_p(const double *a, int a_count, const double *b, int b_count);

/* The smallest probability that rank_p can return for `count` values in each sample. */
double rank_p_least(int count);

#endif
