/* SPDX-License-Identifier: MIT */
/* GPUs by name, with the figures of their data sheets from which the cost model predicts. */
#ifndef TOOLS_GPUS_H
#define TOOLS_GPUS_H

#include "src/decide/model.h"

struct gpu {
    const char *name;
    int sm, sm_count;
    int smem_kib;         /* shared memory of a block, at most */
    int fp64_ratio;       /* FP32's rate over FP64's */
    double clock_ghz;     /* at most */
    double link_gb_per_s; /* of PCIe x16, one direction, nominal */
};

extern const struct gpu gpus[];
extern const int gpu_count;

/* The device as the engine would describe it after opening it. */
struct xg_model_device gpu_describe(const struct gpu *gpu);

#endif
