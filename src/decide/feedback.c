/* SPDX-License-Identifier: MIT */
/* Corrects the first guess by observations, level by level. */
/*
 * A prediction errs in three ways: the machine is slower or faster than the model assumes, the
 * model misjudges a kind of call, or one shape is special. Each level is blended into the one
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

#include "decide/routine_times.h"
#include "decide/tuning.h"

static int clamp_int(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* From 0; least: operations with which the first class begins. */
static int size_class(double operations, double least)
{
    return clamp_int(ilogb(operations / least) / 3, XG_FEEDBACK_FLOPS - 1);
}

/* Which form a problem of its size has. */
static int form_of(const struct xg_problem *call)
{
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    int intensity = (ilogb(0.5 * m * n * k / (m * k + k * n + m * n)) + 1) / 2;
    int least = call->k <= call->m && call->k <= call->n ? 0 : call->m <= call->n ? 1 : 2;
    return clamp_int(intensity, XG_FEEDBACK_INTENSITY - 1) * XG_FEEDBACK_LEAST + least;
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
static struct xg_feedback_place place_of_problem(const struct xg_problem *call)
{
    const double mnk = (double)call->m * (double)call->n * (double)call->k;
    struct xg_feedback_place at = {
        .kind = xg_problem_kind(call), .forms = XG_FEEDBACK_FORMS, .prior = XG_TUNING_PRIOR_VOTES};
    at.first = at.kind * XG_FEEDBACK_FLOPS * XG_FEEDBACK_FORMS;
    at.size = size_class(mnk, XG_TUNING_FLOOR_LEAST_MNK);
    at.class = at.first + at.size * at.forms + form_of(call);
    at.key = xg_feedback_key(at.kind, call->m, call->n, call->k);
    if (call->batch)
        at.key = fold(at.key + quarter(call->batch->count) * 0x85ebcau);
    return at;
}

/* The model errs differently on SYEV and GESVD, and without all vectors. */
static struct xg_feedback_place place_of_routine(const struct xg_routine *call)
{
    const int64_t values = call->operand[XG_SLOT_W].rows;
    const int all = call->vectors && values >= xg_min_i64(call->m, call->n);
    const int number =
        (((int)call->name * XG_TYPE_COUNT + (int)call->type) * 2 + call->rotates) * 2 + all;
    struct xg_feedback_place at = {
        .kind = XG_KIND_COUNT + number, .forms = 1, .prior = XG_TUNING_ROUTINE_VOTES};
    at.first = (XG_KIND_COUNT * XG_FEEDBACK_FORMS + number) * XG_FEEDBACK_FLOPS;
    at.size = size_class(xg_routine_flops(call), XG_ROUTINE_FLOPS_FLOOR);
    at.class = at.first + at.size;
    at.key = xg_feedback_key(at.kind, call->m, call->n, xg_max_i64(call->k, 1));
    return at;
}

struct xg_feedback_place xg_feedback_place(const struct xg_call *call)
{
    return call->problem ? place_of_problem(call->problem) : place_of_routine(call->routine);
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

static const struct xg_feedback_shape *find_shape(const struct xg_feedback *feedback, uint32_t key)
{
    const struct xg_feedback_shape *set = feedback->shapes[set_of(key)];
    int way = way_of(set, key);
    return way < 0 ? NULL : &set[way];
}

/* The shape's entry. A new shape becomes the first of its set, and the oldest one is dropped. */
static struct xg_feedback_shape *take_shape(struct xg_feedback *feedback, uint32_t key)
{
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
                         const struct xg_feedback_place *at)
{
    const struct xg_feedback_shape *shape = find_shape(feedback, at->key);
    float ratio =
        blend(&feedback->classes[side][at->class], feedback->common[side][at->kind][at->size]);
    if (shape)
        ratio = blend(&shape->times[side], ratio);
    return exp((double)ratio);
}

void xg_correction_add(struct xg_correction *correction, float above, float log_ratio)
{
    bool surprising = log_ratio - blend(correction, above) > XG_TUNING_SURPRISE;
    bool first = !correction->begun;
    correction->begun = true;
    if (surprising && correction->doubts < (correction->weight < XG_TUNING_SURE_WEIGHT ? 1 : 2)) {
        correction->doubts++;
        return;
    }
    if (first)
        return;
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

/* The median over a kind's classes of about this size; prior has some votes too. */
static float common_of(const struct xg_correction *classes, const struct xg_feedback_place *at,
                       int size, float prior)
{
    float votes[3 * XG_FEEDBACK_FORMS + XG_TUNING_PRIOR_VOTES] = {prior, prior};
    int count = at->prior, begin = size > 0 ? size - 1 : 0;
    int end = size + 2 < XG_FEEDBACK_FLOPS ? size + 2 : XG_FEEDBACK_FLOPS;
    for (int i = begin * at->forms; i < end * at->forms; i++) {
        if (classes[i].weight == 0.0f)
            continue;
        int rank = count++;
        for (; rank > 0 && votes[rank - 1] > classes[i].log_ratio; rank--)
            votes[rank] = votes[rank - 1];
        votes[rank] = classes[i].log_ratio;
    }
    return 0.5f * (votes[(count - 1) / 2] + votes[count / 2]);
}

void xg_feedback_observe(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_feedback_place *at, double predicted_s, double seconds)
{
    if (!(seconds > 0.0) || !isfinite(seconds) || !(predicted_s > 0.0))
        return;
    float log_ratio = (float)log(seconds / predicted_s);
    log_ratio = fmaxf(fminf(log_ratio, XG_TUNING_RATIO_MAX), -XG_TUNING_RATIO_MAX);
    float *common = feedback->common[side][at->kind];
    struct xg_correction *class = &feedback->classes[side][at->class];
    struct xg_correction *shape = &take_shape(feedback, at->key)->times[side];
    xg_correction_add(shape, blend(class, common[at->size]), log_ratio);
    struct xg_correction before = *class;
    xg_correction_add(class, common[at->size], log_ratio);
    float change = fabsf(class->log_ratio - before.log_ratio);
    bool moved = before.weight == 0.0f || change > XG_TUNING_VOTE_CHANGE;
    for (int i = 0; i < XG_FEEDBACK_FLOPS && moved; i++)
        common[i] = common_of(&feedback->classes[side][at->first], at, i,
                              at->forms > 1 && i > 0 ? common[i - 1] : 0.0f);
}

void xg_feedback_account(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_feedback_place *at, double seconds)
{
    struct xg_feedback_shape *shape = take_shape(feedback, at->key);
    double rarer = 1.0 + shape->failed[side];
    shape->credit_s[side] += XG_TUNING_TRIAL_SHARE * seconds / (rarer * rarer);
}

bool xg_feedback_tries(struct xg_feedback *feedback, enum xg_side side,
                       const struct xg_feedback_place *at, double extra_s)
{
    struct xg_feedback_shape *shape = take_shape(feedback, at->key);
    if (shape->credit_s[side] <= 0.0 || shape->credit_s[side] < extra_s)
        return false;
    shape->credit_s[side] = 0.0;
    return true;
}

void xg_feedback_end_trial(struct xg_feedback *feedback, enum xg_side side,
                           const struct xg_feedback_place *at, double extra_s, bool better)
{
    struct xg_feedback_shape *shape = take_shape(feedback, at->key);
    shape->failed[side] = better ? 0 : shape->failed[side] + 1;
    if (better)
        shape->credit_s[side] += extra_s;
}

double xg_feedback_weight(const struct xg_feedback *feedback, enum xg_side side,
                          const struct xg_feedback_place *at)
{
    const struct xg_feedback_shape *shape = find_shape(feedback, at->key);
    return (double)(shape ? shape->times[side].weight : feedback->classes[side][at->class].weight);
}
