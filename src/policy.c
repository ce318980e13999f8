/* SPDX-License-Identifier: MIT */
/* The cost model of both sides, its correction by what is observed, and the decision. */
/*
 * CPU. A threaded BLAS packs A and B, computes, and writes C; its threads meet at every step along
 * k. Each costs time in proportion to a size, so the time of a product is a sum:
 *
 *   t = call + 2mnk / flops + 4mn / bytes + 4(mk + kn) / bytes + k * step
 *
 * Least squares of the relative error over OpenBLAS 0.3.26 on 16 cores of a Xeon with AVX-512 gave
 * call 28 us, 68 GFLOP/s a core, 43 and 51 GB/s, step 0.10 us; rounded below. Predicted over
 * measured (m,n,k: measured ms):
 *
 *   64^3: 0.0036  1.18     2048^3: 17.4  0.96         1,8192,8192: 6.2     1.06
 *   128^3: 0.046  1.10     4096^3: 120   1.06         100000,64,64: 2.4    0.76
 *   256^3: 0.11   0.93     8192^3: 942   1.06         128,128,100000: 14.8 1.02
 *   512^3: 0.45   0.86     8192,4096,64: 6.3  1.07    512,4096,1024: 4.6   0.99
 *   1000^3: 3.3   0.66     64,8192,8192: 12.2 1.16    3000,777,1533: 8.2   0.88
 *
 * OpenBLAS uses one thread up to 64^3; alone, a core runs at twice its share of the whole.
 *
 * GPU. Operands go up, the kernel runs and C comes back in overlapping pieces: the longest of the
 * three counts whole, and of the others what fills and drains the pipeline. beta != 0 moves nothing
 * more: the host combines.
 */
#include "policy.h"

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
#define UP_BYTES_ALL 47e9
#define DOWN_BYTES_ALL 45e9
#define GPU_FLOPS 30e12
#define GPU_CALL_S 100e-6
#define GPU_START_S 0.5
#define PIPELINE_FILL 0.25 /* of the stages hidden behind the longest */

/*
 * A product moves to the GPU when it is predicted to take less than this fraction of its time on
 * the CPU: staging takes memory bandwidth from the rest of the process, and predictions are no
 * better.
 */
#define GPU_FRACTION 0.8

/* Weight of one observation once a few have been made; the first ones count for more. */
#define OBSERVE_WEIGHT 0.2

/*
 * Below 64^3 even a plain loop (some 2 GFLOP/s: 0.26 ms) is about done when a GPU call (0.1 ms, and
 * as much again when it meets other threads) returns, and OpenBLAS needs 4 us.
 */
#define FLOOR_MNK 262144.0

void xg_machine_init(struct xg_machine *machine, int cores)
{
    if (cores < 1)
        cores = 1;
    *machine = (struct xg_machine){
        .cpu_flops = cores * CPU_FLOPS_CORE,
        .cpu_bytes_per_s = fmin(cores * CPU_BYTES_CORE, CPU_BYTES_ALL),
        .cpu_call_s = cores > 1 ? CPU_CALL_S : CPU_ALONE_CALL_S,
        .cpu_step_s = cores > 1 ? CPU_STEP_S : 0.0,
        .up_bytes_per_s = fmin(cores * COPY_BYTES_CORE, UP_BYTES_ALL),
        .down_bytes_per_s = fmin(cores * COPY_BYTES_CORE, DOWN_BYTES_ALL),
        .gpu_flops = GPU_FLOPS,
        .gpu_call_s = GPU_CALL_S,
        .gpu_start_s = GPU_START_S,
        .cpu_scale = 1.0,
        .gpu_scale = 1.0,
    };
}

static double mnk(const struct xg_sgemm *call)
{
    return (double)call->m * (double)call->n * (double)call->k;
}

static double operand_bytes(const struct xg_sgemm *call)
{
    return 4.0 * (double)call->k * ((double)call->m + (double)call->n);
}

static double result_bytes(const struct xg_sgemm *call)
{
    return 4.0 * (double)call->m * (double)call->n;
}

double xg_policy_cpu_seconds(const struct xg_machine *machine, const struct xg_sgemm *call)
{
    double flops = xg_sgemm_flops(call);

    if (mnk(call) <= CPU_ONE_THREAD_MNK)
        return machine->cpu_scale *
               (CPU_ALONE_CALL_S + flops / (CPU_FLOPS_CORE * CPU_FLOPS_ALONE_RATIO));
    return machine->cpu_scale *
           (machine->cpu_call_s + flops / machine->cpu_flops +
            (operand_bytes(call) + result_bytes(call)) / machine->cpu_bytes_per_s +
            (double)call->k * machine->cpu_step_s);
}

