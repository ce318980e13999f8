/* SPDX-License-Identifier: MIT */
/* Hopper, H100 and H200: compute capability 9.0. The only generation that was measured. */
#include "generation/generation.h"

const struct xg_fit xg_fit_sm90 = {
    /* bench/kernels on an H200: some hundred products, rows and splits. Clusters of more than 2 use
     * 120 of its 132 SMs. The library's efficiency is assumed. */
    .kernel = {.sms = 132, .launch = 200, .block = 2100, .lone = 4200, .step = 50, .turn = 0.04},
    .warps = {.full = 16, .half = 1.8, .held = 32, .add = 700},
    .cluster = {.meet = 800, .tile = 2000, .share = 120.0 / 132.0},
    .memory = {.bytes_per_cycle = 2700,
               .cache_bytes_per_cycle = 4000,
               .line_floats = 16,
               .unaligned_share = 0.9},
    .library_efficiency = 0.8,

    /* fp16x3 and ozaki2 on an H200 (kernels/NOTES.md). */
    .tensor = {.column = 0.22,
               .store = 80,
               .width_fixed = 16,
               .launch = 60000,
               .split_bytes_per_cycle = 10.6},
    /* A run of pieces needs several launches, and a product that is bound by the link would wait
     * for them (1536^3: 0.67 ms instead of 0.60; 2048^3: 0.99 instead of 1.04). For narrow products
     * with a small k the predicted time of pieces is up to a half too short. */
    .pieces = {.depth_min = 128, .link_share = 0.4, .launches_s = 1e-4, .margin = 1.3},
    /* GeForce devices compute doubles by residues at 14 times the rate of their FP64 units, A100
     * and Hopper at 0.6 to 1. */
    .residues = {.depth_min = 64, .gain = 2, .element_bytes = 43},

    /* Products from host to host on an H200 (tests/unit/model.c). A batch of 1000 instances of 64^3
     * takes 6.3 ms. */
    .pipeline = {.clock_hz = 1.9e9,
                 .clock_most_hz = 1.98e9,
                 .call_s = 44e-6,
                 .fill_s = 80e-6,
                 .instance_s = 5.5e-6},
};

const struct xg_generation xg_sm90 = {
    .sm = 90,
    .rates = {.ffma = 128, .dmma = 2, .fp16 = 1380, .int8 = 2760},
    .source = "measured on an H100: mma.sync 640, 1282 of 132; wgmma 2048, 4096",
    .cluster_blocks = 8,
    .wgmma = true,
    .panels = true,
    .fit = &xg_fit_sm90,
};
