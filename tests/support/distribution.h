/* SPDX-License-Identifier: MIT */
/* Operands for tests of accuracy: a table of distributions of the numbers of a matrix. */
#ifndef DISTRIBUTION_H
#define DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

struct xg_problem;
struct xg_team;

/* How a result is judged. */
enum distribution_rule {
    RULE_CUBLAS,  /* the largest and the rms error are at most cuBLAS's */
    RULE_EXACT,   /* the exact sums are numbers of the type, and the result equals them */
    RULE_SPECIAL, /* NaN and infinities are where they belong, finite elements within the bound */
};

/* One element: of A (which 'a', outer is its row of op(A)) or of B ('b', outer its column). */
struct distribution_place {
    uint64_t seed;
    int digits; /* of the type: FLT_MANT_DIG or DBL_MANT_DIG */
    char which;
    int64_t outer, l, k; /* l: its place along k */
    double parameter;    /* set by distribution_element */
};

/* Floats are the returned doubles, rounded. */
struct distribution {
    const char *name;
    enum distribution_rule rule;
    double (*element)(const struct distribution_place *place);
    double parameter;
};

/* The first distribution_count rows are for either type; all rows are for doubles. */
extern const struct distribution distribution_table[];
extern const int distribution_count, distribution_doubles_count;

/* NULL if no row has the name. */
const struct distribution *distribution_named(const char *name);

double distribution_element(const struct distribution *distribution,
                            struct distribution_place place);

/* Fills A and B of the call, floats or doubles, with zeros between the rows. The same seed gives
 * the same op(A) and op(B) in any storage and with any team. */
void distribution_fill(const struct distribution *distribution, struct xg_team *team, uint64_t seed,
                       const struct xg_problem *call);

#endif
