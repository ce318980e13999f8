/* SPDX-License-Identifier: MIT */
/* What a build without CUDA says of the GPU. */
#include "doctor_gpu.h"

void doctor_gpu_ask(void *gpu, const void *nothing)
{
    (void)nothing;
    *(struct doctor_gpu *)gpu = (struct doctor_gpu){.driver = DOCTOR_DRIVER_UNBUILT, .chosen = -1};
}
