/* SPDX-License-Identifier: MIT */
/* Runs a program's calls again by the policy, with a GPU that is predicted by the cost model. */
#ifndef TOOLS_FORECAST_H
#define TOOLS_FORECAST_H

#include <stdbool.h>

#include "gpus.h"
#include "src/report/tape.h"

/* Seconds of wall time. */
struct forecast {
    double saved_s;  /* of the time from the first call's begin to the last call's end */
    double starts_s; /* what the starts take that the calls on the GPU need */
    long gpu_calls;
};

/*
 * calls: in the order of their begin, as they ran on the CPU; each has taken some time. ready: the
 * GPU and NVIDIA's libraries are ready at the first call, as in a program that is remembered;
 * otherwise the ledger starts them. All threads share the GPU's two lanes. What is not predicted:
 * that threads which spin disturb copies, and that less work on the CPU leaves it cooler. Returns
 * false if there is no memory.
 */
bool forecast_run(const struct xg_tape_call *calls, size_t count, int cores, const struct gpu *gpu,
                  bool ready, struct forecast *forecast);

#endif
