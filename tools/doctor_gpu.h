/* SPDX-License-Identifier: MIT */
/* Asks the driver, devices, kernels, link and cuBLAS in a separate process. */
#ifndef DOCTOR_GPU_H
#define DOCTOR_GPU_H

#include "doctor_facts.h"

/* Fills *gpu. Takes up to some seconds, or a minute if the driver does not answer. The environment
 * has the same effect as in a program: CUDA_VISIBLE_DEVICES, XGEMM_DEVICES, XGEMM_MATH. */
void doctor_gpu_read(struct doctor_gpu *gpu);

/* Runs in that process; there is one version for builds with CUDA and one for builds without. */
void doctor_gpu_ask(void *gpu, const void *nothing);

#endif
