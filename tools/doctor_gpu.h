/* SPDX-License-Identifier: MIT */
/* Asks driver, devices, kernels, link and cuBLAS, in a process of its own. */
#ifndef DOCTOR_GPU_H
#define DOCTOR_GPU_H

#include "doctor_facts.h"

/*
 * Fills *gpu; takes up to some seconds, and a minute where the driver does not answer. The
 * environment decides as it would in a program: CUDA_VISIBLE_DEVICES, XGEMM_DEVICES, XGEMM_MATH.
 */
void doctor_gpu_read(struct doctor_gpu *gpu);

/* What runs in that process: for a build with CUDA, and without. */
void doctor_gpu_ask(void *gpu, const void *nothing);

#endif
