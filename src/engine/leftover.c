/* SPDX-License-Identifier: MIT */
#include "engine/leftover.h"

#include "host/call_memory.h"

static void add_whole(void *ctx)
{
    ((struct xg_leftover *)ctx)->whole = true;
}

/* Grows by copies: memory of a call cannot be resized. */
static bool make_room(struct xg_leftover *rest)
{
    if (rest->count < rest->room)
        return true;
    int64_t room = 2 * rest->room + 16;
    struct xg_problem *parts = xg_call_memory_alloc((size_t)room * sizeof *parts, rest->frame);
    if (!parts)
        return false;
    for (int64_t i = 0; i < rest->count; i++)
        parts[i] = rest->parts[i];
    xg_call_memory_free(rest->parts);
    rest->parts = parts;
    rest->room = room;
    return true;
}

static void add_part(void *ctx, const struct xg_problem *part)
{
    struct xg_leftover *rest = ctx;
    if (make_room(rest)) {
        rest->parts[rest->count++] = *part;
        return;
    }
    for (int64_t i = 0; i < rest->count; i++)
        rest->cpu->part(rest->cpu->ctx, &rest->parts[i]);
    rest->count = 0;
    rest->cpu->part(rest->cpu->ctx, part);
}

struct xg_cpu xg_leftover_cpu(struct xg_leftover *rest)
{
    return (struct xg_cpu){.whole = add_whole, .part = add_part, .ctx = rest};
}

void xg_leftover_fini(struct xg_leftover *rest)
{
    xg_call_memory_free(rest->parts);
}
