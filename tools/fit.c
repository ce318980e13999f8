/* SPDX-License-Identifier: MIT */
/* Searches along one figure after the other, in steps that shrink. */
#include "fit.h"

#include <math.h>

#include "bench/median.h"
#include "src/machine/calibration.h"

double fit_predict(const struct xg_model *model, enum xg_side side, const struct xg_problem *call)
{
    return side == XG_SIDE_CPU ? xg_model_cpu_seconds(model, call)
                               : xg_model_gpu_seconds(model, XG_MATH_ACCURATE, call);
}

static double misfit(const struct xg_model *model, enum xg_side side,
                     const struct fit_sample *samples, int count, double power)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double ratio = fit_predict(model, side, &samples[i].call) / samples[i].seconds;
        sum += pow(fabs(log(ratio)), power);
    }
    return pow(sum / count, 1 / power);
}

/* Takes the upper of two middle values, so that a fit is not called better than it is. */
static double median_error(const struct xg_model *model, enum xg_side side,
                           const struct fit_sample *samples, int count)
{
    double errors[FIT_SAMPLES_MAX];
    for (int i = 0; i < count; i++) {
        double ratio = fit_predict(model, side, &samples[i].call) / samples[i].seconds;
        errors[i] = fmax(ratio, 1 / ratio) - 1;
    }
    return median_sort(errors, count);
}

double fit_machine(struct xg_model *model, enum xg_side side, const struct fit_sample *samples,
                   int count)
{
    const double power = 1.5;
    double best = misfit(model, side, samples, count, power);
    /* 1.0005 is finer than any clock. Figures of little weight may move far, which takes many
     * rounds. */
    for (double step = 2.0; step > 1.0005;) {
        bool moved = false;
        double least, most, *figure;
        for (int i = 0; (figure = xg_calibration_figure(model, side, i, &least, &most)); i++)
            for (int up = 0; up < 2; up++) {
                double before = *figure;
                *figure = fmax(least, fmin(up ? before * step : before / step, most));
                double tried = misfit(model, side, samples, count, power);
                moved |= tried < best * (1 - 1e-6);
                if (tried < best)
                    best = tried;
                else
                    *figure = before;
            }
        if (!moved)
            step = sqrt(step);
    }
    return median_error(model, side, samples, count);
}
