/* SPDX-License-Identifier: MIT */
/* Hopper, H100 and H200: compute capability 9.0. The only generation that was measured. */
#include "generation/generation.h"

const struct xg_fit xg_fit_sm90 = {
    /* bench/kernels on an H200: some hundred products, rows and splits. Clusters of more than 2 use
     * 120 of its 132 SMs. The library's efficiency is assumed. */
    .sms = 132,
    .launch = 200,
    .block = 2100,
    .lone = 4200,
    .step = 50,
    .warps_full = 16,
    .warps_half = 1.8,
    .warps_held = 32,
    .group = 700,
    .cluster = 800,
    .cluster_tile = 2000,
    .cluster_share = 120.0 / 132.0,
    .scratch = 4800,
    .scratch_slice = 10,
    .rows = 2000,
    .copy = 3600,
    .scratch_bytes_per_cycle = 2200,
    .memory_bytes_per_cycle = 2700,
    .cache_bytes_per_cycle = 4000,
    .copy_bytes_per_cycle = 1550,
    .turn = 0.04,
    .unaligned_share = 0.9,
    .line_floats = 16,
    .library_efficiency = 0.8,

    /* fp16x3 and ozaki2 on an H200 (kernels/NOTES.md). */
    .column = 0.22,
    .store = 80,
    .width_fixed = 16,
    .split_launch = 60000,
    .split_bytes_per_cycle = 10.6,
    .residue_bytes = 43,

    /* A run of pieces needs several launches, and a product that is bound by the link would wait
     * for them (1536^3: 0.67 ms instead of 0.60; 2048^3: 0.99 instead of 1.04). For narrow products
     * with a small k the predicted time of pieces is up to a half too short. GeForce devices
     * compute doubles by residues at 14 times the rate of their FP64 units, A100 and Hopper at 0.6
     * to 1. */
    .pieces_link_share = 0.4,
    .pieces_launches_s = 1e-4,
    .pieces_margin = 1.3,
    .residues_gain = 2,
    .pieces_depth_min = 128,
    .residues_depth_min = 64,

    /* Products from host to host on an H200 (tests/unit/model.c). A batch of 1000 instances of 64^3
     * takes 6.3 ms. */
    .clock_hz = 1.9e9,
    .clock_most_hz = 1.98e9,
    .call_s = 44e-6,
    .fill_s = 0.08e-3,
    .instance_s = 5.5e-6,
};

const struct xg_generation xg_sm90 = {
    .sm = 90,
    .ffma = 128,
    .dmma = 2,
    .fp16 = 1380,
    .int8 = 2760,
    .source = "measured on an H100: mma.sync 640, 1282 of 132; wgmma 2048, 4096",
    .cluster_blocks = 8,
    .wgmma = true,
    .panels = true,
    .fit = &xg_fit_sm90,
};
