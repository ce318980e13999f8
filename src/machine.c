/* SPDX-License-Identifier: MIT */
/* The cost model of both sides, from a shape and a machine's figures. */
/*
 * CPU. A threaded BLAS packs A and B, computes, and writes C; its threads meet at every step along
 * k. Each costs time in proportion to a size, so the time of a product is a sum:
 *
 *   t = call + 2mnk / flops + 4mn / bytes + 4(mk + kn) / bytes + k * step
 *
 * Least squares of the relative error over OpenBLAS 0.3.26 on 16 cores of a Xeon with AVX-512 gave
 * call 28 us, 68 GFLOP/s a core, 43 and 51 GB/s, step 0.10 us; rounded below. OpenBLAS uses one
 * thread up to 64^3; alone, a core runs at twice its share of the whole.
 *
 * GPU. Operands go up, kernels run and C comes back in overlapping pieces: the longest of the three
 * stages counts whole, and of the others what fills and drains the pipeline. C is a grid of tiles;
 * its first row and column of pieces hide nothing, and the more pieces there are the less they
 * weigh: the part not hidden falls with the square root of the length. One figure, gpu_fill_s, says
 * where that begins.
 *
 *   t = call + longest + (up + down + kernel - longest) * min(1, sqrt(fill / longest))
 *
 * The kernel's time is what selection predicts for the row that it would take. beta != 0 moves
 * nothing more: the host combines. tests/unit_machine.c holds both against measured times.
 */
#include "machine.h"

#include <math.h>

#define CPU_FLOPS_CORE 70e9       /* a core's share when all cores run */
#define CPU_FLOPS_ALONE_RATIO 2.0 /* one core's rate when the others rest, over that share */
#define CPU_ONE_THREAD_MNK 262144.0
#define CPU_ALONE_CALL_S 0.5e-6
#define CPU_BYTES_CORE 12e9
#define CPU_BYTES_ALL 48e9
#define CPU_CALL_S 30e-6
#define CPU_STEP_S 0.1e-6

#define COPY_BYTES_CORE 8e9 /* one staging thread */
#define LINK_BYTES 42e9
#define GPU_CLOCK_HZ 1.9e9
#define GPU_CALL_S 55e-6
#define GPU_FILL_S 0.7e-3
#define GPU_START_S 0.5

static const struct xg_device_facts reference_device = {
    .sm = 90, .sm_count = 132, .smem_block_bytes = 227 << 10, .images = true};

void xg_machine_init(struct xg_machine *machine, int cores)
{
    if (cores < 1)
        cores = 1;
    *machine = (struct xg_machine){
        .cpu_flops = cores * CPU_FLOPS_CORE,
        .cpu_bytes_per_s = fmin(cores * CPU_BYTES_CORE, CPU_BYTES_ALL),
        .cpu_call_s = cores > 1 ? CPU_CALL_S : CPU_ALONE_CALL_S,
        .cpu_step_s = cores > 1 ? CPU_STEP_S : 0.0,
        .up_bytes_per_s = fmin(cores * COPY_BYTES_CORE, LINK_BYTES),
        .down_bytes_per_s = fmin(cores * COPY_BYTES_CORE, LINK_BYTES),
        .gpu_clock_hz = GPU_CLOCK_HZ,
        .gpu_call_s = GPU_CALL_S,
        .gpu_fill_s = GPU_FILL_S,
        .gpu_start_s = GPU_START_S,
        .device = reference_device,
    };
}

static double operand_bytes(const struct xg_sgemm *call)
{
    return 4.0 * (double)call->k * ((double)call->m + (double)call->n);
}

static double result_bytes(const struct xg_sgemm *call)
{
    return 4.0 * (double)call->m * (double)call->n;
}

static double flops_alone(const struct xg_machine *machine)
{
    return fmin(CPU_FLOPS_CORE * CPU_FLOPS_ALONE_RATIO, machine->cpu_flops);
}

double xg_machine_even_mnk(const struct xg_machine *machine, double scale)
{
    return fmax(0.0, machine->gpu_call_s / scale - CPU_ALONE_CALL_S) * flops_alone(machine) / 2.0;
}

double xg_machine_cpu_seconds(const struct xg_machine *machine, const struct xg_sgemm *call)
{
    double flops = xg_sgemm_flops(call);

    if (flops <= 2.0 * CPU_ONE_THREAD_MNK)
        return CPU_ALONE_CALL_S + flops / flops_alone(machine);
    return machine->cpu_call_s + flops / machine->cpu_flops +
           (operand_bytes(call) + result_bytes(call)) / machine->cpu_bytes_per_s +
           (double)call->k * machine->cpu_step_s;
}

double xg_machine_gpu_seconds(const struct xg_machine *machine, enum xg_math math,
                              const struct xg_sgemm *call)
{
    const struct xg_kernel *row =
        xg_select(&machine->device, math, NULL, call->m, call->n, call->k);
    double cycles = row ? xg_select_cycles(row, &machine->device, call->m, call->n, call->k)
                        : xg_sgemm_flops(call);
    double kernel = cycles / machine->gpu_clock_hz;
    double up = operand_bytes(call) / machine->up_bytes_per_s;
    double down = result_bytes(call) / machine->down_bytes_per_s;
    double longest = fmax(fmax(up, down), kernel);
    double hidden = up + down + kernel - longest;

    return machine->gpu_call_s + longest + hidden * fmin(1.0, sqrt(machine->gpu_fill_s / longest));
}
