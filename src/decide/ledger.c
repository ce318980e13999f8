/* SPDX-License-Identifier: MIT */
#include "decide/ledger.h"

#include <math.h>

#include "decide/tuning.h"

/* Seconds until the start has ended. A late one may end at any time, and a very late one never. One
 * that this call did not see begin counts from now. */
static double remaining_s(struct xg_ledger *ledger, int resource, const struct xg_start *start,
                          double now_s)
{
    double *begun_s = &ledger->begun_s[resource];
    if (start->state != XG_START_UNDER_WAY)
        return start->state == XG_START_READY ? 0 : start->takes_s;
    if (!(*begun_s > 0))
        *begun_s = now_s;
    const double passed_s = now_s - *begun_s;
    if (passed_s > XG_TUNING_PATIENCE * start->takes_s)
        return HUGE_VAL;
    return fmax(start->takes_s - passed_s, start->takes_s / 10);
}

/* What calls have missed that needed no more than this call, and something that is still cold. */
static double paid_s(const struct xg_ledger *ledger, unsigned needs, unsigned cold, bool in_full)
{
    double paid = 0;
    for (unsigned set = 0; set < XG_RESOURCE_SETS; set++)
        if (!(set & ~needs) && set & cold)
            paid += ledger->missed_s[set] - (in_full ? 0 : ledger->whole_s[set]);
    return paid;
}

struct xg_ledger_answer xg_ledger_ask(struct xg_ledger *ledger,
                                      const struct xg_start starts[XG_RESOURCE_COUNT],
                                      const struct xg_ledger_call *call)
{
    struct xg_ledger_answer answer = {0};
    const double cpu_s = call->cpu_s;
    double price_s = 0, wait_s = 0;
    unsigned cold = 0, unpaid;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++) {
        double left_s = remaining_s(ledger, i, &starts[i], call->now_s);
        if (!(call->needs & 1u << i))
            continue;
        wait_s += left_s;
        if (starts[i].state == XG_START_COLD) {
            cold |= 1u << i;
            price_s += call->promised & 1u << i ? 0 : starts[i].price_s;
        }
    }
    const double done_s = wait_s + call->gpu_s;
    const double alone_s = call->waits_never ? HUGE_VAL : done_s - XG_TUNING_SURE * cpu_s;
    unpaid = cold & ~call->promised;
    answer.earning =
        unpaid && paid_s(ledger, call->needs, unpaid, call->in_full) < fmin(price_s, alone_s);
    if (answer.earning)
        return answer;
    /* A start that is due begins in any case; the call then takes the cheaper way. */
    const double beside_s = cpu_s + XG_TUNING_BESIDE * fmin(wait_s, cpu_s / (1 - XG_TUNING_BESIDE));
    answer.start = cold;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (cold & 1u << i)
            ledger->begun_s[i] = call->now_s;
    answer.wait = !call->waits_never && done_s < (cold ? beside_s : XG_TUNING_SURE * beside_s);
    answer.most_s = fmax(XG_TUNING_PATIENCE * wait_s, cpu_s);
    return answer;
}

void xg_ledger_miss(struct xg_ledger *ledger, unsigned needs, bool in_full, double saved_s)
{
    if (!(saved_s > 0))
        return;
    ledger->missed_s[needs] += saved_s;
    ledger->whole_s[needs] += in_full ? saved_s : 0;
}

void xg_ledger_save(struct xg_ledger *ledger, unsigned needs, double saved_s)
{
    if (isfinite(saved_s))
        ledger->saved_s[needs] += saved_s;
}
