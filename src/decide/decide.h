/* SPDX-License-Identifier: MIT */
/* Decides once about a call where it is computed. Pure: takes what is known, and the call. */
#ifndef XG_DECIDE_H
#define XG_DECIDE_H

#include "base/call.h"
#include "decide/decision.h"

/*
 * The only place that decides about a call: its side, its reason, what has to be started and what
 * it waits for. In mode auto a call runs on the side that is expected to finish first. Products
 * that wake the CPU library's threads run on the side of their phase (phase.h), and now and then a
 * call tries the slower side (xg_feedback_tries), or takes an operand to the device that can stay
 * there. Before all that the call needs is ready, the ledger decides. With XGEMM_REPRODUCIBLE the
 * model alone decides, and calls wait. The caller locks, here and below.
 */
void xg_decide(struct xg_policy *policy, const struct xg_conf *conf, const struct xg_call *call,
               const struct xg_situation *now, struct xg_decision *decision);

/*
 * The call ran on that side until now_s and took `seconds` without its wait for a lane. Calls on
 * the CPU before all was ready miss the time that the GPU would have saved.
 */
void xg_decide_observe(struct xg_policy *policy, enum xg_side side, const struct xg_call *call,
                       const struct xg_decision *decision, double seconds, double now_s);

/* Products of settled shapes ran on the CPU without a decision and may have woken threads; the last
 * one began at then_s. */
void xg_decide_observe_settled(struct xg_policy *policy, double then_s);

/*
 * The shim forwards products with m*n*k below this floor without a decision. The floor is 32^3
 * until small products of the CPU library have been observed, and then the product that this
 * library computes in the time of an empty GPU call: 64^3 for the usual libraries. It is 0 if every
 * call needs a decision (mode gpu or compare, statistics, a trace, a line per call), HUGE_VAL if no
 * call does (mode cpu, or no GPU).
 */
double xg_decide_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf,
                           enum xg_engine_state state);

/*
 * The shim also forwards a GEMV whose matrix has fewer bytes than this, even if every other call
 * needs a decision: programs make millions of small ones, which no GPU gains by. It is 0 if the
 * user asks for the GPU, and HUGE_VAL if no matrix may stay there and no call is reported.
 */
double xg_decide_floor_bytes(const struct xg_conf *conf);

#endif
