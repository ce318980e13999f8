/* SPDX-License-Identifier: MIT */
/*
 * Cuts a batch between its instances. Each tile needs a panel of each operand, which no other tile
 * reads. Its steps are: load A's panel, load B's, compute, write back. Several tiles are in
 * progress at once.
 */
#include <math.h>

#include "decide/plan.h"

/*
 * The size of a tile with its panels: a part of the batch, because the link idles while the first
 * tile arrives and the last one leaves, but large enough for efficient copies.
 */
static const double STAGES = 32, TILE_BYTES_MIN = 1 << 20, TILE_BYTES_MAX = 16 << 20;

/* Tiles on the device at once: some arrive, some are computed concurrently, some are copied back.
 * With one slot these steps do not overlap. */
enum { SLOTS_WANTED = 8, SLOTS_MIN = 1 };

/* Places tiles of this many instances in this many slots. */
static void place(struct xg_plan *plan, const struct xg_problem *call, int64_t instances, int slots)
{
    const struct xg_extent a = xg_problem_stored(call, false), b = xg_problem_stored(call, true);
    plan->instances = instances;
    plan->tm = instances * xg_problem_instance_rows(call);
    plan->mt = xg_ceil_div(xg_problem_instances(call), instances);
    plan->lda = xg_plan_ld(a.columns);
    plan->ldb = xg_plan_ld(b.columns);
    plan->a_slots = plan->b_slots = plan->c_slots = (int)xg_min_i64(slots, plan->mt);
    plan->a_elems = (size_t)plan->a_slots * xg_plan_matrix_elems(instances * a.rows, plan->lda);
    plan->b_elems = (size_t)plan->b_slots * xg_plan_matrix_elems(instances * b.rows, plan->ldb);
    plan->tile_elems = xg_plan_matrix_elems(plan->tm, xg_plan_ld(call->n));
}

static int64_t choose_instances(const struct xg_problem *call)
{
    double count = (double)xg_problem_instances(call);
    double bytes = (xg_problem_up_elems(call) + xg_problem_down_elems(call)) *
                   (double)xg_problem_elem_bytes(call);
    double wanted = fmin(fmax(bytes / STAGES, TILE_BYTES_MIN), TILE_BYTES_MAX);
    double tiles = fmax(1, ceil(bytes / wanted));
    return (int64_t)fmax(1, ceil(count / tiles));
}

bool xg_plan_batch_fit(struct xg_plan *plan, const struct xg_problem *call,
                       const struct xg_plan_limits *limits)
{
    const int64_t widest = xg_max_i64(call->n, xg_max_i64(xg_problem_stored(call, false).columns,
                                                          xg_problem_stored(call, true).columns));
    plan->tn = call->n;
    plan->tk = call->k;
    plan->nt = plan->kt = 1;
    if (xg_plan_ld(widest) > (int64_t)limits->row_bytes / plan->elem_bytes)
        return false;
    /* Tries fewer slots, and then smaller tiles, until they fit. */
    for (int64_t instances = choose_instances(call); instances >= 1; instances /= 2)
        for (int slots = SLOTS_WANTED; slots >= SLOTS_MIN; slots--) {
            place(plan, call, instances, slots);
            if (xg_plan_bytes(plan) <= (double)limits->device_bytes)
                return true;
        }
    return false;
}

static void add_load(struct xg_plan *plan, int64_t tile, bool b)
{
    const int slots = plan->c_slots;
    const size_t slot_elems = (b ? plan->b_elems : plan->a_elems) / (size_t)slots;
    plan->loads[plan->load_count++] = (struct xg_plan_load){
        .b = b,
        .index = tile,
        .slot = (int)(tile % slots),
        .offset_elems = (size_t)(tile % slots) * slot_elems,
        .after_run = tile < slots ? -1 : tile - slots,
    };
}

void xg_plan_batch_order(struct xg_plan *plan, const struct xg_problem *call)
{
    const int slots = plan->c_slots;
    for (int64_t tile = 0; tile < plan->mt; tile++) {
        add_load(plan, tile, false);
        add_load(plan, tile, true);
        const struct xg_plan_load *loads = &plan->loads[plan->load_count - 2];
        plan->runs[tile] = (struct xg_plan_run){
            .tile = tile,
            .after_load = plan->load_count - 1,
            .a_slot = loads[0].slot,
            .b_slot = loads[1].slot,
            .a_offset_elems = loads[0].offset_elems,
            .b_offset_elems = loads[1].offset_elems,
            .first = true,
            .last = true,
        };
        plan->tiles[tile] = (struct xg_plan_tile){
            .row = tile * plan->tm,
            .rows = xg_plan_rows(plan, call, tile),
            .columns = call->n,
            .ld = xg_plan_ld(call->n),
            .slot = (int)(tile % slots),
            .after_tile = tile < slots ? -1 : tile - slots,
        };
    }
    plan->run_count = plan->tile_count = plan->mt;
}
