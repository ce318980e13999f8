/* SPDX-License-Identifier: MIT */
/* Blackwell Ultra, B300: compute capability 10.3. Predicted; no device was measured. */
#include "generation/generation.h"

/* The driver reports how few the FP64 units are: 1/64 of FP32's rate, 1.2 TFLOP/s. INT8 is 0, which
 * turns residues off: the data sheet has 1/30 of B200's rate. */
const struct xg_generation xg_sm103 = {
    .sm = 103,
    .rates = {.ffma = 128, .dmma = 1},
    .source = "NVIDIA HGX B300 data sheet: FP32 600, FP64 10 TFLOP/s of 8 GPUs",
    .cluster_blocks = 8,
    .fit = &xg_fit_sm90,
};
