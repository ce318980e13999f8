/* SPDX-License-Identifier: MIT */
/* Credit and risk in seconds; doc/explanation/residency.md has the rules. */
#include "resident/credit.h"

#include <math.h>

void xg_credit_init(struct xg_credit *credit)
{
    *credit = (struct xg_credit){.have_s = XG_CREDIT_START_S};
}

double xg_credit_loan_s(const struct xg_credit *credit)
{
    return fmax(0.0, XG_CREDIT_LOAN_S - credit->lent_s);
}

static void lend(struct xg_credit *credit, double most_s)
{
    const double loan_s = fmin(most_s, xg_credit_loan_s(credit));
    if (loan_s > 0.0) {
        credit->lent_s += loan_s;
        credit->have_s += loan_s;
    }
}

void xg_credit_trust(struct xg_credit *credit)
{
    lend(credit, XG_CREDIT_LOAN_S);
}

void xg_credit_call(struct xg_credit *credit, double took_s, double saved_s, double lost_s)
{
    credit->have_s += XG_CREDIT_OF_TIME * took_s + XG_CREDIT_OF_SAVED * saved_s - lost_s;
}

/* The share of an operand's pages that is armed, by its state. */
static const double share_of[] = {0.0, XG_CREDIT_SHARE, 1.0};

/* What writes to its armed pages can cost beyond what it earned. A share of what it earned is
 * credit already. */
static double risk_of(const struct xg_credit_item *item)
{
    const double loss_s = share_of[item->state] * (item->miss_s + item->disarm_s);
    return fmax(0.0, loss_s - (1.0 - XG_CREDIT_OF_SAVED) * item->earned_s);
}

/* Changes the item and keeps the sum of all risks. */
static void replace(struct xg_credit *credit, struct xg_credit_item *item, struct xg_credit_item by)
{
    credit->risk_s -= risk_of(item);
    *item = by;
    credit->risk_s = fmax(0.0, credit->risk_s + risk_of(item));
}

static void set_state(struct xg_credit *credit, struct xg_credit_item *item,
                      enum xg_credit_state state, double earned_s)
{
    struct xg_credit_item by = *item;
    by.state = state;
    by.earned_s = earned_s;
    replace(credit, item, by);
}

void xg_credit_set_costs(struct xg_credit *credit, struct xg_credit_item *item, double arm_s,
                         double disarm_s, double miss_s)
{
    struct xg_credit_item by = *item;
    by.arm_s = arm_s;
    by.disarm_s = disarm_s;
    by.miss_s = miss_s;
    replace(credit, item, by);
}

static int need_of(const struct xg_credit_item *item)
{
    return item->need ? item->need : XG_CREDIT_NEED;
}

static int twice(int uses)
{
    return uses < 1 << 29 ? 2 * uses : uses;
}

static enum xg_credit_advice hit(struct xg_credit *credit, struct xg_credit_item *item,
                                 double gain_s)
{
    item->run++;
    item->used = credit->uses;
    set_state(credit, item, XG_CREDIT_ARMED, item->earned_s + gain_s);
    credit->have_s += XG_CREDIT_OF_SAVED * gain_s;
    return XG_CREDIT_HIT;
}

/* burnt: it cost more than it saved, so it must be seen for longer next time. */
static enum xg_credit_advice drop(struct xg_credit *credit, struct xg_credit_item *item, bool burnt)
{
    if (burnt)
        item->need = item->run > twice(need_of(item)) ? item->run : twice(need_of(item));
    item->run = 0;
    set_state(credit, item, XG_CREDIT_SEEN, 0.0);
    return XG_CREDIT_DROP;
}

static enum xg_credit_advice use_kept(struct xg_credit *credit, struct xg_credit_item *item,
                                      const struct xg_credit_sight *sight)
{
    const double share = sight->written, paid_s = share * item->miss_s;
    const double gain_s = (1.0 - share) * sight->gain_s;
    credit->have_s -= paid_s;
    if (share <= XG_CREDIT_DIRTY && paid_s <= gain_s)
        return hit(credit, item, gain_s);
    credit->have_s -= item->disarm_s;
    return drop(credit, item, item->earned_s < item->miss_s + item->arm_s);
}

