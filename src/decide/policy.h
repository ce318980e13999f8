/* SPDX-License-Identifier: MIT */
/* The side for a call whose device is ready, and what is learnt from calls. Pure. */
#ifndef XG_POLICY_H
#define XG_POLICY_H

#include "base/call.h"
#include "decide/decision.h"

/* m * n * k. */
double xg_policy_mnk(const struct xg_problem *call);

/* Fills the threads, the crowd and the predictions of *decision. */
void xg_policy_see(struct xg_policy *policy, const struct xg_conf *conf, const struct xg_call *call,
                   const struct xg_situation *now, struct xg_decision *decision);

/* Whether a call may run on the GPU only to leave A (or B) there: it could stay, as many uses as it
 * was unchanged in pay for what this call loses, and the credit and more_s cover it. */
bool xg_policy_may_leave(const struct xg_conf *conf, const struct xg_problem *problem,
                         const struct xg_decision *decision, bool b, double more_s);

/* Whether a product may run on the GPU for its own sake. A GEMV reads its matrix once, so it must
 * find most of it there. */
bool xg_policy_may_send(const struct xg_conf *conf, const struct xg_problem *problem);

/* The place and the reason, once all is ready: the phase's side, the faster one, or a trial. */
void xg_policy_choose(struct xg_policy *policy, const struct xg_conf *conf,
                      const struct xg_call *call, struct xg_decision *decision);

/*
 * Whether the next calls of a shape that stays on the CPU need no decision. A decision takes time
 * that shows in short calls, so they must be short, their time known, and the GPU must not be worth
 * a trial: it is not ready, or its time is known too, or it is far behind. A GEMV is not settled
 * where its matrix may stay on the device, because each call is a sight of its matrix, of which the
 * shape says nothing. In reproducible mode every call decides for itself.
 */
bool xg_policy_is_settled(const struct xg_policy *policy, const struct xg_conf *conf, bool ready,
                          const struct xg_call *call, const struct xg_decision *decision);

/* What products must have missed before the GPU starts for them. */
double xg_policy_start_price_s(const struct xg_policy *policy, const struct xg_decision *decision);

/* Learns from a call that has ended, as xg_decide_observe. */
void xg_policy_observe(struct xg_policy *policy, enum xg_side side, const struct xg_call *call,
                       const struct xg_decision *decision, double seconds, double now_s);

/* xg_decide_floor_mnk in mode auto. */
double xg_policy_floor_mnk(const struct xg_policy *policy, const struct xg_conf *conf);

#endif
