/* SPDX-License-Identifier: MIT */
/* Samples a product and measures errors. */
#include "judge.h"

#include <math.h>

#include "cpu.h"

/* The i-th of evenly spread points in [0, extent): multiples of an irrational, modulo 1. */
static int64_t spread(int i, double step, int64_t extent)
{
    double at = (i + 0.5) * step;
    int64_t index = (int64_t)((at - floor(at)) * (double)extent);
    return xg_min_i64(index, extent - 1);
}

void xg_judge_init(struct xg_judge *judge, const struct xg_sgemm *call)
{
    judge->count = (int)fmin(XG_JUDGE_SAMPLES, (double)call->m * (double)call->n);
    for (int s = 0; s < judge->count; s++) {
        /* The plastic number's powers fill the unit square evenly (Roberts, 2018). */
        int64_t i = spread(s, 0.7548776662466927, call->m);
        int64_t j = spread(s, 0.5698402909980532, call->n);
        if (s < 4) { /* edges are where tiles end and mistakes begin */
            i = s & 1 ? call->m - 1 : 0;
            j = s & 2 ? call->n - 1 : 0;
        }
        float c0 = call->beta == 0 ? 0.0f : call->c[i * call->ldc + j];
        judge->row[s] = i;
        judge->column[s] = j;
        judge->exact[s] = xg_cpu_sgemm_element(call, i, j, c0, &judge->magnitude[s]);
    }
}

double xg_judge_error(const struct xg_judge *judge, const float *c, int64_t ldc)
{
    double worst = 0;
    for (int s = 0; s < judge->count; s++) {
        double value = c[judge->row[s] * ldc + judge->column[s]], exact = judge->exact[s];
        if (value == exact || (isnan(value) && isnan(exact)))
            continue;
        double error = fabs(value - exact) / judge->magnitude[s] * 0x1p24;
        /* Infinities and subnormal magnitudes: judged by the float that the exact value rounds to.
         */
        if ((float)exact == (float)value)
            continue;
        if (!(error <= worst))
            worst = error;
        if (isnan(worst))
            return worst;
    }
    return worst;
}
