/* SPDX-License-Identifier: MIT */
#include "verify/accuracy.h"

#include <math.h>

#include "reference/cpu.h"

/* The i-th of evenly spread points in [0, extent): multiples of an irrational, modulo 1. */
static int64_t spread(int i, double step, int64_t extent)
{
    double at = (i + 0.5) * step;
    int64_t index = (int64_t)((at - floor(at)) * (double)extent);
    return xg_min_i64(index, extent - 1);
}

void xg_accuracy_init(struct xg_accuracy *accuracy, const struct xg_problem *call)
{
    int points = (int)fmin(XG_ACCURACY_SAMPLES, (double)call->m * (double)call->n);
    accuracy->count = 0;
    accuracy->type = call->type;
    for (int s = 0; s < points; s++) {
        /* The plastic number's powers fill the unit square evenly (Roberts, 2018). */
        int64_t i = spread(s, 0.7548776662466927, call->m), begin, end;
        int64_t j = spread(s, 0.5698402909980532, call->n);
        if (s < 4) { /* tiles end at the edges, where mistakes are likely */
            i = s & 1 ? call->m - 1 : 0;
            j = s & 2 ? call->n - 1 : 0;
        }
        xg_problem_row(call, i, 0, call->n, &begin, &end);
        if (j < begin || j >= end)
            continue;
        int at = accuracy->count++;
        accuracy->row[at] = i;
        accuracy->column[at] = j;
        accuracy->exact[at] = xg_cpu_exact(call, i, j, xg_problem_c_at(call, i, j));
    }
}

/* The error of one part of a number, in units of the precision. It is 0 if the value is the exact
 * one, rounded; this also covers infinities and subnormal magnitudes. */
static double error_of(enum xg_type type, long double value, long double exact,
                       long double magnitude)
{
    bool wide = xg_type_is_double(type);
    bool rounds = wide ? (double)value == (double)exact : (float)value == (float)exact;
    if (rounds || (isnan(value) && isnan(exact)))
        return 0;
    return (double)(fabsl(value - exact) / magnitude * (wide ? 0x1p53L : 0x1p24L));
}

double xg_accuracy_error(const struct xg_accuracy *accuracy, const struct xg_problem *call)
{
    double worst = 0;
    for (int s = 0; s < accuracy->count; s++) {
        const void *c = xg_problem_c_at(call, accuracy->row[s], accuracy->column[s]);
        const struct xg_cpu_exact *exact = &accuracy->exact[s];
        bool complex = xg_type_is_complex(accuracy->type);
        for (int part = 0; part <= complex; part++) {
            long double value = xg_type_is_double(accuracy->type) ? ((const double *)c)[part]
                                                                  : ((const float *)c)[part];
            double error =
                error_of(accuracy->type, value, part ? exact->im : exact->re, exact->magnitude);
            if (isnan(error))
                return error;
            worst = fmax(worst, error);
        }
    }
    return worst;
}
