/* SPDX-License-Identifier: MIT */
/* Products in double precision, by strips of columns, and scores of floats against them. */
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

static void add_step(double (*sum)[STRIP], double (*absolute)[STRIP], const double *a,
                     const double *b)
{
    double b_absolute[STRIP];
    for (int c = 0; c < STRIP; c++)
        b_absolute[c] = fabs(b[c]);
    for (int r = 0; r < REFERENCE_ROWS; r++) {
        double a_absolute = fabs(a[r]);
        for (int c = 0; c < STRIP; c++) {
            sum[r][c] += a[r] * b[c];
            absolute[r][c] += a_absolute * b_absolute[c];
        }
    }
}

static void compute_strips(void *arg, int worker)
{
    const struct strips *strips = arg;
    const struct xg_problem *call = strips->call;
    int64_t n = call->n;
    int64_t step_l = call->transb ? 1 : call->ldb, step_j = call->transb ? call->ldb : 1;
    for (int64_t j0 = (int64_t)worker * STRIP; j0 < n; j0 += (int64_t)strips->workers * STRIP) {
        double sum[REFERENCE_ROWS][STRIP] = {{0}}, absolute[REFERENCE_ROWS][STRIP] = {{0}};
        double b[STRIP] = {0};
        int64_t count = xg_min_i64(STRIP, n - j0);
        for (int64_t l = 0; l < call->k; l++) {
            const float *from = (const float *)call->b + l * step_l + j0 * step_j;
            for (int64_t c = 0; c < count; c++)
                b[c] = (double)from[c * step_j];
            add_step(sum, absolute, strips->a + l * REFERENCE_ROWS, b);
        }
        for (int r = 0; r < REFERENCE_ROWS; r++) {
            size_t bytes = (size_t)count * sizeof(double);
            memcpy(strips->reference->sum + r * n + j0, sum[r], bytes);
            memcpy(strips->reference->absolute + r * n + j0, absolute[r], bytes);
        }
    }
}

bool reference_create(struct reference *reference, const struct xg_problem *call,
                      struct xg_team *team)
{
    size_t elems = (size_t)(REFERENCE_ROWS * call->n);
    double *a = malloc((size_t)(REFERENCE_ROWS * call->k) * sizeof *a);
    *reference = (struct reference){
        .n = call->n,
        .k = call->k,
        .sum = malloc(elems * sizeof(double)),
        .absolute = malloc(elems * sizeof(double)),
        .a = malloc((size_t)(REFERENCE_ROWS * call->k) * sizeof(float)),
    };
    bool there = a && reference->sum && reference->absolute && reference->a;
    int64_t band = call->m / REFERENCE_ROWS;
    for (int r = 0; there && r < REFERENCE_ROWS; r++) {
        int64_t row = reference->row[r] = r * band + (int64_t)r * 29 % band;
        for (int64_t l = 0; l < call->k; l++) {
            float value = call->transa ? ((const float *)call->a)[l * call->lda + row]
                                       : ((const float *)call->a)[row * call->lda + l];
            reference->a[r * call->k + l] = value;
            a[l * REFERENCE_ROWS + r] = (double)value;
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

struct score reference_score(const struct reference *reference, const float *c, float alpha,
                             float beta, const float *c0)
{
    struct score score = {0};
    double squares = 0.0, total = 0.0;
    int64_t count = REFERENCE_ROWS * reference->n;
    for (int64_t e = 0; e < count; e++) {
        double before = beta == 0.0f ? 0.0 : (double)beta * (double)c0[e];
        double scale = fabs((double)alpha) * reference->absolute[e] + fabs(before);
        double off = (double)c[e] - ((double)alpha * reference->sum[e] + before);
        double error = off == 0.0 ? 0.0 : off / scale * 0x1p24;
        if (!(fabs(error) <= score.max)) /* NaN comes in, and stays */
            score.max = isnan(score.max) ? NAN : fabs(error);
        squares += error * error;
        total += error;
    }
    score.rms = sqrt(squares / (double)count);
    score.mean = total / (double)count;
    return score;
}

bool score_within(const struct score *ours, const struct score *theirs, double factor)
{
    return ours->max <= factor * theirs->max && ours->rms <= factor * theirs->rms;
}

int64_t reference_unrounded(const struct reference *reference, const float *c)
{
    int64_t count = 0;
    for (int64_t e = 0; e < REFERENCE_ROWS * reference->n; e++)
        count += !(c[e] == (float)reference->sum[e]);
    return count;
}

static bool belongs(double exact, double absolute, double value, int64_t k)
{
    double share = (double)(k + 3) * 0x1p-24;
    if (isnan(exact))
        return isnan(value);
    if (isinf(value))
        return fabs(exact) >= (1.0 - share) * 0x1p128 && (value > 0) == (exact > 0);
    if (fabs(exact) > (1.0 + share) * 0x1p128)
        return false;
    return fabs(value - exact) <= share * absolute + (double)k * 0x1p-149;
}

int64_t reference_misplaced(const struct reference *reference, const float *c)
{
    int64_t count = 0;
    for (int64_t e = 0; e < REFERENCE_ROWS * reference->n; e++)
        count += !belongs(reference->sum[e], reference->absolute[e], (double)c[e], reference->k);
    return count;
}