double xg_policy_gpu_seconds(const struct xg_machine *machine, const struct xg_sgemm *call)
{
    double up = operand_bytes(call) / machine->up_bytes_per_s;
    double down = result_bytes(call) / machine->down_bytes_per_s;
    double compute = xg_sgemm_flops(call) / machine->gpu_flops;
    double longest = fmax(fmax(up, down), compute);

    return machine->gpu_scale *
           (machine->gpu_call_s + longest + PIPELINE_FILL * (up + down + compute - longest));
}

/* Moves *scale by one observation: seconds where predicted (scale included) was expected. */
static void observe(double *scale, long calls, double predicted, double seconds)
{
    double weight = fmax(OBSERVE_WEIGHT, 1.0 / (double)calls);
    double ratio = seconds / predicted;

    *scale *= pow(fmin(fmax(ratio, 0.5), 2.0), weight);
}

/* Small products teach nothing: their time is overhead, and nothing is decided about them. */
static bool usable(const struct xg_sgemm *call, double seconds)
{
    return mnk(call) >= FLOOR_MNK && seconds > 0.0 && isfinite(seconds);
}

void xg_policy_observe_cpu(struct xg_machine *machine, const struct xg_sgemm *call, double seconds)
{
    if (!usable(call, seconds))
        return;
    machine->cpu_calls++;
    observe(&machine->cpu_scale, machine->cpu_calls, xg_policy_cpu_seconds(machine, call), seconds);
}

void xg_policy_observe_gpu(struct xg_machine *machine, const struct xg_sgemm *call, double seconds)
{
    if (!usable(call, seconds))
        return;
    machine->gpu_calls++;
    if (machine->gpu_calls == 1)
        return;
    observe(&machine->gpu_scale, machine->gpu_calls - 1, xg_policy_gpu_seconds(machine, call),
            seconds);
}

static void decide_place(struct xg_decision *decision, enum xg_place place, enum xg_reason reason)
{
    decision->place = place;
    decision->reason = reason;
}

/* The GPU would finish first: does it, now? */
static void decide_start(const struct xg_machine *machine, const struct xg_conf *conf,
                         enum xg_engine_state state, double earned_s, struct xg_decision *decision)
{
    double saving_s = decision->cpu_s - decision->gpu_s;

    if (state == XG_ENGINE_READY) {
        decide_place(decision, XG_PLACE_GPU, XG_REASON_MODEL);
        decision->wait = conf->reproducible;
    } else if (conf->reproducible || saving_s > machine->gpu_start_s) {
        decide_place(decision, XG_PLACE_GPU, XG_REASON_MODEL);
        decision->start = state == XG_ENGINE_COLD;
        decision->wait = true;
    } else if (state == XG_ENGINE_STARTING) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_STARTING);
    } else {
        decision->start = earned_s + saving_s > machine->gpu_start_s;
        decide_place(decision, XG_PLACE_CPU,
                     decision->start ? XG_REASON_STARTING : XG_REASON_EARNING);
    }
}

void xg_policy_decide(const struct xg_machine *machine, const struct xg_conf *conf,
                      enum xg_engine_state state, double earned_s, const struct xg_sgemm *call,
                      struct xg_decision *decision)
{
    struct xg_machine model = *machine;

    *decision = (struct xg_decision){.place = XG_PLACE_CPU};
    if (call->m < 1 || call->n < 1 || call->k < 1 || call->alpha == 0.0f) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_DEGENERATE);
        return;
    }
    if (conf->reproducible)
        model.cpu_scale = model.gpu_scale = 1.0;
    decision->cpu_s = xg_policy_cpu_seconds(&model, call);
    decision->gpu_s = xg_policy_gpu_seconds(&model, call);

    if (conf->mode == XG_MODE_CPU) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_MODE);
    } else if (state == XG_ENGINE_NONE) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_NO_GPU);
    } else if (state == XG_ENGINE_FORKED) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_FORKED);
    } else if (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE) {
        decide_place(decision, conf->mode == XG_MODE_GPU ? XG_PLACE_GPU : XG_PLACE_BOTH,
                     XG_REASON_MODE);
        decision->start = state == XG_ENGINE_COLD;
        decision->wait = true;
    } else if (mnk(call) < FLOOR_MNK) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_SMALL);
    } else if (decision->gpu_s >= GPU_FRACTION * decision->cpu_s) {
        decide_place(decision, XG_PLACE_CPU, XG_REASON_MODEL);
    } else {
        decide_start(&model, conf, state, earned_s, decision);
    }
}

double xg_policy_floor_mnk(const struct xg_conf *conf)
{
    if (conf->stats || conf->verbose >= 1 || conf->mode == XG_MODE_GPU ||
        conf->mode == XG_MODE_COMPARE)
        return 0.0;
    return conf->mode == XG_MODE_CPU ? HUGE_VAL : FLOOR_MNK;
}
