/* SPDX-License-Identifier: MIT */
/* The GPU's facts in a build without CUDA. */
#include "doctor_questions.h"

void doctor_gpu_ask(void *gpu, const void *nothing)
{
    (void)nothing;
    *(struct doctor_gpu *)gpu = (struct doctor_gpu){.driver = DOCTOR_DRIVER_UNBUILT, .chosen = -1};
}
