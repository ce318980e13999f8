/* SPDX-License-Identifier: MIT */
#include "report/compare.h"

#include <math.h>
#include <string.h>

enum { SHAPES = 256 };

struct shape {
    struct xg_problem call; /* the first call; its pointers are not followed */
    const char *symbol, *kernel;
    bool routine;
    long calls;
    double cpu_seconds, gpu_seconds; /* sums, without the first of several calls */
    double cpu_error, gpu_error; /* largest; NaN once any was NaN; XG_COMPARE_UNMEASURED: none */
};

static struct shape shapes[SHAPES];
static int shape_count;
static long dropped;    /* calls of shapes that found the table full */
static long unmeasured; /* calls with a side whose error could not be measured */

static bool shape_matches(const struct shape *shape, const struct xg_compare_record *record)
{
    const struct xg_problem *a = &shape->call, *b = &record->call;

    return a->m == b->m && a->n == b->n && a->k == b->k && a->transa == b->transa &&
           a->transb == b->transb && xg_problem_beta_zero(a) == xg_problem_beta_zero(b) &&
           !strcmp(shape->symbol, record->symbol);
}

/* fmax would lose a NaN, which the table must show. Any error is larger than none. */
static double larger_error(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

void xg_compare_add(const struct xg_compare_record *record)
{
    struct shape *shape = shapes;

    while (shape < shapes + shape_count && !shape_matches(shape, record))
        shape++;
    if (shape == shapes + SHAPES) {
        dropped++;
        return;
    }
    if (shape == shapes + shape_count) {
        *shape = (struct shape){
            .call = record->call,
            .symbol = record->symbol,
            .routine = record->routine,
            .cpu_error = XG_COMPARE_UNMEASURED,
            .gpu_error = XG_COMPARE_UNMEASURED,
        };
        shape->call.batch = NULL; /* points to the caller's memory */
        shape_count++;
    }
    shape->kernel = record->kernel;
    /* The first call may have loaded a kernel or a library. */
    if (shape->calls++ == 1)
        shape->cpu_seconds = shape->gpu_seconds = 0;
    shape->cpu_seconds += record->cpu_seconds;
    shape->gpu_seconds += record->gpu_seconds;
    shape->cpu_error = larger_error(shape->cpu_error, record->cpu_error);
    shape->gpu_error = larger_error(shape->gpu_error, record->gpu_error);
    unmeasured += record->cpu_error < 0 || record->gpu_error < 0;
}

void xg_compare_clear(void)
{
    shape_count = 0;
    dropped = unmeasured = 0;
}

static const char *error_text(double error, char text[16])
{
    snprintf(text, 16, "%.3g", error);
    return error < 0 ? "-" : text;
}

void xg_compare_print(FILE *out)
{
    if (shape_count == 0)
        return;
    fprintf(out,
            "xgemm: CPU and GPU compared; mean times, without the first of several calls; largest "
            "error of the elements sampled, in units of 2^-24 (of double precision: 2^-53) of "
            "|alpha||A||B| + |beta||C|; of LAPACK's routines the residual, in units of sqrt(n) "
            "eps\n");
    fprintf(out, "  %-26s %7s %7s %7s %5s %4s %6s %10s %10s %8s %9s %9s  %s\n", "name", "m", "n",
            "k", "trans", "beta", "calls", "CPU ms", "GPU ms", "speed-up", "CPU error", "GPU error",
            "kernel");
    for (const struct shape *s = shapes; s < shapes + shape_count; s++) {
        const char trans[] = {xg_trans_letter(s->call.transa), xg_trans_letter(s->call.transb), 0};
        const double timed = (double)(s->calls > 1 ? s->calls - 1 : 1);
        char cpu[16], gpu[16];
        fprintf(out, "  %-26s %7lld %7lld %7lld %5s %4s %6ld %10.3f %10.3f %8.2f %9s %9s  %s\n",
                s->symbol, (long long)s->call.m, (long long)s->call.n, (long long)s->call.k,
                s->routine ? "-" : trans,
                s->routine                       ? "-"
                : xg_problem_beta_zero(&s->call) ? "0"
                                                 : "any",
                s->calls, 1e3 * s->cpu_seconds / timed, 1e3 * s->gpu_seconds / timed,
                s->cpu_seconds / s->gpu_seconds, error_text(s->cpu_error, cpu),
                error_text(s->gpu_error, gpu), s->kernel ? s->kernel : "-");
    }
    if (unmeasured)
        fprintf(out, "  without the errors of %ld calls, which could not be measured\n",
                unmeasured);
    if (dropped)
        fprintf(out, "  and %ld products of further shapes\n", dropped);
}
