/* SPDX-License-Identifier: MIT */
/* The ledger of a phase: the cost of staying against the cost of changing. */
#include "decide/phase.h"

#include <math.h>

/* The share averages over about this long. */
#define SHARE_MEMORY_S 0.3

/*
 * The first product of a phase stays on the GPU of the phase before unless the CPU is better by
 * this much: a wrong choice of the CPU wakes threads, a wrong choice of the GPU costs one product.
 * The margin shrinks for threads that spin for less than STAY_SPIN_S.
 */
#define STAY_MOST 0.33
#define STAY_SPIN_S 20e-3
#define CHANGE_FRACTION 0.92

/*
 * The loss that ends a phase, before and after it has paid. Coming back is cheap if the threads
 * soon sleep again. Anything may delay one product, so one product counts for at most half of the
 * allowed loss.
 */
#define LOSS_UNPAID_S 5e-3
#define LOSS_UNPAID_SPINS 4.0
#define LOSS_PAID_SHARE 0.25
#define LOSS_ONE_SHARE 0.5

/* A hopeful trial costs about spin_s. It must promise HOPE_SPINS times that, and comes no sooner
 * than after RETRY_LOSSES times the last loss. */
#define HOPE_SPINS 20.0
#define RETRY_LOSSES 50.0

enum { FAILURES_MAX = 10 };

/* A product this many times as long as the largest one that lost is of another kind. */
#define OTHER_KIND 4.0

double xg_phase_spins_s(const struct xg_phase *phase, double now_s)
{
    return fmax(0.0, phase->spin_until_s - now_s);
}

double xg_phase_disturbs_s(const struct xg_phase *phase)
{
    return phase->side == XG_SIDE_GPU ? phase->spin_s * phase->share : 0.0;
}

static void begin_phase(struct xg_phase *phase, enum xg_side side, double now_s, bool paid_entry)
{
    phase->side = side;
    phase->begun_s = now_s;
    phase->paid_entry = paid_entry;
    phase->ledger_s = 0.0;
    phase->lost_s = 0.0;
    phase->largest_s = 0.0;
}

bool xg_phase_paused(const struct xg_phase *phase, double now_s)
{
    return now_s - phase->last_s >= phase->spin_s && xg_phase_spins_s(phase, now_s) == 0.0;
}

static bool hopes(const struct xg_phase *phase, double now_s)
{
    return now_s >= phase->retry_s && phase->hope_s > HOPE_SPINS * phase->spin_s;
}

enum xg_side xg_phase_choose(struct xg_phase *phase, double now_s, double cpu_s, double gpu_s)
{
    if (xg_phase_paused(phase, now_s)) {
        double stay = 1.0 + STAY_MOST * fmin(1.0, phase->spin_s / STAY_SPIN_S);
        double fraction = phase->side == XG_SIDE_GPU ? stay : CHANGE_FRACTION;
        begin_phase(phase, gpu_s < fraction * cpu_s ? XG_SIDE_GPU : XG_SIDE_CPU, now_s, false);
        phase->share = 1.0; /* not known yet */
        phase->last_s = now_s;
    } else if (phase->side == XG_SIDE_CPU) {
        double change_s = xg_phase_spins_s(phase, now_s) * phase->share;
        double saved_s = phase->ledger_s + cpu_s - gpu_s;
        bool hopeful = hopes(phase, now_s);
        int failures = cpu_s > OTHER_KIND * phase->failed_s ? 0 : phase->failures;
        if (saved_s > ldexp(change_s, failures) || hopeful)
            begin_phase(phase, XG_SIDE_GPU, now_s, true);
        if (hopeful) /* spent now: a pause may end the phase before its loss does */
            phase->hope_s = 0.0;
    }
    return phase->side;
}

static void remember_share(struct xg_phase *phase, double begin_s, double end_s)
{
    double since_s = end_s - phase->last_s;
    if (since_s <= 0.0)
        return; /* a concurrent product has counted that time */
    double kept = exp(-since_s / SHARE_MEMORY_S);
    double busy = fmin(1.0, (end_s - begin_s) / since_s);
    phase->share = kept * phase->share + (1.0 - kept) * busy;
    phase->last_s = end_s;
}

static void leave_gpu(struct xg_phase *phase, double now_s)
{
    if (phase->lost_s > 0.0 && phase->paid_entry) {
        double loss_s = fmax(phase->lost_s, phase->spin_s);
        phase->failures += phase->failures < FAILURES_MAX;
        phase->failed_s = fmax(phase->failed_s, phase->largest_s);
        phase->retry_s = now_s + ldexp(RETRY_LOSSES * loss_s, phase->failures);
        phase->hope_s = 0.0;
    }
    begin_phase(phase, XG_SIDE_CPU, now_s, false);
}

static void observe_on_gpu(struct xg_phase *phase, const struct xg_phase_product *product,
                           bool settled)
{
    double saved_s = product->other_s - (product->end_s - product->begin_s);
    bool paid = phase->lost_s <= 0.0;
    phase->lost_s -= saved_s;
    phase->largest_s = fmax(phase->largest_s, product->other_s);
    if (phase->lost_s < -RETRY_LOSSES * phase->spin_s) {
        phase->failures = 0;
        phase->failed_s = 0.0;
    }
    double most_s = fmin(LOSS_UNPAID_S, LOSS_UNPAID_SPINS * phase->spin_s);
    if (paid)
        most_s = fmax(most_s, LOSS_PAID_SHARE * phase->spin_s * phase->share);
    saved_s = fmax(saved_s, -LOSS_ONE_SHARE * most_s);
    if (settled)
        phase->ledger_s = fmin(phase->ledger_s + saved_s, phase->spin_s);
    if (phase->ledger_s < -most_s || phase->lost_s > XG_PHASE_LOSS_MOST_S)
        leave_gpu(phase, product->end_s);
}

void xg_phase_observe(struct xg_phase *phase, const struct xg_phase_product *product)
{
    double seconds = product->end_s - product->begin_s;
    /* Threads that are still awake after that time stay awake: the observed time is the real one.
     */
    bool settled = product->begin_s >= phase->spin_until_s ||
                   product->begin_s >= phase->begun_s + 2.0 * phase->spin_s;
    if (product->side == XG_SIDE_CPU && product->wakes)
        phase->spin_until_s = fmax(phase->spin_until_s, product->end_s + phase->spin_s);
    remember_share(phase, product->begin_s, product->end_s);
    if (product->side != phase->side)
        return;
    if (phase->side == XG_SIDE_GPU) {
        observe_on_gpu(phase, product, settled);
        return;
    }
    seconds -= product->waking_s;
    double ledger_s = phase->ledger_s + seconds - product->other_s;
    double most_s = ldexp(phase->spin_s, phase->failures);
    phase->ledger_s = fmax(fmin(ledger_s, most_s), -LOSS_PAID_SHARE * phase->spin_s);
    phase->hope_s += seconds - product->best_s;
}
