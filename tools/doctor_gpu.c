/* SPDX-License-Identifier: MIT */
/* Asks about the GPU in a child process: a driver may crash, hang, or end the process. */
#include "doctor_questions.h"

#include "doctor_probe.h"

static const double LIMIT_S = 60;

void doctor_gpu_read(struct doctor_gpu *gpu)
{
    *gpu = (struct doctor_gpu){.chosen = -1};
    switch (doctor_probe(doctor_gpu_ask, gpu, sizeof *gpu, NULL, LIMIT_S)) {
    case DOCTOR_PROBE_ANSWERED:
        break;
    case DOCTOR_PROBE_HUNG:
        gpu->driver = DOCTOR_DRIVER_HUNG;
        break;
    case DOCTOR_PROBE_CRASHED:
    case DOCTOR_PROBE_UNABLE:
        gpu->driver = DOCTOR_DRIVER_CRASHED;
        break;
    }
}
