/* SPDX-License-Identifier: MIT */
/* Maxwell and Pascal: compute capability 5.0 to 6.2, and older. */
#include "generation/generation.h"

const struct xg_generation xg_sm50 = {
    .sm = 50,
    .rates = {.ffma = 128, .dmma = 1},
    .source = "CUDA C++ Programming Guide, arithmetic instructions: 5.0 to 6.2",
    .cublas_at_once = true,
    .fit = &xg_fit_sm90,
};
