/* SPDX-License-Identifier: MIT */
#include "gpus.h"

#include "src/decide/select.h"

/* NVIDIA's data sheets and white papers; tests/unit/golden.c decides for most of them too. */
const struct gpu gpus[] = {
    {"T4", 75, 40, 64, 32, 1.59, 15.75},       {"RTX 3060", 86, 28, 99, 64, 1.777, 31.5},
    {"RTX 3090", 86, 82, 99, 64, 1.695, 31.5}, {"RTX 4070", 89, 46, 99, 64, 2.475, 31.5},
    {"RTX 4090", 89, 128, 99, 64, 2.52, 31.5}, {"RTX 5080", 120, 84, 99, 64, 2.617, 63},
    {"RTX 5090", 120, 170, 99, 64, 2.407, 63}, {"L4", 89, 58, 99, 64, 2.04, 31.5},
    {"L40S", 89, 142, 99, 64, 2.52, 31.5},     {"V100", 70, 80, 96, 2, 1.53, 15.75},
    {"A100", 80, 108, 163, 2, 1.41, 31.5},     {"H100, H200", 90, 132, 227, 2, 1.98, 63},
    {"B200", 100, 148, 227, 2, 1.965, 63},     {"B300", 103, 160, 227, 64, 1.92, 63},
};
const int gpu_count = sizeof gpus / sizeof gpus[0];

struct xg_model_device gpu_describe(const struct gpu *gpu)
{
    struct xg_model_device device = {.clock_hz = 1e9 * gpu->clock_ghz,
                                     .link_bytes_per_s = 1e9 * gpu->link_gb_per_s};
    struct xg_device_facts *facts = &device.facts;
    facts->sm = gpu->sm;
    facts->sm_count = gpu->sm_count;
    facts->generation = xg_generation_find(gpu->sm, gpu->name);
    facts->smem_block_bytes = gpu->smem_kib << 10;
    facts->fp64_ratio = gpu->fp64_ratio;
    facts->clusters = gpu->sm >= 90;
    facts->images = true;
    facts->clock_hz = device.clock_hz;
    facts->link_bytes_per_s = device.link_bytes_per_s;
    facts->pieces = xg_select_emulated(facts, XG_KERNEL_PIECES, NULL);
    facts->residues = xg_select_emulated(facts, XG_KERNEL_RESIDUES, NULL);
    return device;
}
