/* SPDX-License-Identifier: MIT */
/* Blackwell in data centres, B200: compute capability 10.0. Predicted; no device was measured. */
#include "generation/generation.h"

const struct xg_generation xg_sm100 = {
    .sm = 100,
    .rates = {.ffma = 128, .dmma = 1},
    .source = "CUDA C++ Programming Guide, arithmetic instructions: 10.0",
    .cluster_blocks = 8,
    .fit = &xg_fit_sm90,
};
