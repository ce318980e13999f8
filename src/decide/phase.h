/* SPDX-License-Identifier: MIT */
/* Which side a stretch of the program's products runs on, and when that changes. Pure. */
#ifndef XG_PHASE_H
#define XG_PHASE_H

#include "decide/feedback.h"

/*
 * A product on a multithreaded CPU library leaves the library's threads spinning (shim/pools.h),
 * and GPU products that follow lack cores for staging. So the side is chosen for a stretch of
 * products, a phase, and not for each product. The rule is the ski-rental rule: stay until staying
 * has cost as much as a change would.
 *
 * One ledger says by how much the GPU is ahead:
 *
 *   On the CPU each product adds the time that the GPU would have saved, as predicted. A product
 *   that gains begins the GPU's phase when the sum exceeds the time for which threads still spin.
 *   On the GPU each product adds the time that it has saved, as measured. The sum that began the
 *   phase pays for the products among spinning threads. Once they sleep, the sum is at most the
 *   loss that ends a phase, and the phase ends when the GPU is behind by that loss.
 *   After a lost phase the ledger begins below zero, at the loss over the share of trials
 *   (XG_TUNING_TRIAL_SHARE). Only what the GPU would have saved brings it up again.
 *   A pause that lets the threads sleep makes a change free: the ledger begins at zero.
 *
 * All zeros: a program at its beginning, on the CPU, with sleeping threads.
 */
struct xg_phase {
    double spin_s; /* how long the product's CPU threads spin after it; the caller sets it */
    enum xg_side side;
    double last_s;        /* when the last product ended */
    double awake_until_s; /* the threads of any CPU library may spin until then */
    double ledger_s;      /* as above */
    double lost_s;        /* the whole loss of the last phase on the GPU; negative: a gain */
};

/* How long the CPU threads may still spin; 0: they sleep. */
double xg_phase_spins_s(const struct xg_phase *phase, double now_s);

/*
 * The side for a product that would wake the CPU library's threads. cpu_s and gpu_s are its
 * expected times on each side without disturbance.
 */
enum xg_side xg_phase_choose(struct xg_phase *phase, double now_s, double cpu_s, double gpu_s);

/* Begins the GPU's phase for a trial that has paid for the time for which threads still spin. */
void xg_phase_try(struct xg_phase *phase, double now_s);

/* What a product on the CPU costs the GPU products that follow it. */
double xg_phase_disturbs_s(const struct xg_phase *phase);

/* A finished product. */
struct xg_phase_product {
    enum xg_side side; /* where it ran */
    double begin_s, end_s;
    double expected_s; /* on that side */
    double other_s;    /* expected on the other side */
};
void xg_phase_observe(struct xg_phase *phase, const struct xg_phase_product *product);

/* Notes that products on the CPU, of any kind, end at end_s and leave threads spinning. */
void xg_phase_wake(struct xg_phase *phase, double end_s);

#endif
