/* SPDX-License-Identifier: MIT */
/* Fits a machine's figures to measured products. */
#ifndef BENCH_FIT_H
#define BENCH_FIT_H

#include "src/decide/feedback.h"
#include "src/decide/model.h"

struct fit_sample {
    struct xg_problem call;
    double seconds;
};

/* What the machine is predicted to take, in seconds. */
double fit_predict(const struct xg_model *model, enum xg_side side, const struct xg_problem *call);

/*
 * Moves the figures of one side, within their bounds, to where the predictions of the samples are
 * nearest: |log(predicted / measured)| counts with the power 1.5, between the mean, which outliers
 * do not rule, and the mean square, which leads there without corners. Returns the root of the mean
 * square of that logarithm.
 */
double fit_machine(struct xg_model *model, enum xg_side side, const struct fit_sample *samples,
                   int count);

#endif
