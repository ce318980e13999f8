/* SPDX-License-Identifier: MIT */
#include "engine/settled.h"

#include "base/clock.h"
#include "decide/feedback.h"
#include "decide/model.h"
#include "decide/tuning.h"

/*
 * xg_feedback_key (24 bits) and the number of remaining calls (8 bits). 0: free. The table is small
 * because initial-exec thread storage is scarce in programs that open this library late.
 */
enum { SHAPES = 64, BITS = 8 };

static _Thread_local uint32_t settled[SHAPES] __attribute__((tls_model("initial-exec")));

/* An integer, because such a call may not raise a floating-point exception. */
static _Thread_local int64_t last_ns __attribute__((tls_model("initial-exec")));

static uint32_t *place_of(uint32_t key)
{
    return &settled[(key * 0x9e3779b1u >> 16) % SHAPES];
}

void xg_settled_add(const struct xg_problem *call)
{
    uint32_t key = xg_feedback_key(xg_problem_kind(call), call->m, call->n, call->k);
    *place_of(key) = key << BITS | XG_TUNING_SETTLED_CALLS;
}

bool xg_settled_takes(int kind, int64_t m, int64_t n, int64_t k)
{
    uint32_t key = xg_feedback_key(kind, m, n, k), *place = place_of(key);
    if (*place >> BITS != key || *place == key << BITS)
        return false;
    --*place;
    if ((double)m * (double)n * (double)k > XG_MODEL_ALONE_MNK)
        last_ns = xg_clock_ns();
    return true;
}

int64_t xg_settled_forget(void)
{
    int64_t then_ns = last_ns;
    last_ns = 0;
    return then_ns;
}
