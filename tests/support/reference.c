/* SPDX-License-Identifier: MIT */
/* Products in higher precision, by strips of columns, and scores of results against them. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns at a time: two sums of this many columns for each row stay in a core's own cache. */
enum { STRIP = 32 };

struct strips {
    struct reference *reference;
    const struct xg_problem *call;
    const double *a; /* (k,REFERENCE_ROWS) */
    int workers;
};

static double number(enum xg_type type, const void *from, int64_t at)
{
    return type == XG_TYPE_D ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

/* Columns [j0,j0+count) of op(B) at place l, as doubles. */
static void read_columns(const struct xg_problem *call, int64_t l, int64_t j0, int64_t count,
                         double *b)
{
    const int64_t step_l = call->transb ? 1 : call->ldb, step_j = call->transb ? call->ldb : 1;
    for (int64_t c = 0; c < count; c++)
        b[c] = number(call->type, call->b, l * step_l + (j0 + c) * step_j);
}

/* The same in both precisions, because long double has no vectors. */
#define ADD_STEP(name, real, magnitude)                                                            \
    static void name(real(*sum)[STRIP], real(*absolute)[STRIP], const double *a, const double *b)  \
    {                                                                                              \
        real b_absolute[STRIP];                                                                    \
        for (int c = 0; c < STRIP; c++)                                                            \
            b_absolute[c] = magnitude((real)b[c]);                                                 \
        for (int r = 0; r < REFERENCE_ROWS; r++) {                                                 \
            const real a_absolute = magnitude((real)a[r]);                                         \
            for (int c = 0; c < STRIP; c++) {                                                      \
                sum[r][c] += (real)a[r] * (real)b[c];                                              \
                absolute[r][c] += a_absolute * b_absolute[c];                                      \
            }                                                                                      \
        }                                                                                          \
    }
ADD_STEP(add_step, double, fabs)
ADD_STEP(add_long_step, long double, fabsl)

static void compute_strips(void *arg, int worker)
{
    const struct strips *strips = arg;
    const struct xg_problem *call = strips->call;
    const bool doubles = call->type == XG_TYPE_D;
    const int64_t n = call->n;
    for (int64_t j0 = (int64_t)worker * STRIP; j0 < n; j0 += (int64_t)strips->workers * STRIP) {
        double sum[REFERENCE_ROWS][STRIP] = {{0}}, absolute[REFERENCE_ROWS][STRIP] = {{0}};
        long double long_sum[REFERENCE_ROWS][STRIP] = {{0}};
        long double long_absolute[REFERENCE_ROWS][STRIP] = {{0}};
        double b[STRIP] = {0};
        const int64_t count = xg_min_i64(STRIP, n - j0);
        for (int64_t l = 0; l < call->k; l++) {
            read_columns(call, l, j0, count, b);
            if (doubles)
                add_long_step(long_sum, long_absolute, strips->a + l * REFERENCE_ROWS, b);
            else
                add_step(sum, absolute, strips->a + l * REFERENCE_ROWS, b);
        }
        for (int r = 0; r < REFERENCE_ROWS; r++)
            for (int64_t c = 0; c < count; c++) {
                const int64_t e = r * n + j0 + c;
                strips->reference->sum[e] = doubles ? long_sum[r][c] : (long double)sum[r][c];
                strips->reference->absolute[e] =
                    doubles ? long_absolute[r][c] : (long double)absolute[r][c];
            }
    }
}

bool reference_create(struct reference *reference, const struct xg_problem *call,
                      struct xg_team *team)
{
    const size_t bytes = xg_type_bytes(call->type);
    const size_t elems = (size_t)(REFERENCE_ROWS * call->n);
    double *a = malloc((size_t)(REFERENCE_ROWS * call->k) * sizeof *a);
    *reference = (struct reference){
        .type = call->type,
        .n = call->n,
        .k = call->k,
        .sum = malloc(elems * sizeof *reference->sum),
        .absolute = malloc(elems * sizeof *reference->absolute),
        .a = malloc((size_t)(REFERENCE_ROWS * call->k) * bytes),
    };
    bool there = a && reference->sum && reference->absolute && reference->a;
    int64_t band = call->m / REFERENCE_ROWS;
    for (int r = 0; there && r < REFERENCE_ROWS; r++) {
        int64_t row = reference->row[r] = r * band + (int64_t)r * 29 % band;
        for (int64_t l = 0; l < call->k; l++) {
            const int64_t at = call->transa ? l * call->lda + row : row * call->lda + l;
            memcpy((char *)reference->a + (size_t)(r * call->k + l) * bytes,
                   (const char *)call->a + (size_t)at * bytes, bytes);
            a[l * REFERENCE_ROWS + r] = number(call->type, call->a, at);
        }
    }
    struct strips strips = {
        .reference = reference, .call = call, .a = a, .workers = xg_team_size(team)};
    if (there)
        xg_team_run(team, strips.workers, compute_strips, &strips);
    else
        reference_destroy(reference);
    free(a);
    return there;
}

void reference_destroy(struct reference *reference)
{
    free(reference->sum);
    free(reference->absolute);
    free(reference->a);
    *reference = (struct reference){0};
}

/* Half of the distance between 1 and the next number of the type. */
static long double unit_of(const struct reference *reference)
{
    return reference->type == XG_TYPE_D ? 0x1p-53L : 0x1p-24L;
}

struct score reference_score(const struct reference *reference, const void *c, double alpha,
                             double beta, const void *c0)
{
    struct score score = {0};
    double squares = 0.0, total = 0.0;
    int64_t count = REFERENCE_ROWS * reference->n;
    for (int64_t e = 0; e < count; e++) {
        long double before =
            beta == 0.0 ? 0.0L : (long double)beta * (long double)number(reference->type, c0, e);
        long double scale = fabsl((long double)alpha) * reference->absolute[e] + fabsl(before);
        long double off = (long double)number(reference->type, c, e) -
                          ((long double)alpha * reference->sum[e] + before);
        double error = off == 0.0L ? 0.0 : (double)(off / scale / unit_of(reference));
        if (!(fabs(error) <= score.max)) /* NaN comes in, and stays */
            score.max = isnan(score.max) ? NAN : fabs(error);
        squares += error * error;
        total += error;
    }
    score.rms = sqrt(squares / (double)count);
    score.mean = total / (double)count;
    return score;
}

bool score_within(const struct score *ours, const struct score *theirs, double max, double rms)
{
    return ours->max <= max * theirs->max && ours->rms <= rms * theirs->rms;
}

int64_t reference_unrounded(const struct reference *reference, const void *c)
{
    int64_t count = 0;
    for (int64_t e = 0; e < REFERENCE_ROWS * reference->n; e++) {
        const double rounded = reference->type == XG_TYPE_D ? (double)reference->sum[e]
                                                            : (double)(float)reference->sum[e];
        count += !(number(reference->type, c, e) == rounded);
    }
    return count;
}

static bool belongs(const struct reference *reference, int64_t e, double value)
{
    const bool doubles = reference->type == XG_TYPE_D;
    const long double exact = reference->sum[e];
    const long double share = (long double)(reference->k + 3) * unit_of(reference);
    const long double end = doubles ? 0x1p1024L : 0x1p128L,
                      least = doubles ? 0x1p-1074L : 0x1p-149L;
    if (isnan(exact))
        return isnan(value);
    if (isinf(value))
        return fabsl(exact) >= (1.0L - share) * end && (value > 0) == (exact > 0);
    if (fabsl(exact) > (1.0L + share) * end)
        return false;
    return fabsl((long double)value - exact) <=
           share * reference->absolute[e] + (long double)reference->k * least;
}

int64_t reference_misplaced(const struct reference *reference, const void *c)
{
    int64_t count = 0;
    for (int64_t e = 0; e < REFERENCE_ROWS * reference->n; e++)
        count += !belongs(reference, e, number(reference->type, c, e));
    return count;
}
