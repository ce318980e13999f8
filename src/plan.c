/* SPDX-License-Identifier: MIT */
/* Cuts a product into tiles and orders their loads, runs and write-backs. */
#include "plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Tile sizes balance three things. A pipeline of s stages idles for about 1/s of its time while it
 * fills and drains: STAGES. The link wants pieces of a megabyte and more, and a kernel wants tiles
 * that fill the device: PANEL_BYTES_MIN. And the first tile should be computing early:
 * PANEL_BYTES_MAX.
 */
enum { STAGES = 10, TILE_MIN = 256, TILE_STEP = 128, DEPTH_MAX = 4096 };
static const double PANEL_BYTES_MIN = 1 << 20;
static const double PANEL_BYTES_MAX = 32 << 20;

/* C tiles on the device at once: one computing, one or two on their way back, one ready. */
enum { C_SLOTS_WANTED = 6, C_SLOTS_MIN = 2 };

/* Beyond this many elements no row of a panel is any better for being longer. */
static const int64_t ROW_PAD_WIDE = 512;

static int64_t leading_dimension(int64_t width)
{
    /* Wide rows start on 128-byte lines; narrow ones (k = 5, say) would waste the link that way. */
    return xg_round_up(width, width >= ROW_PAD_WIDE ? 32 : 4);
}

static size_t slot_bytes(int64_t rows, int64_t ld)
{
    return (size_t)xg_round_up(rows * ld * (int64_t)sizeof(float), 256);
}

/* `extent` in equal parts of at most `part`, in steps that kernels like. */
static int64_t balance(int64_t extent, int64_t part)
{
    if (part >= extent)
        return extent;
    int64_t parts = xg_ceil_div(extent, part);
    return xg_min_i64(extent, xg_round_up(xg_ceil_div(extent, parts), TILE_STEP));
}

/* Tile sizes such that no panel and no tile holds many more than `elems` elements. */
static void choose_tiles(struct xg_plan *plan, const struct xg_sgemm *call, double elems,
                         int64_t row_elems)
{
    /* Deep slices for slim products (few runs), shallow ones where memory is short. */
    double depth = elems / (double)xg_max_i64(call->m, call->n);
    depth = fmin(fmax(depth, DEPTH_MAX), fmax(elems / TILE_MIN, TILE_MIN));
    plan->tk = balance(call->k, (int64_t)fmin(depth, (double)row_elems));
    int64_t side = xg_max_i64(TILE_MIN, (int64_t)(elems / (double)plan->tk));
    int64_t tm = xg_min_i64(call->m, side), tn = xg_min_i64(call->n, side);
    double square = fmax(sqrt(elems), TILE_MIN);
    if ((double)tm * (double)tn > square * square) {
        /* The shorter side gives what it does not need to the longer one. */
        double shorter = fmin((double)xg_min_i64(tm, tn), square);
        double longer = square * square / shorter;
        tm = (int64_t)fmin((double)tm, tm <= tn ? shorter : longer);
        tn = (int64_t)fmin((double)tn, tm <= tn ? longer : shorter);
    }
    plan->tm = balance(call->m, xg_min_i64(tm, row_elems));
    plan->tn = balance(call->n, xg_min_i64(tn, row_elems));
    plan->mt = xg_ceil_div(call->m, plan->tm);
    plan->nt = xg_ceil_div(call->n, plan->tn);
    plan->kt = xg_ceil_div(call->k, plan->tk);
    plan->lda = leading_dimension(call->transa ? plan->tm : plan->tk);
    plan->ldb = leading_dimension(call->transb ? plan->tk : plan->tn);
    plan->ldc = leading_dimension(plan->tn);
    plan->a_slot_bytes = slot_bytes(call->transa ? plan->tk : plan->tm, plan->lda);
    plan->b_slot_bytes = slot_bytes(call->transb ? plan->tn : plan->tk, plan->ldb);
    plan->c_slot_bytes = slot_bytes(plan->tm, plan->ldc);
}

