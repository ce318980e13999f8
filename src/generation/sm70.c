/* SPDX-License-Identifier: MIT */
/* Volta: compute capability 7.0 and 7.2. */
#include "generation/generation.h"

const struct xg_generation xg_sm70 = {
    .sm = 70,
    .rates = {.ffma = 64, .dmma = 1, .fp16 = 512},
    .source = "NVIDIA Tesla V100 GPU Architecture: 15.7, 125 TFLOP/s of 80 SMs",
    .cublas_at_once = true,
    .fit = &xg_fit_sm90,
};
