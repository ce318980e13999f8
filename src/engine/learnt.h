/* SPDX-License-Identifier: MIT */
/* What the process knows about its machine and has learnt from its calls, behind one latch. */
#ifndef XG_LEARNT_H
#define XG_LEARNT_H

#include "base/conf.h"
#include "decide/decide.h"
#include "host/shelter.h"

/* Examines the machine at the first call that is handed over. Call it before the functions below,
 * with signals blocked the first time. */
void xg_learnt_open(const struct xg_conf *conf, const struct xg_cpu *cpu,
                    const struct xg_shelter *shelter);

/* True if xg_learnt_open returns at once and a decision takes no lock: the machine has been
 * examined, and the device, if it is ready, is known. From any thread. */
bool xg_learnt_is_open(void);

/* Cores that the process may use, and those that products on the CPU leave for staging (INT_MAX:
 * no product runs there, so that the measured staging figures hold). */
int xg_learnt_cores(void);
int xg_learnt_cores_left(void);

/* Whether the device computes no problem of this kind (problem.h). */
bool xg_learnt_is_unserved(int kind);
void xg_learnt_set_unserved(int kind);

/*
 * The decision (decide/decide.h). If other threads hold the latch for long, a product goes to the
 * CPU; it waits if it would take long on the CPU, runs with signals blocked, is reported, or may
 * not depend on other threads. A routine always waits.
 */
void xg_learnt_decide(const struct xg_conf *conf, const struct xg_call *call,
                      struct xg_situation *now, struct xg_shelter *shelter,
                      struct xg_decision *decision);

/* Learns from a call that has ended (xg_decide_observe), unless the latch is taken. */
void xg_learnt_observe(const struct xg_conf *conf, enum xg_side side, const struct xg_call *call,
                       const struct xg_decision *decision, double seconds, double now_s);

/* Whether the engine wants problems of this kind and size, as xg_dispatch_wants. */
bool xg_learnt_wants(int kind, int64_t m, int64_t n, int64_t k);

/* Whether every product needs a decision. */
bool xg_learnt_wants_all(void);

/* Adds the figures that a trace report needs: once, and again when there is a device. */
void xg_learnt_trace(const struct xg_conf *conf, const struct xg_cpu *cpu);

#endif