/*
 * How tiles are grouped. Resident: all of A and B stay on the device and tiles are finished one
 * after the other. Otherwise groups of p x q tiles are accumulated together, slice by slice, so
 * that a panel that was loaded serves q (or p) tiles.
 */
struct grouping {
    bool resident;
    int64_t p, q;
};

static double total_bytes(const struct xg_plan *plan)
{
    return (double)plan->a_slots * (double)plan->a_slot_bytes +
           (double)plan->b_slots * (double)plan->b_slot_bytes +
           (double)plan->c_slots * (double)plan->c_slot_bytes;
}

static bool fit_resident(struct xg_plan *plan, double bytes)
{
    double all_a = (double)plan->mt * (double)plan->kt, all_b = (double)plan->nt * (double)plan->kt;
    double c_tiles = (double)plan->mt * (double)plan->nt;
    if (all_a * (double)plan->a_slot_bytes + all_b * (double)plan->b_slot_bytes > bytes)
        return false;
    plan->a_slots = (int)all_a;
    plan->b_slots = (int)all_b;
    for (plan->c_slots = (int)fmin(c_tiles, C_SLOTS_WANTED); total_bytes(plan) > bytes;)
        if (--plan->c_slots < (int)fmin(c_tiles, C_SLOTS_MIN))
            return false;
    return true;
}

/* Two sets of panels (one computing, one arriving) and the group's C tiles and half as many again.
 */
static void set_group_slots(struct xg_plan *plan, int64_t p, int64_t q)
{
    plan->a_slots = (int)(2 * p);
    plan->b_slots = (int)(2 * q);
    plan->c_slots = (int)xg_max_i64(C_SLOTS_MIN, p * q + p * q / 2);
}

static bool fit_group(struct xg_plan *plan, double bytes, struct grouping *grouping)
{
    int64_t p = 1, q = 1;
    set_group_slots(plan, p, q);
    if (total_bytes(plan) > bytes)
        return false;
    /* Grow towards a square of elements while memory allows: traffic falls as its side grows. */
    for (;;) {
        bool rows = p * plan->tm <= q * plan->tn ? p < plan->mt : q >= plan->nt;
        int64_t next_p = p + (rows && p < plan->mt), next_q = q + (!rows && q < plan->nt);
        if (next_p == p && next_q == q)
            break;
        set_group_slots(plan, next_p, next_q);
        if (total_bytes(plan) > bytes)
            break;
        p = next_p;
        q = next_q;
    }
    set_group_slots(plan, p, q);
    *grouping = (struct grouping){.p = p, .q = q};
    return true;
}

/* --- Building the lists ------------------------------------------------------------------- */

/* The panels of one operand: which load brought each, and what each slot holds. */
struct cache {
    bool b;
    int64_t slices;
    int slots, next_slot;   /* slots are taken in turn: the one loaded longest ago goes first */
    int64_t *load_of_panel; /* [index * slices + l]: index into loads, or -1: not on the device */
    int64_t *panel_in_slot; /* -1: empty */
    int64_t *last_run;      /* the last run that read the slot; -1: none */
};

static bool cache_init(struct cache *cache, bool b, int64_t panels, int64_t slices, int slots)
{
    *cache = (struct cache){.b = b, .slices = slices, .slots = slots};
    cache->load_of_panel = malloc((size_t)(panels * slices) * sizeof(int64_t));
    cache->panel_in_slot = malloc((size_t)slots * sizeof(int64_t));
    cache->last_run = malloc((size_t)slots * sizeof(int64_t));
    if (!cache->load_of_panel || !cache->panel_in_slot || !cache->last_run)
        return false;
    memset(cache->load_of_panel, -1, (size_t)(panels * slices) * sizeof(int64_t));
    memset(cache->panel_in_slot, -1, (size_t)slots * sizeof(int64_t));
    memset(cache->last_run, -1, (size_t)slots * sizeof(int64_t));
    return true;
}

static void cache_fini(struct cache *cache)
{
    free(cache->load_of_panel);
    free(cache->panel_in_slot);
    free(cache->last_run);
}

