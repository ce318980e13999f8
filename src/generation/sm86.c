/* SPDX-License-Identifier: MIT */
/* Ampere for graphics: compute capability 8.6 and 8.7. */
#include "generation/generation.h"

static const struct xg_generation geforce = {
    .sm = 86,
    .rates = {.ffma = 128, .dmma = 1, .fp16 = 256, .int8 = 1024},
    .source = "NVIDIA Ampere GA102 GPU Architecture: RTX 3090, 35.6, 71, 284 of 82",
    .fit = &xg_fit_sm90,
};

const struct xg_generation xg_sm86 = {
    .sm = 86,
    .rates = {.ffma = 128, .dmma = 1, .fp16 = 512, .int8 = 1024},
    .source = "NVIDIA A40 data sheet: 37.4, 149.7, 299 of 84",
    .fit = &xg_fit_sm90,
    .geforce = &geforce,
};
