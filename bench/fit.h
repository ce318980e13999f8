/* SPDX-License-Identifier: MIT */
/* Fits a machine's figures to measured products. */
#ifndef BENCH_FIT_H
#define BENCH_FIT_H

#include "../src/learn.h"
#include "../src/machine.h"

struct fit_sample {
    struct xg_sgemm call;
    double seconds;
};

/* What the machine is predicted to take, in seconds. */
double fit_predict(const struct xg_machine *machine, enum xg_side side,
                   const struct xg_sgemm *call);

/*
 * Moves the figures of one side, within their bounds, to where the predictions of the samples are
 * nearest: |log(predicted / measured)| counts with the power 1.5, between the mean, which outliers
 * do not rule, and the mean square, which leads there without corners. Returns the root of the mean
 * square of that logarithm.
 */
double fit_machine(struct xg_machine *machine, enum xg_side side, const struct fit_sample *samples,
                   int count);

#endif
