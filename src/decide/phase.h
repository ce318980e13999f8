/* SPDX-License-Identifier: MIT */
/* Which side a stretch of the program's products runs on, and when that changes. Pure. */
#ifndef XG_PHASE_H
#define XG_PHASE_H

#include "decide/feedback.h"

/*
 * A product on a multithreaded CPU library leaves the library's threads spinning (spin.h), and GPU
 * products that follow then lack cores for staging. So the side is chosen for a stretch of
 * products, a phase, and not for each product. The rule is the ski-rental rule: stay until staying
 * has cost as much as changing would.
 *
 *   On the CPU, a ledger sums what each product would have saved on the GPU. The GPU's phase begins
 *   when the sum exceeds the cost of the change: the remaining spin time, times the share of the
 *   program's time that products take.
 *   On the GPU, the ledger sums what each product saved, from the moment the threads sleep. The
 *   phase ends when its loss exceeds the cost of coming back. A phase that has not paid yet ends
 *   after a loss of four spin times, 5 ms at most. Every phase ends when its whole loss, the time
 *   until the threads slept included, exceeds XG_PHASE_LOSS_MOST_S.
 *   A pause that lets the threads sleep ends a phase: the next product chooses freely.
 *
 * A GPU phase that lost doubles the price of the next one, for products up to the size of those
 * that lost; a much longer product pays the plain price. The lesson is doubted when the GPU at its
 * best would have saved many times the cost of a trial, but only after fifty times the last loss
 * has passed: trials take at most 2 % of a program's time.
 *
 * All zeros: a program at its beginning, on the CPU, with sleeping threads.
 */
#define XG_PHASE_LOSS_MOST_S 0.3

struct xg_phase {
    double spin_s; /* how long the CPU library's threads spin after a product; the caller sets it */
    enum xg_side side;
    bool paid_entry;     /* the threads were awake when this phase on the GPU began */
    double begun_s;      /* when this phase began */
    double last_s;       /* when the last product ended */
    double spin_until_s; /* the CPU library's threads may be spinning until then */
    double ledger_s;     /* as above */
    double lost_s;       /* the whole loss of this phase on the GPU; negative: a gain */
    double share;        /* 0 to 1: the recent share of the time that products take */
    double hope_s;       /* on the CPU: what the GPU at its best would have saved since it lost */
    double retry_s;      /* no hopeful trial of the GPU before this time */
    int failures;        /* consecutive phases on the GPU that lost */
    double failed_s;     /* CPU time of the largest product in those phases */
    double largest_s;    /* CPU time of the largest product in this phase on the GPU */
};

/* How long the CPU library's threads may still spin; 0: they sleep. */
double xg_phase_spins_s(const struct xg_phase *phase, double now_s);

/* True if a product that begins now would find those threads asleep, had the last product run on
 * the CPU. */
bool xg_phase_paused(const struct xg_phase *phase, double now_s);

/*
 * The side for a product that would wake the CPU library's threads. cpu_s and gpu_s are its times
 * on each side without disturbance.
 */
enum xg_side xg_phase_choose(struct xg_phase *phase, double now_s, double cpu_s, double gpu_s);

/* What a product on the CPU costs the GPU products behind it. */
double xg_phase_disturbs_s(const struct xg_phase *phase);

/* A finished product. */
struct xg_phase_product {
    enum xg_side side; /* where it ran */
    bool wakes;        /* on the CPU: the library's threads spin from its end on */
    double begin_s, end_s;
    double waking_s; /* on the CPU: the part of that time in which it waited for threads to wake */
    double other_s;  /* the expected time on the other side */
    double best_s;   /* on the CPU: the time on a GPU that nothing disturbs */
};
void xg_phase_observe(struct xg_phase *phase, const struct xg_phase_product *product);

#endif
