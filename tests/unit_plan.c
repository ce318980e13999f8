/* SPDX-License-Identifier: MIT */
/* The planner: every list it builds can be executed as it stands, computes C once, and fits. */
#include "xt.h"

#include "plan.h"

/* What an executor would see: which panel each slot holds, and which tile. */
struct slots {
    int64_t *a, *b, *c;
};

static int64_t *filled(int64_t count)
{
    int64_t *values = malloc((size_t)count * sizeof *values);
    memset(values, -1, (size_t)count * sizeof *values);
    return values;
}

/*
 * Executes the lists as pipe.c does: a load when the run it waits for is done, a run when its loads
 * are, a tile when its last run is. Loads are taken as early as they can be, which is when a slot
 * reused too soon would show.
 */
static void check_lists(const struct xg_plan *plan)
{
    struct slots slots = {filled(plan->a_slots), filled(plan->b_slots), filled(plan->c_slots)};
    int64_t *depth_done = calloc((size_t)plan->tile_count, sizeof *depth_done);
    int64_t loads = 0;
    for (int64_t r = 0; r < plan->run_count; r++) {
        while (loads < plan->load_count && plan->loads[loads].after_run < r) {
            const struct xg_plan_load *load = &plan->loads[loads++];
            int64_t *slot = load->b ? slots.b : slots.a;
            XT_CHECK(load->slot >= 0 && load->slot < (load->b ? plan->b_slots : plan->a_slots));
            slot[load->slot] = load->index * plan->kt + load->l;
        }
        const struct xg_plan_run *run = &plan->runs[r];
        const struct xg_plan_tile *tile = &plan->tiles[run->tile];
        int64_t l = depth_done[run->tile]++;
        XT_CHECK(run->a_load < loads && run->b_load < loads, "run %ld waits for ever", (long)r);
        const struct xg_plan_load *a = &plan->loads[run->a_load], *b = &plan->loads[run->b_load];
        XT_CHECK(!a->b && b->b && a->l == l && b->l == l && a->index == tile->i &&
                 b->index == tile->j);
        XT_CHECK(slots.a[a->slot] == tile->i * plan->kt + l, "A's slot was overwritten");
        XT_CHECK(slots.b[b->slot] == tile->j * plan->kt + l, "B's slot was overwritten");
        XT_CHECK(run->first == (l == 0) && run->last == (l == plan->kt - 1));
        if (run->first) {
            int64_t before = slots.c[tile->slot];
            XT_CHECK(before == tile->after_tile);
            XT_CHECK(before < 0 || depth_done[before] == plan->kt, "C's slot is still needed");
            slots.c[tile->slot] = run->tile;
        }
        XT_CHECK(slots.c[tile->slot] == run->tile);
    }
    XT_CHECK(loads == plan->load_count, "%ld loads of %ld never happen",
             (long)(plan->load_count - loads), (long)plan->load_count);
    for (int64_t t = 0; t < plan->tile_count; t++)
        XT_CHECK(depth_done[t] == plan->kt);
    free(slots.a), free(slots.b), free(slots.c), free(depth_done);
}

static void check_cover(const struct xg_plan *plan, const struct xg_sgemm *call)
{
    char *seen = calloc((size_t)(plan->mt * plan->nt), 1);
    XT_CHECK(plan->tile_count == plan->mt * plan->nt);
    for (int64_t t = 0; t < plan->tile_count; t++)
        XT_CHECK(seen[plan->tiles[t].i * plan->nt + plan->tiles[t].j]++ == 0);
    free(seen);
    XT_CHECK(xg_plan_rows(plan, call, 0) == plan->tm);
    XT_CHECK(xg_plan_rows(plan, call, plan->mt - 1) == call->m - (plan->mt - 1) * plan->tm);
    XT_CHECK(xg_plan_rows(plan, call, plan->mt - 1) > 0);
    XT_CHECK(xg_plan_columns(plan, call, plan->nt - 1) > 0);
    XT_CHECK(xg_plan_depth(plan, call, plan->kt - 1) > 0);
}

