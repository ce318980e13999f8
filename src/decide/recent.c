/* SPDX-License-Identifier: MIT */
#include "decide/recent.h"

#include <stdatomic.h>
#include <string.h>

/* The facts on which every selection without a name depends. cuBLAS is part of the place instead,
 * because it is opened for the calls that need it. */
static bool same_device(const struct xg_device_facts *x, const struct xg_device_facts *y)
{
    return x->sm == y->sm && x->generation == y->generation && x->sm_count == y->sm_count &&
           x->smem_block_bytes == y->smem_block_bytes && x->fp64_ratio == y->fp64_ratio &&
           x->clusters == y->clusters && x->images == y->images;
}

/* Returns the place of the shape, after emptying the table if it belongs to another device. */
static struct xg_recent_place *place_of(struct xg_recent *recent,
                                        const struct xg_device_facts *facts, enum xg_math math,
                                        const struct xg_shape *shape)
{
    if (recent->math != math || !same_device(&recent->facts, facts)) {
        memset(recent->places, 0, sizeof recent->places);
        atomic_signal_fence(memory_order_seq_cst);
        recent->facts = *facts;
        recent->math = math;
    }
    uint64_t mixed = (uint64_t)shape->m * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (uint64_t)shape->n) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (uint64_t)shape->k) * 0x94d049bb133111ebu;
    mixed = (mixed ^ (uint64_t)shape->type << 8 ^ (uint64_t)facts->cublas << 2 ^
             (uint64_t)shape->transa << 1 ^ shape->transb) *
            0x9e3779b97f4a7c15u;
    return &recent->places[(size_t)(mixed >> 32) % XG_RECENT_PLACES];
}

struct xg_choice xg_recent_select(struct xg_recent *recent, const struct xg_device_facts *facts,
                                  enum xg_math math, const char *name, const struct xg_shape *shape)
{
    if (!recent || name)
        return xg_select(facts, math, name, shape);
    struct xg_recent_place *place = place_of(recent, facts, math, shape);
    if (!place->filled || place->cublas != facts->cublas || !xg_shape_is(&place->shape, shape)) {
        const struct xg_choice choice = xg_select(facts, math, NULL, shape);
        place->filled = false; /* until all of it is written */
        atomic_signal_fence(memory_order_seq_cst);
        place->choice = choice;
        place->shape = *shape;
        place->cublas = facts->cublas;
        atomic_signal_fence(memory_order_seq_cst);
        place->filled = true;
        return choice;
    }
    return place->choice;
}
