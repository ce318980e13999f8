/* SPDX-License-Identifier: MIT */
/* Operands for tests of accuracy: what the numbers of a matrix are like, as a table. */
#ifndef DISTRIBUTION_H
#define DISTRIBUTION_H

#include "src/host/team.h"

/* How a result is judged. */
enum distribution_rule {
    RULE_CUBLAS,  /* max and rms error no worse than cuBLAS's */
    RULE_EXACT,   /* the exact sums are floats, and the result is them */
    RULE_SPECIAL, /* NaN and infinities where they belong, finite elements within the bound */
};

/* One element: of A (which 'a', outer is its row of op(A)) or of B ('b', outer its column). */
struct distribution_place {
    uint64_t seed;
    char which;
    int64_t outer, l, k; /* l: its place along k */
    double parameter;
};

struct distribution {
    const char *name;
    enum distribution_rule rule;
    float (*element)(const struct distribution_place *place);
    double parameter;
};

/* In the order of the rules. */
extern const struct distribution distribution_table[];
extern const int distribution_count;

/* What is hard for doubles alone. */
struct distribution_double {
    const char *name;
    enum distribution_rule rule;
    double (*element)(const struct distribution_place *place);
    double parameter;
};

extern const struct distribution_double distribution_doubles[];
extern const int distribution_doubles_count;

/* An element of a line of floats as a double: all 53 bits are drawn, except where sums are exact.
 */
double distribution_widened(const struct distribution *distribution,
                            const struct distribution_place *place);

/*
 * Fills op(A) (outer = m) or op(B) (outer = n) in its storage: (outer,k) with k along the rows when
 * k_along_rows, else (k,outer); what is between the rows becomes zero. The same seed gives the same
 * numbers in either storage and with any team.
 */
void distribution_fill(const struct distribution *distribution, struct xg_team *team, uint64_t seed,
                       char which, int64_t outer, int64_t k, bool k_along_rows, float *matrix,
                       int64_t ld);

#endif