/* The load that brings the panel, appended to the list unless the panel is there already. */
static int64_t cache_need(struct cache *cache, struct xg_plan *plan, int64_t index, int64_t l)
{
    int64_t *load = &cache->load_of_panel[index * cache->slices + l];
    if (*load < 0) {
        int slot = cache->next_slot;
        cache->next_slot = (slot + 1) % cache->slots;
        int64_t evicted = cache->panel_in_slot[slot];
        if (evicted >= 0)
            cache->load_of_panel[evicted] = -1;
        cache->panel_in_slot[slot] = index * cache->slices + l;
        *load = plan->load_count;
        plan->loads[plan->load_count++] = (struct xg_plan_load){.b = cache->b,
                                                                .index = index,
                                                                .l = l,
                                                                .slot = slot,
                                                                .after_run = cache->last_run[slot]};
        cache->last_run[slot] = -1;
    }
    return *load;
}

struct builder {
    struct xg_plan *plan;
    struct cache a, b;
};

static void add_run(struct builder *builder, int64_t tile, int64_t l)
{
    struct xg_plan *plan = builder->plan;
    const struct xg_plan_tile *at = &plan->tiles[tile];
    struct xg_plan_run *run = &plan->runs[plan->run_count];
    *run = (struct xg_plan_run){.tile = tile, .first = l == 0, .last = l == plan->kt - 1};
    run->a_load = cache_need(&builder->a, plan, at->i, l);
    run->b_load = cache_need(&builder->b, plan, at->j, l);
    builder->a.last_run[plan->loads[run->a_load].slot] = plan->run_count;
    builder->b.last_run[plan->loads[run->b_load].slot] = plan->run_count;
    plan->run_count++;
}

static int64_t add_tile(struct xg_plan *plan, int64_t i, int64_t j)
{
    int64_t tile = plan->tile_count++;
    int slot = (int)(tile % plan->c_slots);
    plan->tiles[tile] =
        (struct xg_plan_tile){.i = i,
                              .j = j,
                              .slot = slot,
                              .after_tile = tile < plan->c_slots ? -1 : tile - plan->c_slots};
    return tile;
}

static void add_whole_tile(struct builder *builder, int64_t i, int64_t j)
{
    int64_t tile = add_tile(builder->plan, i, j);
    for (int64_t l = 0; l < builder->plan->kt; l++)
        add_run(builder, tile, l);
}

/*
 * Resident: an L-shaped order. With r row panels of A and s column panels of B there, r * s tiles
 * can be computed, so both operands arrive in step and each new panel opens the most work.
 */
static void order_resident(struct builder *builder)
{
    int64_t mt = builder->plan->mt, nt = builder->plan->nt;
    int64_t rows = 0, columns = 0; /* finished: tiles with i < rows and j < columns */
    while (rows < mt || columns < nt) {
        bool by_row = columns >= nt || (rows < mt && rows * nt <= columns * mt);
        if (rows == 0 && columns == 0) {
            rows = columns = 1;
            add_whole_tile(builder, 0, 0);
        } else if (by_row) {
            for (int64_t j = 0; j < columns; j++)
                add_whole_tile(builder, rows, j);
            rows++;
        } else {
            for (int64_t i = 0; i < rows; i++)
                add_whole_tile(builder, i, columns);
            columns++;
        }
    }
}

static void order_group(struct builder *builder, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    int64_t base = builder->plan->tile_count;
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++)
            add_tile(builder->plan, i, j);
    int64_t count = builder->plan->tile_count - base;
    for (int64_t l = 0; l < builder->plan->kt; l++)
        for (int64_t tile = 0; tile < count; tile++)
            add_run(builder, base + tile, l);
}

/* Groups go to and fro along the rows, so that where slices are few the panels of A stay. */
static void order_groups(struct builder *builder, const struct grouping *grouping)
{
    const struct xg_plan *plan = builder->plan;
    int64_t groups = xg_ceil_div(plan->nt, grouping->q);
    for (int64_t i = 0, pass = 0; i < plan->mt; i += grouping->p, pass++)
        for (int64_t step = 0; step < groups; step++) {
            int64_t j = (pass % 2 ? groups - 1 - step : step) * grouping->q;
            order_group(builder, i, xg_min_i64(i + grouping->p, plan->mt), j,
                        xg_min_i64(j + grouping->q, plan->nt));
        }
}

