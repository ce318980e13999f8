/* SPDX-License-Identifier: MIT */
/* Two small samples: their medians, and whether they differ by more than chance. Pure. */
#ifndef TOOLS_RANK_H
#define TOOLS_RANK_H

enum { RANK_MAX = 100 /* values in a sample */ };

/* The median of count values, 1 at least. */
double rank_median(const double *values, int count);

/*
 * The two-sided probability that samples of one distribution differ in their ranks by as much as
 * these do: the Mann-Whitney test (Wilcoxon's rank sum), exact. It is counted out over all ways in
 * which the ranks of both samples can be shared out, equal values having the mean of their ranks;
 * nothing is assumed of the distribution. Both counts from 1 to RANK_MAX. 1 where there is no
 * memory to count with.
 */
double rank_p(const double *a, int a_count, const double *b, int b_count);

/* The least probability that rank_p can give with so many values in each sample. */
double rank_p_least(int count);

#endif
