/* SPDX-License-Identifier: MIT */
/* Decides when tracking an operand's pages is worth its cost, and bounds what it may cost in all.
 */
/*
 * The first write to an armed page costs about a microsecond, so rewriting an operand costs as much
 * as sending it 12 to 19 times. The credit is a sum of seconds that may be lost: some at first, a
 * share of the time in calls, and a share of what the GPU and kept operands save. An operand is
 * armed only if the credit covers all that may still be written: a page costs its fault once per
 * arming. Before that, a 32nd of its pages is armed (the scout), which finds programs that write
 * equal bytes again, and what cannot be tracked. Pure: no clock, no system call, no lock.
 *
 * The bound: the time lost is at most XG_CREDIT_START_S + XG_CREDIT_LOAN_S (0.15 s) and
 * XG_CREDIT_OF_TIME (0.5 %) of the time in calls, less 0.9 of what was saved.
 */
#ifndef XG_CREDIT_H
#define XG_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define XG_CREDIT_START_S 0.05
#define XG_CREDIT_OF_TIME 0.005   /* of the time in calls */
#define XG_CREDIT_OF_SAVED 0.1    /* of what the GPU and kept operands saved */
#define XG_CREDIT_OF_FORGONE 0.25 /* of what an unchanged operand would have saved, as a loan */
#define XG_CREDIT_LOAN_S 0.1      /* the most that is lent in all */
#define XG_CREDIT_SHARE (1.0 / XG_CREDIT_PART)
#define XG_CREDIT_DIRTY 0.1  /* the largest written share that is sent again; beyond: dropped */
#define XG_CREDIT_BETTER 2.0 /* how much better an operand must be than one that it displaces */
/* NEED: an operand is scouted after so many uses without a change. NEVER stands for that number if
 * the operand's memory cannot be tracked. */
enum { XG_CREDIT_NEED = 2, XG_CREDIT_NEVER = 1 << 30 };
enum { XG_CREDIT_PART = 32 }; /* a scout arms one of so many of its pages */

/* One operand. Zeroes: never used; the caller then sets the costs by xg_credit_set_costs. */
struct xg_credit_item {
    double arm_s, disarm_s; /* of all its pages */
    double miss_s;          /* of a write to each of its pages after arming */
    int run, need;          /* uses without a change in a row; how many it needs (0: NEED) */
    enum xg_credit_state {
        XG_CREDIT_SEEN,    /* none of its pages is armed */
        XG_CREDIT_SCOUTED, /* a share of them */
        XG_CREDIT_ARMED,   /* all of them */
    } state;
    double earned_s; /* saved since it was armed: covers its risk */
    int64_t used;    /* the number of its last hit or arming, of a part too */
};

struct xg_credit {
    double have_s, lent_s;
    double risk_s; /* what writes to armed pages can still cost */
    int64_t uses;
};

void xg_credit_init(struct xg_credit *credit);

/* What may still be lent. */
double xg_credit_loan_s(const struct xg_credit *credit);

/* Lends all of it: earlier runs of the program promise a gain. */
void xg_credit_trust(struct xg_credit *credit);

/* A call has ended after took_s. If it ran on the GPU, it saved saved_s; if only to leave an
 * operand there, it lost lost_s. Otherwise both are 0. */
void xg_credit_call(struct xg_credit *credit, double took_s, double saved_s, double lost_s);

/* What arming, disarming and writes to all its pages cost. In any state. */
void xg_credit_set_costs(struct xg_credit *credit, struct xg_credit_item *item, double arm_s,
                         double disarm_s, double miss_s);

/* What was found at a use of an operand. */
struct xg_credit_sight {
    double gain_s;  /* saved by an operand that is kept and clean; at least 0 */
    double written; /* share of its armed pages that were written since its last use, 0 to 1 */
    bool changed;   /* its fingerprint differs from that of its last use; false at the first */
};

enum xg_credit_advice {
    XG_CREDIT_STAY,  /* send it, keep nothing */
    XG_CREDIT_SCOUT, /* arm a share of it: then xg_credit_armed */
    XG_CREDIT_ARM,   /* arm it and keep it, if there is room: then xg_credit_armed */
    XG_CREDIT_HIT,   /* it is kept: send only what was written */
    XG_CREDIT_DROP   /* it was kept, and is no longer: disarm and forget it */
};

/* Both are asked before xg_credit_use. The first returns in how many uses in a row, with this one,
 * the operand was unchanged; 0 if these are fewer than it needs and it is not kept. The second
 * returns the credit that is left if all its pages are armed now; -INFINITY if it has no scout, or
 * the first returns 0. */
int xg_credit_unchanged(const struct xg_credit_item *item, const struct xg_credit_sight *sight);
double xg_credit_spare_s(const struct xg_credit *credit, const struct xg_credit_item *item,
                         const struct xg_credit_sight *sight);

/*
 * Accounts for one use of an operand, and returns what to do. Each use of the operand is passed
 * once. The caller may ignore SCOUT and ARM. A DROP has already been accounted for.
 */
enum xg_credit_advice xg_credit_use(struct xg_credit *credit, struct xg_credit_item *item,
                                    const struct xg_credit_sight *sight);

/* The caller has armed the pages of this state: accounts for the cost. */
void xg_credit_armed(struct xg_credit *credit, struct xg_credit_item *item,
                     enum xg_credit_state state);

/* The operand could not be armed or kept: it is tried again after twice as many uses. */
void xg_credit_postpone(struct xg_credit_item *item);

/* The operand is no longer tracked, for a reason other than its use: its memory was freed or mapped
 * anew, it was evicted, disarmed before a write of ours, or its entry is needed. Its pages may have
 * been written unseen, so what that costs counts as lost, less what it earned. Any state. */
void xg_credit_dropped(struct xg_credit *credit, struct xg_credit_item *item);

/*
 * Among kept operands, the one of least worth is displaced first: what it saved since it was armed,
 * per byte, divided by the uses of operands since its last hit. A candidate may displace it if
 * xg_credit_displaces.
 */
double xg_credit_worth(const struct xg_credit *credit, const struct xg_credit_item *item,
                       double bytes);
bool xg_credit_displaces(double gain_s, double bytes, double worth);

#endif
