/* SPDX-License-Identifier: MIT */
/* Corrects the first guess by observations, level by level. */
/*
 * A prediction errs in three ways: the machine is slower or faster than the model assumes, the
 * model misjudges a kind of product, or one shape is special. Each level is blended into the one
 * above in proportion to its weight.
 *
 * Times have outliers on one side only: page faults, loading of kernels, other processes. So a time
 * of twice the expectation or more counts only after such times outnumber expected ones by one (by
 * two, for an estimate with much weight). An estimate moves at least half the way down to any lower
 * time. An estimate with much weight moves by its ordinary share to a time that is lower by a
 * quarter, because some products are short now and then: 920 x 256 x 8 by OpenBLAS on sixteen cores
 * takes 0.14 ms, and sometimes 0.04. Such an estimate must rise again although short times occur in
 * between.
 */
#include "decide/feedback.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "decide/tuning.h"

static int clamp_int(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

static int class_of(const struct xg_problem *call)
{
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    int flops = (ilogb(m * n * k) - 15) / 3;
    int intensity = (ilogb(0.5 * m * n * k / (m * k + k * n + m * n)) + 1) / 2;
    int least = call->k <= call->m && call->k <= call->n ? 0 : call->m <= call->n ? 1 : 2;

    flops = clamp_int(flops, XG_FEEDBACK_FLOPS - 1);
    intensity = clamp_int(intensity, XG_FEEDBACK_INTENSITY - 1);
    return (flops * XG_FEEDBACK_INTENSITY + intensity) * XG_FEEDBACK_LEAST + least;
}

/* A dimension, rounded down to its three leading bits. */
static uint32_t quarter(int64_t extent)
{
    int top = 63 - __builtin_clzll((unsigned long long)extent);
    uint32_t below = (uint32_t)(top < 2 ? extent << (2 - top) : extent >> (top - 2)) & 3;
    return ((uint32_t)top << 2 | below) + 1;
}

static uint32_t fold(uint32_t key)
{
    key &= 0xffffffu;
    return key ? key : 1;
}

uint32_t xg_feedback_key(int kind, int64_t m, int64_t n, int64_t k)
{
    uint32_t shape = quarter(m) << 16 | quarter(n) << 8 | quarter(k);
    return fold(shape + (uint32_t)kind * 0x9e3779u);
}

/* Batches with equal rows differ in their number of instances. */
static uint32_t key_of(const struct xg_problem *call)
{
    uint32_t key = xg_feedback_key(xg_problem_kind(call), call->m, call->n, call->k);
    return call->batch ? fold(key + quarter(call->batch->count) * 0x85ebcau) : key;
}

static size_t set_of(uint32_t key)
{
    return (key * 0x9e3779b1u >> 16) % XG_FEEDBACK_SETS;
}

/* The shape's index in its set; -1: it is unknown. */
static int way_of(const struct xg_feedback_shape *set, uint32_t key)
{
    for (int way = 0; way < XG_FEEDBACK_WAYS; way++)
        if (set[way].key == key)
            return way;
    return -1;
}

static const struct xg_feedback_shape *find_shape(const struct xg_feedback *feedback,
                                                  const struct xg_problem *call)
{
    uint32_t key = key_of(call);
    const struct xg_feedback_shape *set = feedback->shapes[set_of(key)];
    int way = way_of(set, key);
    return way < 0 ? NULL : &set[way];
}

/* The shape's entry. A new shape becomes the first of its set, and the oldest one is dropped. */
static struct xg_feedback_shape *take_shape(struct xg_feedback *feedback,
                                            const struct xg_problem *call)
{
    uint32_t key = key_of(call);
    struct xg_feedback_shape *set = feedback->shapes[set_of(key)];
    int way = way_of(set, key);
    if (way >= 0)
        return &set[way];
    memmove(set + 1, set, (XG_FEEDBACK_WAYS - 1) * sizeof *set);
    set[0] = (struct xg_feedback_shape){0};
    atomic_signal_fence(memory_order_seq_cst); /* a signal handler may interrupt here (latch.h) */
    set[0].key = key;
    return set;
}

static float blend(const struct xg_correction *correction, float above)
{
    return (correction->weight * correction->log_ratio + above) / (correction->weight + 1.0f);
}

double xg_feedback_scale(const struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_problem *call)
{
    const struct xg_feedback_shape *shape = find_shape(feedback, call);
    const struct xg_feedback_kind *kind = &feedback->kinds[xg_problem_kind(call)];
    int class = class_of(call);
    float ratio = blend(&kind->classes[side][class], kind->common[side][class / XG_FEEDBACK_FORMS]);
    if (shape)
        ratio = blend(&shape->times[side], ratio);
    return exp((double)ratio);
}

void xg_correction_add(struct xg_correction *correction, float above, float log_ratio)
{
    bool surprising = log_ratio - blend(correction, above) > XG_TUNING_SURPRISE;
    if (surprising && correction->doubts < (correction->weight < XG_TUNING_SURE_WEIGHT ? 1 : 2)) {
        correction->doubts++;
        return;
    }
    correction->weight = fminf(correction->weight + 1.0f, XG_TUNING_WEIGHT_MAX);
    float change = log_ratio - correction->log_ratio, share = 1.0f / correction->weight;
    bool odd = change < -XG_TUNING_ODD && correction->weight > XG_TUNING_SURE_WEIGHT;
    if (surprising || (change < 0.0f && !odd))
        share = fmaxf(share, XG_TUNING_FALL_SHARE);
    correction->log_ratio += share * change;
    if (surprising)
        correction->doubts = 0;
    else if (correction->doubts > 0)
        correction->doubts--;
}

/* The median over the classes of about this size; the smaller size has some votes too. */
static float common_of(const struct xg_correction *classes, int flops, float smaller)
{
    float votes[3 * XG_FEEDBACK_FORMS + XG_TUNING_PRIOR_VOTES] = {smaller, smaller};
    int count = XG_TUNING_PRIOR_VOTES, begin = flops > 0 ? flops - 1 : 0;
    int end = flops + 2 < XG_FEEDBACK_FLOPS ? flops + 2 : XG_FEEDBACK_FLOPS;
    for (int i = begin * XG_FEEDBACK_FORMS; i < end * XG_FEEDBACK_FORMS; i++) {
        if (classes[i].weight == 0.0f)
            continue;
        int at = count++;
        for (; at > 0 && votes[at - 1] > classes[i].log_ratio; at--)
            votes[at] = votes[at - 1];
        votes[at] = classes[i].log_ratio;
    }
    return 0.5f * (votes[(count - 1) / 2] + votes[count / 2]);
}

void xg_feedback_account(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_problem *call, double seconds)
{
    struct xg_feedback_shape *shape = take_shape(feedback, call);
    double rarer = 1.0 + shape->failed[side];
    shape->credit_s[side] += XG_TUNING_TRIAL_SHARE * seconds / (rarer * rarer);
}

void xg_feedback_observe(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_problem *call, double predicted_s, double seconds)
{
    if (!(seconds > 0.0) || !isfinite(seconds) || !(predicted_s > 0.0))
        return;
    struct xg_feedback_kind *kind = &feedback->kinds[xg_problem_kind(call)];
    if (!kind->begun[side]) {
        kind->begun[side] = true;
        return;
    }
    float log_ratio = (float)log(seconds / predicted_s);
    log_ratio = fmaxf(fminf(log_ratio, XG_TUNING_RATIO_MAX), -XG_TUNING_RATIO_MAX);
    int class = class_of(call), flops = class / XG_FEEDBACK_FORMS;
    float *common = kind->common[side];
    struct xg_correction *classes = kind->classes[side];
    struct xg_feedback_shape *shape = take_shape(feedback, call);
    xg_correction_add(&shape->times[side], blend(&classes[class], common[flops]), log_ratio);
    struct xg_correction before = classes[class];
    xg_correction_add(&classes[class], common[flops], log_ratio);
    float change = fabsf(classes[class].log_ratio - before.log_ratio);
    bool moved = before.weight == 0.0f || change > XG_TUNING_VOTE_CHANGE;
    for (int f = 0; f < XG_FEEDBACK_FLOPS && moved; f++)
        common[f] = common_of(classes, f, f > 0 ? common[f - 1] : 0.0f);
}

bool xg_feedback_dares(struct xg_feedback *feedback, enum xg_side side,
                       const struct xg_problem *call, double extra_s)
{
    struct xg_feedback_shape *shape = take_shape(feedback, call);
    if (shape->credit_s[side] <= 0.0 || shape->credit_s[side] < extra_s)
        return false;
    shape->credit_s[side] = 0.0;
    return true;
}

void xg_feedback_end_trial(struct xg_feedback *feedback, enum xg_side side,
                           const struct xg_problem *call, double extra_s, bool better)
{
    struct xg_feedback_shape *shape = take_shape(feedback, call);
    shape->failed[side] = better ? 0 : shape->failed[side] + 1;
    if (better)
        shape->credit_s[side] += extra_s;
}

double xg_feedback_weight(const struct xg_feedback *feedback, enum xg_side side,
                          const struct xg_problem *call)
{
    const struct xg_feedback_shape *shape = find_shape(feedback, call);
    const struct xg_feedback_kind *kind = &feedback->kinds[xg_problem_kind(call)];
    return (double)(shape ? shape->times[side].weight : kind->classes[side][class_of(call)].weight);
}
