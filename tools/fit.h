/* SPDX-License-Identifier: MIT */
/* Fits a machine's figures to measured products. */
#ifndef TOOLS_FIT_H
#define TOOLS_FIT_H

#include "src/decide/feedback.h"
#include "src/decide/model.h"

enum { FIT_SAMPLES_MAX = 64 };

struct fit_sample {
    struct xg_problem call;
    double seconds;
};

/* The model's predicted time of the call, in seconds. */
double fit_predict(const struct xg_model *model, enum xg_side side, const struct xg_problem *call);

/*
 * Moves the figures of one side, within their bounds, to the best predictions of the samples. The
 * misfit is the mean of |log(predicted / measured)| to the power 1.5: between the mean, which
 * outliers do not dominate, and the mean square, which has no corners on the way. At most
 * FIT_SAMPLES_MAX samples. Returns the typical error, the median over the samples of the factor by
 * which a prediction is too large or too small, minus 1: 0.5 if predictions are 3/2 or 2/3 of the
 * measured times.
 */
double fit_machine(struct xg_model *model, enum xg_side side, const struct fit_sample *samples,
                   int count);

#endif
