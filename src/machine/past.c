/* SPDX-License-Identifier: MIT */
#include "machine/past.h"

#include <math.h>

/* Times the starts' time. */
static const double BELIEVED = 2;

enum { UNPROVED = 4, TOGETHER_S = 60 };

static double starts_s(unsigned needs, const double takes_s[XG_RESOURCE_COUNT])
{
    double sum = 0;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (needs & 1u << i)
            sum += takes_s[i];
    return sum;
}

static uint32_t milliseconds(double seconds)
{
    return seconds > 0 ? (uint32_t)fmin(1e3 * seconds, UINT32_MAX) : 0;
}

/* The gain of calls that need no more than these resources. */
static double gain_of(const double gain_s[XG_RESOURCE_SETS], unsigned needs)
{
    double sum = 0;
    for (unsigned set = 1; set < XG_RESOURCE_SETS; set++)
        if (!(set & ~needs))
            sum += gain_s[set];
    return sum;
}

bool xg_past_holds(const struct xg_past *past, uint64_t machine, int64_t now_s)
{
    const int64_t age_s = now_s - past->time_s;
    return past->machine == machine && age_s >= 0 && age_s <= (int64_t)XG_PAST_DAYS * XG_PAST_DAY_S;
}

/* The resources that gain most in this run, less what their starts cost it. */
static unsigned needs_of(const struct xg_past_run *run)
{
    const double share = run->promised ? XG_PAST_PROVED : XG_PAST_NEEDED;
    unsigned best = 0;
    double most_s = 0;
    for (unsigned set = 1; set < XG_RESOURCE_SETS; set++) {
        double left_s = gain_of(run->gain_s, set) - share * starts_s(set, run->takes_s);
        if (left_s > most_s) {
            most_s = left_s;
            best = set;
        }
    }
    return best;
}

unsigned xg_past_promise(const struct xg_past *past)
{
    const bool gains = past->gain_ms >= XG_PAST_NEEDED * past->price_ms;
    const bool believed = gains && past->unproved < UNPROVED;
    return believed && !past->bars ? past->needs : 0;
}

double xg_past_cpu_ratio(const struct xg_past *past)
{
    return exp2(past->cpu_eighths / 8.0);
}

bool xg_past_is_vain(const struct xg_past *past)
{
    return past->price_ms && !past->needs;
}

void xg_past_take(struct xg_past *past, int64_t now_s)
{
    past->unproved +=
        past->unproved < UINT8_MAX && (now_s - past->time_s >= TOGETHER_S || !past->unproved);
    past->time_s = now_s;
}

void xg_past_learn(struct xg_past *past, const struct xg_past_run *run, int64_t now_s)
{
    const unsigned needs = needs_of(run);
    if (needs) {
        const double price_s = starts_s(needs, run->takes_s);
        past->needs = (uint8_t)needs;
        past->price_ms = milliseconds(price_s);
        const uint32_t least_ms = (uint32_t)ceil(XG_PAST_NEEDED * past->price_ms);
        past->gain_ms = milliseconds(fmin(gain_of(run->gain_s, needs), BELIEVED * price_s));
        if (past->gain_ms < least_ms)
            past->gain_ms = least_ms;
        past->unproved = 0;
    } else if (run->promised && run->ended) {
        past->gain_ms /= 2;
        past->unproved -= past->unproved > 0;
    } else if (run->started && run->ended) {
        past->needs = 0;
        past->price_ms = milliseconds(run->takes_s[XG_RESOURCE_GPU]);
        past->gain_ms = milliseconds(gain_of(run->gain_s, XG_RESOURCE_SETS - 1));
    }
    if (!run->promised && run->cpu_s > 0 && run->cpu_model_s > 0)
        past->cpu_eighths =
            (int8_t)fmax(-16, fmin(16, round(8 * log2(run->cpu_s / run->cpu_model_s))));
    else if (run->promised && run->ended) /* it may have been disturbed then */
        past->cpu_eighths -= past->cpu_eighths / 4;
    past->time_s = now_s;
    past->wall_ms = milliseconds(run->wall_s);
    past->saved_ms = milliseconds(run->saved_s);
    past->first_ms = milliseconds(run->first_s);
    past->device_mib = run->device_mib;
    past->bars |= (uint8_t)run->bars;
}