/* Of an operand that is not kept: by its fingerprint or its scout. */
static bool is_changed(const struct xg_credit_item *item, const struct xg_credit_sight *sight)
{
    return sight->changed || (item->state == XG_CREDIT_SCOUTED && sight->written > XG_CREDIT_DIRTY);
}

int xg_credit_unchanged(const struct xg_credit_item *item, const struct xg_credit_sight *sight)
{
    const bool proved = !is_changed(item, sight) && item->run + 1 >= need_of(item);
    return item->state == XG_CREDIT_ARMED || proved ? item->run + 1 : 0;
}

/* What is left if this share of its pages is armed. */
static double spare_s(const struct xg_credit *credit, const struct xg_credit_item *item,
                      double share)
{
    return credit->have_s - credit->risk_s - share * (item->arm_s + item->miss_s + item->disarm_s);
}

/* What is left if all of them are, after a scout that is paid for or not. */
static double spare_of_all_s(const struct xg_credit *credit, const struct xg_credit_item *item)
{
    return spare_s(credit, item, item->state == XG_CREDIT_SCOUTED ? 1.0 : 1.0 + XG_CREDIT_SHARE);
}

/* The credit covers the scout now, and would cover all pages once all is lent. */
static bool may_scout(const struct xg_credit *credit, const struct xg_credit_item *item)
{
    return spare_s(credit, item, XG_CREDIT_SHARE) >= 0.0 &&
           spare_of_all_s(credit, item) + xg_credit_loan_s(credit) >= 0.0;
}

double xg_credit_spare_s(const struct xg_credit *credit, const struct xg_credit_item *item,
                         const struct xg_credit_sight *sight)
{
    const bool due = item->state == XG_CREDIT_SCOUTED && xg_credit_unchanged(item, sight) > 0;
    return due ? spare_of_all_s(credit, item) : -INFINITY;
}

static enum xg_credit_advice use_other(struct xg_credit *credit, struct xg_credit_item *item,
                                       const struct xg_credit_sight *sight)
{
    bool changed = is_changed(item, sight), scouted = item->state == XG_CREDIT_SCOUTED;
    if (scouted) {
        credit->have_s -= sight->written * XG_CREDIT_SHARE * item->miss_s;
        /* One that waits may be written a little at each use. */
        changed |= credit->have_s < credit->risk_s;
        if (changed) {
            credit->have_s -= XG_CREDIT_SHARE * item->disarm_s;
            item->need = twice(need_of(item));
        }
    }
    item->run = changed ? 0 : item->run + 1;
    if (changed)
        set_state(credit, item, XG_CREDIT_SEEN, 0.0);
    if (item->run >= XG_CREDIT_NEED) /* or a program whose calls are short would never begin */
        lend(credit, XG_CREDIT_OF_FORGONE * sight->gain_s);
    if (item->run < need_of(item))
        return XG_CREDIT_STAY;
    if (scouted)
        return spare_of_all_s(credit, item) >= 0.0 ? XG_CREDIT_ARM : XG_CREDIT_STAY;
    return may_scout(credit, item) ? XG_CREDIT_SCOUT : XG_CREDIT_STAY;
}

enum xg_credit_advice xg_credit_use(struct xg_credit *credit, struct xg_credit_item *item,
                                    const struct xg_credit_sight *sight)
{
    credit->uses++;
    return (item->state == XG_CREDIT_ARMED ? use_kept : use_other)(credit, item, sight);
}

void xg_credit_armed(struct xg_credit *credit, struct xg_credit_item *item,
                     enum xg_credit_state state)
{
    credit->have_s -= share_of[state] * item->arm_s;
    item->used = credit->uses;
    set_state(credit, item, state, 0.0);
}

void xg_credit_postpone(struct xg_credit_item *item)
{
    item->need = twice(item->run > need_of(item) ? item->run : need_of(item));
}

void xg_credit_dropped(struct xg_credit *credit, struct xg_credit_item *item)
{
    credit->have_s -= risk_of(item);
    drop(credit, item, item->state == XG_CREDIT_ARMED && item->earned_s < item->arm_s);
}

double xg_credit_worth(const struct xg_credit *credit, const struct xg_credit_item *item,
                       double bytes)
{
    return item->earned_s / bytes / (double)(1 + credit->uses - item->used);
}

bool xg_credit_displaces(double gain_s, double bytes, double worth)
{
    return gain_s / bytes > XG_CREDIT_BETTER * worth;
}
