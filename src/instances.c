/* SPDX-License-Identifier: MIT */
/* Passes a batch's instances on as products, with what the CPU library's side is of each. */
#include "instances.h"

static const double ALONE_BYTES = 24 << 20;

bool xg_instances_stand_alone(const struct xg_problem *call)
{
    if (!call->batch)
        return false;
    const struct xg_problem instance = xg_problem_instance(call, 0);
    double elems = xg_problem_up_elems(&instance) + xg_problem_down_elems(&instance);
    return call->batch->count == 1 || elems * (double)xg_problem_elem_bytes(call) >= ALONE_BYTES;
}

struct alone {
    const struct xg_cpu *cpu;
    const struct xg_problem *instance;
};

static void alone_whole(void *ctx)
{
    const struct alone *alone = ctx;
    alone->cpu->part(alone->cpu->ctx, alone->instance);
}

static void alone_part(void *ctx, const struct xg_problem *part)
{
    const struct alone *alone = ctx;
    alone->cpu->part(alone->cpu->ctx, part);
}

static const char *alone_library(void *ctx)
{
    const struct alone *alone = ctx;
    return alone->cpu->library ? alone->cpu->library(alone->cpu->ctx) : NULL;
}

static int alone_threads(void *ctx)
{
    const struct alone *alone = ctx;
    return alone->cpu->threads ? alone->cpu->threads(alone->cpu->ctx) : 0;
}

void xg_instances_each(const char *symbol, const struct xg_problem *call, const struct xg_cpu *cpu,
                       xg_instances_dispatch *dispatch)
{
    const int64_t count = xg_problem_instances(call);
    for (int64_t i = 0; i < count; i++) {
        const struct xg_problem instance = xg_problem_instance(call, i);
        struct alone alone = {cpu, &instance};
        struct xg_cpu apart = *cpu;
        apart.whole = alone_whole;
        apart.part = alone_part;
        apart.library = alone_library;
        apart.threads = alone_threads;
        apart.ctx = &alone;
        dispatch(symbol, &instance, count > 1 ? &apart : cpu);
    }
}