static void mark_reused(struct xg_plan *plan)
{
    for (int64_t i = 0; i < plan->load_count; i++)
        if (plan->loads[i].after_run >= 0)
            plan->runs[plan->loads[i].after_run].reused = true;
}

static enum xg_status build_lists(struct xg_plan *plan, const struct grouping *grouping)
{
    struct builder builder = {.plan = plan};
    int64_t tiles = plan->mt * plan->nt, runs = tiles * plan->kt;
    int64_t loads = grouping->resident ? (plan->mt + plan->nt) * plan->kt : 2 * runs;
    plan->loads = malloc((size_t)loads * sizeof *plan->loads);
    plan->runs = malloc((size_t)runs * sizeof *plan->runs);
    plan->tiles = malloc((size_t)tiles * sizeof *plan->tiles);
    bool a = cache_init(&builder.a, false, plan->mt, plan->kt, plan->a_slots);
    bool b = cache_init(&builder.b, true, plan->nt, plan->kt, plan->b_slots);
    enum xg_status status = XG_ERR_NOMEM;
    if (!plan->loads || !plan->runs || !plan->tiles || !a || !b)
        goto fini;
    if (grouping->resident)
        order_resident(&builder);
    else
        order_groups(&builder, grouping);
    mark_reused(plan);
    status = XG_OK;
fini:
    cache_fini(&builder.a);
    cache_fini(&builder.b);
    return status;
}

/* Runs that a plan may have at most: their lists must stay small beside the operands. */
static const double RUNS_MAX = 4 << 20;

enum xg_status xg_plan_init(struct xg_plan *plan, const struct xg_sgemm *call,
                            const struct xg_plan_limits *limits)
{
    struct xg_plan draft = {0};
    int64_t row_elems = (int64_t)(limits->row_bytes / sizeof(float)) & ~(int64_t)(TILE_STEP - 1);
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    double panel_bytes = (m * k + k * n + m * n) * sizeof(float) / STAGES;
    panel_bytes = fmin(fmax(panel_bytes, PANEL_BYTES_MIN), PANEL_BYTES_MAX);

    /* Smaller tiles until they fit. */
    struct grouping grouping = {.resident = true};
    for (;; panel_bytes /= 2) {
        choose_tiles(&draft, call, panel_bytes / sizeof(float), row_elems);
        if ((double)draft.mt * (double)draft.nt * (double)draft.kt > RUNS_MAX)
            return XG_DECLINED;
        grouping.resident = fit_resident(&draft, (double)limits->device_bytes);
        if (grouping.resident || fit_group(&draft, (double)limits->device_bytes, &grouping))
            break;
        if (panel_bytes < 64 * 1024)
            return XG_DECLINED;
    }
    draft.device_bytes = (size_t)total_bytes(&draft);
    enum xg_status status = build_lists(&draft, &grouping);
    if (status != XG_OK) {
        xg_plan_fini(&draft);
        return status;
    }
    *plan = draft;
    return XG_OK;
}

void xg_plan_fini(struct xg_plan *plan)
{
    free(plan->loads);
    free(plan->runs);
    free(plan->tiles);
    *plan = (struct xg_plan){0};
}

int64_t xg_plan_rows(const struct xg_plan *plan, const struct xg_sgemm *call, int64_t i)
{
    return xg_min_i64(plan->tm, call->m - i * plan->tm);
}

int64_t xg_plan_columns(const struct xg_plan *plan, const struct xg_sgemm *call, int64_t j)
{
    return xg_min_i64(plan->tn, call->n - j * plan->tn);
}

int64_t xg_plan_depth(const struct xg_plan *plan, const struct xg_sgemm *call, int64_t l)
{
    return xg_min_i64(plan->tk, call->k - l * plan->tk);
}
