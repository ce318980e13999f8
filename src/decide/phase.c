/* SPDX-License-Identifier: MIT */
/* The ledger of a phase: the cost of staying against the cost of changing. */
#include "decide/phase.h"

#include <math.h>

#include "decide/tuning.h"

double xg_phase_spins_s(const struct xg_phase *phase, double now_s)
{
    return fmax(0.0, phase->awake_until_s - now_s);
}

double xg_phase_disturbs_s(const struct xg_phase *phase)
{
    return phase->side == XG_SIDE_GPU ? phase->spin_s : 0.0;
}

/* The loss that ends a phase on the GPU. Coming back is cheap if the threads soon sleep again. */
static double tolerance_s(const struct xg_phase *phase)
{
    return fmin(XG_TUNING_LOSS_S, phase->spin_s);
}

/* True if a product that begins now would find the threads asleep, had the last product run on the
 * CPU. */
static bool is_paused(const struct xg_phase *phase, double now_s)
{
    return now_s - phase->last_s >= phase->spin_s && xg_phase_spins_s(phase, now_s) == 0.0;
}

enum xg_side xg_phase_choose(struct xg_phase *phase, double now_s, double cpu_s, double gpu_s)
{
    double saved_s = cpu_s - gpu_s;
    bool paused = is_paused(phase, now_s);
    if (paused && phase->side == XG_SIDE_GPU && saved_s <= 0.0)
        phase->side = XG_SIDE_CPU;
    if (phase->side == XG_SIDE_GPU)
        return XG_SIDE_GPU;
    if (paused)
        phase->ledger_s = phase->lost_s = 0.0;
    if (saved_s > 0.0 && phase->ledger_s + saved_s > xg_phase_spins_s(phase, now_s)) {
        phase->side = XG_SIDE_GPU;
        phase->lost_s = 0.0;
    }
    return phase->side;
}

void xg_phase_try(struct xg_phase *phase, double now_s)
{
    phase->side = XG_SIDE_GPU;
    phase->ledger_s = xg_phase_spins_s(phase, now_s);
    phase->lost_s = 0.0;
}

/* How far the ledger may fall on the CPU: a lost phase must be earned again. */
static double debt_s(const struct xg_phase *phase)
{
    return -fmax(0.0, phase->lost_s) / XG_TUNING_TRIAL_SHARE;
}

/* Anything may delay one product, so an unforeseen loss counts for half of what ends a phase. */
static void observe_on_gpu(struct xg_phase *phase, const struct xg_phase_product *product,
                           double saved_s)
{
    double most_s = tolerance_s(phase);
    double buffer_s = fmax(most_s, xg_phase_spins_s(phase, product->end_s));
    double least_s =
        fmin(0.0, product->other_s - product->expected_s) - XG_TUNING_LOSS_ONE * most_s;
    phase->lost_s -= saved_s;
    phase->ledger_s = fmin(phase->ledger_s + fmax(saved_s, least_s), buffer_s);
    if (phase->ledger_s >= -most_s)
        return;
    phase->side = XG_SIDE_CPU;
    phase->ledger_s = debt_s(phase);
}

void xg_phase_wake(struct xg_phase *phase, double end_s)
{
    phase->awake_until_s = fmax(phase->awake_until_s, end_s + phase->spin_s);
    phase->last_s = fmax(phase->last_s, end_s);
}

void xg_phase_observe(struct xg_phase *phase, const struct xg_phase_product *product)
{
    double most_s = XG_TUNING_STOPPED * product->expected_s;
    double seconds = fmin(product->end_s - product->begin_s, most_s);
    double saved_s = product->other_s - seconds;
    if (product->side == XG_SIDE_CPU)
        xg_phase_wake(phase, product->end_s);
    phase->last_s = fmax(phase->last_s, product->end_s);
    if (product->side != phase->side)
        return;
    if (phase->side == XG_SIDE_GPU) {
        observe_on_gpu(phase, product, saved_s);
        return;
    }
    phase->ledger_s = fmax(phase->ledger_s - saved_s, fmin(phase->ledger_s, debt_s(phase)));
}
