/* SPDX-License-Identifier: MIT */
/* Asks about the GPU in a child process: a driver may crash, hang, or end the process. */
#include "doctor.h"

#include "doctor_probe.h"

void doctor_gpu_read(struct doctor_gpu *gpu)
{
    *gpu = (struct doctor_gpu){.chosen = -1};
#ifdef XG_CUDA
    static const double limit_s = 60;
    switch (doctor_probe(doctor_gpu_ask, gpu, sizeof *gpu, NULL, limit_s)) {
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
#else
    gpu->driver = DOCTOR_DRIVER_UNBUILT;
#endif
}
