/* SPDX-License-Identifier: MIT */
/* One line of gpu/accuracy's tables: its sides, their errors, and how these are judged. */
#ifndef ACCURACY_LINE_H
#define ACCURACY_LINE_H

#include "src/decide/select.h"
#include "tests/support/distribution.h"
#include "tests/support/reference.h"

/* How a side computes. CUBLAS and NATIVE are rows by name, EMULATED are pieces or residues. */
enum how { CPU_BLAS, CUBLAS, NATIVE, STRICT, ACCURATE, EMULATED };

struct side {
    const char *name, *row; /* row: NULL if selection chooses it */
    enum how how;
    double worse_max, worse_rms; /* accuracy_line.c explains them */
    bool exact, special;         /* judged on lines of these rules */
};
enum { CUBLAS_SIDE = 1, STRICT_SIDE, ACCURATE_SIDE, MMA_SIDE }; /* of floats */
enum { NATIVE_SIDE = 1, OZAKI_SIDE, OZAKI_MMA_SIDE };           /* of doubles */

enum { SIDES_MAX = 5 };
const struct side *accuracy_sides(enum xg_type type, int *count);

struct line {
    const char *name;
    enum distribution_rule rule;
    const struct xg_problem *call;
    const struct reference *reference;
    void *const *sampled; /* by side: the sampled rows of its result */
    const float *c0;      /* of C before, or NULL */
    bool there[SIDES_MAX];
    const struct xg_kernel *strict, *accurate; /* of floats: the rows that were selected */
    struct score scores[SIDES_MAX];            /* set by line_score */
};

const char *accuracy_line_trans_name(const struct xg_problem *call);
void accuracy_line_score(struct line *line);
void accuracy_line_print_head(enum xg_type type);
void accuracy_line_print(const struct line *line);
void accuracy_line_judge(const struct line *line, bool fake);

#endif
