/* SPDX-License-Identifier: MIT */
/* Blackwell for graphics: compute capability 12.0 and 12.1. */
#include "generation/generation.h"

static const struct xg_generation geforce = {
    .sm = 120,
    .rates = {.ffma = 128, .dmma = 1, .fp16 = 256, .int8 = 1024},
    .source = "NVIDIA RTX Blackwell GPU Architecture: RTX 5090, 104.8, 209.5, 838 of 170",
    .cluster_blocks = 8,
    .fit = &xg_fit_sm90,
};

const struct xg_generation xg_sm120 = {
    .sm = 120,
    .rates = {.ffma = 128, .dmma = 1, .fp16 = 512, .int8 = 1024},
    .source = "NVIDIA RTX PRO 6000 Blackwell data sheet: 126, 503.8, 1008 of 188",
    .cluster_blocks = 8,
    .fit = &xg_fit_sm90,
    .geforce = &geforce,
};
