/* SPDX-License-Identifier: MIT */
/* Ada: compute capability 8.9. */
#include "generation/generation.h"

static const struct xg_generation geforce = {
    .sm = 89,
    .rates = {.ffma = 128, .dmma = 1, .fp16 = 256, .int8 = 1024},
    .source = "NVIDIA Ada GPU Architecture: RTX 4090, 82.6, 165.2, 661 of 128",
    .fit = &xg_fit_sm90,
};

const struct xg_generation xg_sm89 = {
    .sm = 89,
    .rates = {.ffma = 128, .dmma = 1, .fp16 = 512, .int8 = 1024},
    .source = "NVIDIA L40S data sheet: 91.6, 362, 733 of 142",
    .fit = &xg_fit_sm90,
    .geforce = &geforce,
};
