/* SPDX-License-Identifier: MIT */
/* The side that a stretch of the program's products runs on, and when it changes. Pure. */
#ifndef XG_PHASE_H
#define XG_PHASE_H

#include "decide/feedback.h"

/*
 * A product on a multithreaded CPU library leaves its threads spinning (spin.h), and products that
 * follow on the GPU find no cores for their staging. So single products cannot choose a side well:
 * a stretch of them does, a phase. The rule is that of hiring or buying skis: stay until staying
 * has cost as much as changing does.
 *
 *   On the CPU, a ledger adds up what each product would have saved on the GPU. When it exceeds
 *   what a change costs, which is the time that the threads go on spinning for times the share of
 *   the time that products take, the GPU's phase begins.
 *   On the GPU, the ledger adds up what each product did save. It counts from when the threads
 *   sleep; when what it lost exceeds what coming back would cost, the phase ends. One that has
 *   not paid yet ends after four spins of that, 5 ms at most, and in any case when all that it
 *   lost, the threads' falling asleep included, exceeds XG_PHASE_LOSS_MOST_S.
 *   A pause that lets the threads sleep ends a phase: the next product chooses freely.
 *
 * A phase on the GPU that lost makes the next one cost twice as much, for products as large as
 * those that lost: what small ones lose says nothing of one that takes much longer, which pays a
 * change's own price. What it taught is doubted where the GPU at its best would have saved many
 * times what a trial costs, but not before fifty times what the last one lost has gone by: trials
 * take no more than 2 % of a program's time.
 *
 * All zeros: a program that begins, on the CPU, threads asleep.
 */
#define XG_PHASE_LOSS_MOST_S 0.3

struct xg_phase {
    double spin_s; /* for how long the CPU library's threads spin after a product; the caller's */
    enum xg_side side;
    bool paid_entry;     /* the threads were awake when this phase on the GPU began */
    double begun_s;      /* when this phase began */
    double last_s;       /* when the last product ended */
    double spin_until_s; /* the CPU library's threads may be spinning until then */
    double ledger_s;     /* as above */
    double lost_s;       /* by this phase on the GPU, all in all; negative: gained */
    double share;        /* 0 to 1: of late, the part of the time that products take */
    double hope_s;       /* on the CPU: what the GPU would have saved at its best, since it lost */
    double retry_s;      /* the GPU is not tried in hope before */
    int failures;        /* phases on the GPU that lost, one after the other */
    double failed_s;     /* what the largest product of those takes on the CPU */
    double largest_s;    /* of this phase on the GPU, likewise */
};

/* For how long from now the CPU library's threads may go on spinning; 0: they sleep. */
double xg_phase_spins_s(const struct xg_phase *phase, double now_s);

/* True where a product that begins now would find those threads asleep, had the last one run on the
 * CPU. */
bool xg_phase_paused(const struct xg_phase *phase, double now_s);

/*
 * The side for a product that would wake the CPU library's threads there: cpu_s and gpu_s are what
 * it takes on each while nothing disturbs it.
 */
enum xg_side xg_phase_choose(struct xg_phase *phase, double now_s, double cpu_s, double gpu_s);

/* What a product on the CPU costs besides its own time: those behind it on the GPU. */
double xg_phase_disturbs_s(const struct xg_phase *phase);

/* A product that ended. */
struct xg_phase_product {
    enum xg_side side; /* ran there */
    bool wakes;        /* on the CPU: its threads spin from now on */
    double begin_s, end_s;
    double waking_s; /* on the CPU: of that time, for which it waited for threads to wake */
    double other_s;  /* what the other side was expected to take */
    double best_s;   /* on the CPU: what the GPU may take where nothing ever disturbs it */
};
void xg_phase_observe(struct xg_phase *phase, const struct xg_phase_product *product);

#endif