static void check_sizes(const struct xg_plan *plan, const struct xg_sgemm *call,
                        const struct xg_plan_limits *limits)
{
    size_t bytes = (size_t)plan->a_slots * plan->a_slot_bytes +
                   (size_t)plan->b_slots * plan->b_slot_bytes +
                   (size_t)plan->c_slots * plan->c_slot_bytes;
    XT_CHECK(bytes == plan->device_bytes);
    XT_CHECK(plan->device_bytes <= limits->device_bytes);
    const int64_t lds[] = {plan->lda, plan->ldb, plan->ldc};
    const int64_t widths[] = {call->transa ? plan->tm : plan->tk,
                              call->transb ? plan->tk : plan->tn, plan->tn};
    const int64_t heights[] = {call->transa ? plan->tk : plan->tm,
                               call->transb ? plan->tn : plan->tk, plan->tm};
    const size_t slots[] = {plan->a_slot_bytes, plan->b_slot_bytes, plan->c_slot_bytes};
    for (int i = 0; i < 3; i++) {
        XT_CHECK(lds[i] % 4 == 0 && lds[i] >= widths[i]);
        XT_CHECK((size_t)lds[i] * sizeof(float) <= limits->row_bytes);
        XT_CHECK(slots[i] >= (size_t)(heights[i] * lds[i]) * sizeof(float) && slots[i] % 256 == 0);
    }
}

static void check(int64_t m, int64_t n, int64_t k, int trans, size_t device_bytes)
{
    struct xg_sgemm call = {.m = m, .n = n, .k = k, .transa = trans & 1, .transb = trans & 2};
    struct xg_plan_limits limits = {.device_bytes = device_bytes, .row_bytes = 2 << 20};
    struct xg_plan plan;
    enum xg_status status = xg_plan_init(&plan, &call, &limits);
    XT_CHECK(status == XG_OK, "%ldx%ldx%ld in %zu bytes: %d", (long)m, (long)n, (long)k,
             device_bytes, status);
    if (status != XG_OK)
        return;
    int before = xt_failures;
    check_lists(&plan);
    check_cover(&plan, &call);
    check_sizes(&plan, &call, &limits);
    if (xt_failures > before)
        fprintf(stderr, "  in %ldx%ldx%ld trans %d, %zu bytes: tiles %ldx%ldx%ld\n", (long)m,
                (long)n, (long)k, trans, device_bytes, (long)plan.tm, (long)plan.tn, (long)plan.tk);
    xg_plan_fini(&plan);
}

static int64_t random_extent(uint64_t *state, int64_t most)
{
    double u = 0.5 + 0.5 * (double)xt_random(state);
    int64_t extent = 1;
    while ((double)extent < (double)most && u > 0.06) {
        extent = extent * 2 + (xt_random(state) > 0);
        u -= 0.06;
    }
    return extent < most ? extent : most;
}

int main(void)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1},         {2048, 2048, 2048}, {8192, 8192, 8192},   {16384, 16384, 16384},
        {8192, 4096, 64},  {64, 8192, 8192},   {1, 8192, 8192},      {100000, 64, 64},
        {3000, 777, 1533}, {128, 128, 100000}, {65536, 65536, 4096}, {10000000, 1, 1},
        {1, 10000000, 3},  {1, 1, 1000000000}, {100, 100, 5000000},  {5, 3000000, 7},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int trans = 0; trans < 4; trans++) {
            check(shapes[s][0], shapes[s][1], shapes[s][2], trans, (size_t)120 << 30);
            check(shapes[s][0], shapes[s][1], shapes[s][2], trans, (size_t)4 << 30);
            check(shapes[s][0], shapes[s][1], shapes[s][2], trans, (size_t)256 << 20);
        }
    uint64_t state = 2;
    for (int i = 0; i < 400; i++) {
        int64_t m = random_extent(&state, 20000), n = random_extent(&state, 20000);
        int64_t k = random_extent(&state, 20000);
        check(m, n, k, i % 4, (size_t)4 << (20 + i % 12));
    }

    struct xg_sgemm call = {.m = 4000, .n = 4000, .k = 4000};
    struct xg_plan_limits limits = {.device_bytes = 1000, .row_bytes = 2 << 20};
    struct xg_plan plan;
    XT_CHECK(xg_plan_init(&plan, &call, &limits) == XG_DECLINED);
    return xt_done();
}
