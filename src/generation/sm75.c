/* SPDX-License-Identifier: MIT */
/* Turing: compute capability 7.5. */
#include "generation/generation.h"

static const struct xg_generation geforce = {
    .sm = 75,
    .rates = {.ffma = 64, .dmma = 1, .fp16 = 256, .int8 = 1024},
    .source = "NVIDIA Turing GPU Architecture: RTX 2080 Ti, 13.4, 53.8, 215 of 68",
    .fit = &xg_fit_sm90,
};

const struct xg_generation xg_sm75 = {
    .sm = 75,
    .rates = {.ffma = 64, .dmma = 1, .fp16 = 512, .int8 = 1024},
    .source = "NVIDIA Turing GPU Architecture: Tesla T4, 8.1, 65, 130 of 40",
    .fit = &xg_fit_sm90,
    .geforce = &geforce,
};
