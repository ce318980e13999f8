/* SPDX-License-Identifier: MIT */
/* Ampere in data centres, A100 and A30: compute capability 8.0. */
#include "generation/generation.h"

const struct xg_generation xg_sm80 = {
    .sm = 80,
    .rates = {.ffma = 64, .dmma = 2, .fp16 = 1024, .int8 = 2048},
    .source = "NVIDIA A100 Tensor Core GPU Architecture: 19.5, 312, 624 of 108",
    .fit = &xg_fit_sm90,
};
