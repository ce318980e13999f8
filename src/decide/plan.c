/* SPDX-License-Identifier: MIT */
#include "decide/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/tiling.h"

/* A tile larger than this (and than one panel by one panel) would be copied back late. */
static const int64_t TILE_ELEMS_MAX = 4 << 20;

/* C tiles on the device at once: one is computed, one or two are copied back, one is ready. */
enum { C_SLOTS_WANTED = 6, C_SLOTS_MIN = 2 };

/* The most tiles of a plan in sweeps, which keeps every tile, with its events, on the device. */
enum { SWEEP_TILES_MAX = 512 };

/* PANEL_ELEMS_MIN: the smallest panel made to fit memory. ROW_STEP: rows are cut at its
 * multiples. */
enum { PANEL_ELEMS_MIN = 16 * 1024, ROW_STEP = 128 };

/* The most runs of a plan: its lists must stay small compared with the operands. */
static const double RUNS_MAX = 4 << 20;

/* --- A plan ---------------------------------------------------------------------------------- */

void xg_plan_fini(struct xg_plan *plan)
{
    free(plan->loads);
    free(plan->runs);
    free(plan->tiles);
    free(plan->choices);
    *plan = (struct xg_plan){0};
}

struct xg_plan_panel xg_plan_panel(const struct xg_plan *plan, const struct xg_problem *call,
                                   const struct xg_plan_load *load)
{
    bool b = load->b, trans = b ? call->transb : call->transa;
    if (call->batch) {
        const struct xg_extent stored = xg_problem_stored(call, b);
        const int64_t first = load->index * plan->instances;
        const int64_t count = xg_min_i64(plan->instances, xg_problem_instances(call) - first);
        return (struct xg_plan_panel){first * stored.rows, count * stored.rows, 0, stored.columns};
    }
    const struct xg_plan_panel panel = {
        .row = load->index * (b ? plan->tn : plan->tm),
        .rows =
            b ? xg_plan_columns(plan, call, load->index) : xg_plan_rows(plan, call, load->index),
        .column = load->l * plan->tk,
        .columns = xg_plan_depth(plan, call, load->l),
    };
    /* A is (m,k), or (k,m) transposed; B is (k,n), or (n,k) transposed. */
    if (b == trans)
        return panel;
    return (struct xg_plan_panel){panel.column, panel.columns, panel.row, panel.rows};
}

/* --- Fitting memory ------------------------------------------------------------------------ */

static void set_panels(struct xg_plan *plan, const struct xg_problem *call,
                       const struct xg_tiling *tiling, int64_t row_elems)
{
    xg_tiling_panels(tiling, call, row_elems, &plan->tm, &plan->tn, &plan->tk);
    plan->mt = xg_ceil_div(call->m, plan->tm);
    plan->nt = xg_ceil_div(call->n, plan->tn);
    plan->kt = xg_ceil_div(call->k, plan->tk);
}

/* Sets the layout of op(A) of (m,k) and op(B) of (k,n): whole matrices, or the panels of a slot. */
static void place(struct xg_plan *plan, const struct xg_problem *call, int64_t m, int64_t n,
                  int64_t k)
{
    plan->lda = xg_plan_ld(call->transa ? m : k);
    plan->ldb = xg_plan_ld(call->transb ? k : n);
    plan->a_elems = xg_plan_matrix_elems(call->transa ? k : m, plan->lda);
    plan->b_elems = xg_plan_matrix_elems(call->transb ? n : k, plan->ldb);
}

/* The number of panel columns (or rows) that one tile of a resident plan may span. */
static int64_t strip_panels(const struct xg_plan *plan, int64_t row_elems)
{
    int64_t by_area = TILE_ELEMS_MAX / (plan->tm * plan->tn), by_row = row_elems / plan->tn;
    return xg_max_i64(1, xg_min_i64(by_area, by_row));
}

/* Panel rows [i, i + rows) by panel columns [j, j + columns) of C. */
struct span {
    int64_t i, rows, j, columns;
};

static void put_span(struct span *spans, int64_t at, struct span span)
{
    if (spans)
        spans[at] = span;
}

/* For a triangle of C: each panel of A opens a row or a column of it, up to the diagonal. */
static int64_t order_triangle(const struct xg_plan *plan, enum xg_uplo uplo, int64_t strip,
                              struct span *spans)
{
    int64_t count = 0;
    for (int64_t at = 0; at < plan->mt; at++)
        for (int64_t other = 0; other <= at; other += strip) {
            int64_t panels = xg_min_i64(strip, at + 1 - other);
            put_span(spans, count++,
                     uplo == XG_LOWER ? (struct span){at, 1, other, panels}
                                      : (struct span){other, panels, at, 1});
        }
    return count;
}

/*
 * Resident: an L-shaped order. With r row panels of A and s column panels of B on the device, r * s
 * tiles can be computed, so both operands arrive at the same pace. Each new panel opens a strip of
 * C as long as the present part of the other operand; a strip is one kernel, or a few if it is
 * long. Returns the number of strips; spans, unless NULL, has room for mt * nt.
 */
static int64_t order_strips(const struct xg_plan *plan, enum xg_uplo uplo, int64_t strip,
                            struct span *spans)
{
    if (uplo != XG_FULL)
        return order_triangle(plan, uplo, strip, spans);
    int64_t mt = plan->mt, nt = plan->nt, count = 0;
    int64_t rows = 0, columns = 0; /* finished: tiles with i < rows and j < columns */
    while (rows < mt || columns < nt) {
        if (rows == 0) {
            put_span(spans, count++, (struct span){0, 1, 0, 1});
            rows = columns = 1;
        } else if (columns >= nt || (rows < mt && rows * nt <= columns * mt)) {
            for (int64_t j = 0; j < columns; j += strip)
                put_span(spans, count++, (struct span){rows, 1, j, xg_min_i64(strip, columns - j)});
            rows++;
        } else {
            for (int64_t i = 0; i < rows; i += strip)
                put_span(spans, count++, (struct span){i, xg_min_i64(strip, rows - i), columns, 1});
            columns++;
        }
    }
    return count;
}

static bool fit_resident(struct xg_plan *plan, const struct xg_problem *call,
                         const struct xg_plan_limits *limits, int64_t row_elems)
{
    const double bytes = (double)limits->device_bytes;
    int64_t strip = strip_panels(plan, row_elems);
    int64_t rows = xg_min_i64(strip * plan->tm, call->m);
    int64_t columns = xg_min_i64(strip * plan->tn, call->n);
    size_t tall = xg_plan_matrix_elems(rows, xg_plan_ld(plan->tn));
    size_t wide = xg_plan_matrix_elems(plan->tm, xg_plan_ld(columns));
    place(plan, call, call->m, call->n, call->k);
    /* Panels are copied with the leading dimension as pitch. */
    if (xg_max_i64(plan->lda, plan->ldb) > xg_plan_pitch_max(call->type))
        return false;
    plan->resident = true;
    plan->tile_elems = tall > wide ? tall : wide;
    plan->a_slots = (int)(plan->mt * plan->kt);
    plan->b_slots = (int)(plan->nt * plan->kt);
    plan->b_is_a = xg_problem_b_is_a(call);
    if (plan->b_is_a) {
        plan->b_elems = 0;
        plan->b_slots = 0;
    }
    plan->a_elems = limits->apart[0] ? 0 : plan->a_elems;
    plan->b_elems = limits->apart[1] ? 0 : plan->b_elems;
    int64_t tiles = order_strips(plan, call->uplo, strip, NULL);
    plan->sweeps = plan->kt > 1 && tiles > 1 && tiles <= SWEEP_TILES_MAX;
    plan->c_slots = (int)tiles;
    if (plan->sweeps && xg_plan_bytes(plan) <= bytes)
        return true;
    plan->sweeps = false;
    for (plan->c_slots = (int)xg_min_i64(tiles, C_SLOTS_WANTED); xg_plan_bytes(plan) > bytes;)
        if (--plan->c_slots < (int)xg_min_i64(tiles, C_SLOTS_MIN))
            return false;
    return true;
}

/*
 * Not resident: groups of p x q tiles are accumulated together, slice by slice, so that a loaded
 * panel serves q (or p) tiles. Memory holds two sets of panels (one in use, one arriving), the
 * group's tiles, and half as many tiles again.
 */
struct group {
    int64_t p, q;
};

static void set_group(struct xg_plan *plan, const struct xg_problem *call,
                      const struct group *group)
{
    place(plan, call, plan->tm, plan->tn, plan->tk);
    plan->resident = plan->b_is_a = false;
    plan->tile_elems = xg_plan_matrix_elems(plan->tm, xg_plan_ld(plan->tn));
    int64_t both =
        group->p + group->q; /* SYR2K's runs read panels of each operand for both sides */
    plan->a_slots = (int)(2 * (xg_problem_is_rank_2k(call) ? both : group->p));
    plan->b_slots = (int)(2 * (xg_problem_is_rank_2k(call) ? both : group->q));
    if (xg_problem_is_in_place(call)) { /* the triangular operand is one panel */
        plan->a_slots = (int)xg_min_i64(plan->a_slots, plan->mt);
        plan->b_slots = (int)xg_min_i64(plan->b_slots, plan->nt);
    }
    plan->a_elems *= (size_t)plan->a_slots;
    plan->b_elems *= (size_t)plan->b_slots;
    int64_t tiles = group->p * group->q;
    plan->c_slots = (int)xg_max_i64(C_SLOTS_MIN, tiles + tiles / 2);
}

static bool fit_group(struct xg_plan *plan, const struct xg_problem *call, double bytes,
                      struct group *group)
{
    *group = (struct group){1, 1};
    set_group(plan, call, group);
    if (xg_plan_bytes(plan) > bytes)
        return false;
    /* Grow towards a square of elements while memory allows: traffic falls as the side grows. */
    for (struct group next = *group;;) {
        bool rows = next.p * plan->tm <= next.q * plan->tn ? next.p < plan->mt : next.q >= plan->nt;
        next.p += rows && next.p < plan->mt;
        next.q += !rows && next.q < plan->nt;
        set_group(plan, call, &next);
        if ((next.p == group->p && next.q == group->q) || xg_plan_bytes(plan) > bytes)
            break;
        *group = next;
    }
    set_group(plan, call, group);
    return true;
}

/* Uses a grid of smaller and smaller panels until they fit; the other cuts need operands that fit
 * whole. */
static bool fit(struct xg_plan *plan, const struct xg_problem *call,
                const struct xg_plan_limits *limits, int64_t row_elems, struct group *group)
{
    const bool in_place = xg_problem_is_in_place(call);
    const double bytes = (double)limits->device_bytes;
    if (in_place && call->k > row_elems)
        return false;
    struct xg_tiling tiling = xg_tiling_choose(call, row_elems, limits->macs_per_byte);
    for (;; tiling.panel_elems /= 2) {
        set_panels(plan, call, &tiling, row_elems);
        if ((double)plan->mt * (double)plan->nt * (double)plan->kt > RUNS_MAX)
            return false;
        if (fit_resident(plan, call, limits, row_elems))
            return true;
        if ((in_place || tiling.kind == XG_TILING_GRID) && fit_group(plan, call, bytes, group))
            return true;
        if (!in_place)
            tiling.kind = XG_TILING_GRID;
        if (tiling.panel_elems < PANEL_ELEMS_MIN)
            return false;
    }
}

/* --- Building the lists -------------------------------------------------------------------- */

/* The panels of one operand: the load of each panel, and the panel in each slot. */
struct cache {
    bool b;
    int64_t slices;
    int slots, next_slot;   /* slots are reused in turn, the oldest load first */
    int64_t *load_of_panel; /* [index * slices + l]: index into loads, or -1: not on the device */
    int64_t *panel_in_slot; /* -1: empty */
    int64_t *last_run;      /* the last run that reads the slot; -1: none */
};

struct builder {
    struct xg_plan *plan;
    const struct xg_problem *call;
    struct cache a, b;
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

static size_t panel_offset(const struct builder *builder, bool b, int64_t index, int64_t l,
                           int slot)
{
    const struct xg_plan *plan = builder->plan;
    if (!plan->resident)
        return b ? (size_t)slot * (plan->b_elems / (size_t)plan->b_slots)
                 : (size_t)slot * (plan->a_elems / (size_t)plan->a_slots);
    /* A is (m,k), or (k,m) transposed; B is (k,n), or (n,k) transposed. */
    int64_t at = index * (b ? plan->tn : plan->tm), depth = l * plan->tk;
    bool trans = b ? builder->call->transb : builder->call->transa;
    bool depth_is_rows = b != trans;
    int64_t ld = b ? plan->ldb : plan->lda;
    return (size_t)(depth_is_rows ? depth * ld + at : at * ld + depth);
}

/* Returns the load of the panel; appends it to the list unless the panel is on the device. */
static int64_t need(struct builder *builder, struct cache *cache, int64_t index, int64_t l)
{
    struct xg_plan *plan = builder->plan;
    int64_t *load = &cache->load_of_panel[index * cache->slices + l];
    if (*load < 0) {
        int slot = cache->next_slot;
        cache->next_slot = (slot + 1) % cache->slots;
        int64_t evicted = cache->panel_in_slot[slot];
        if (evicted >= 0)
            cache->load_of_panel[evicted] = -1;
        cache->panel_in_slot[slot] = index * cache->slices + l;
        *load = plan->load_count;
        plan->loads[plan->load_count++] = (struct xg_plan_load){
            .b = cache->b,
            .index = index,
            .l = l,
            .slot = slot,
            .offset_elems = panel_offset(builder, cache->b, index, l, slot),
            .after_run = cache->last_run[slot],
        };
        cache->last_run[slot] = -1;
    }
    return *load;
}

/* For panels first..first + count of one operand: returns the latest load among them, and the place
 * of the first. */
static int64_t need_range(struct builder *builder, struct cache *cache, int64_t first,
                          int64_t count, int64_t l, int *slot, size_t *offset)
{
    int64_t latest = -1;
    for (int64_t index = first; index < first + count; index++) {
        int64_t load = need(builder, cache, index, l);
        latest = xg_max_i64(latest, load);
        cache->last_run[builder->plan->loads[load].slot] = builder->plan->run_count;
    }
    const struct xg_plan_load *load =
        &builder->plan->loads[cache->load_of_panel[first * cache->slices + l]];
    *slot = load->slot;
    *offset = load->offset_elems;
    return latest;
}

/*
 * Makes two panels of one operand present at once if panels take turns in slots: loading one may
 * evict the other. Both loads come before the run that reads the panels, because a load that evicts
 * a panel waits for the last run that reads it.
 */
static void need_pair(struct builder *builder, struct cache *cache, int64_t index, int64_t other,
                      int64_t l)
{
    need(builder, cache, index, l);
    need(builder, cache, other, l);
    need(builder, cache, index, l);
}

/* SYR2K: loads the panels of each operand for the tile's other side. Returns their latest load. */
static int64_t need_others(struct builder *builder, const struct span *span,
                           struct xg_plan_run *run)
{
    int64_t a = need_range(builder, &builder->a, span->j, span->columns, run->l, &run->a_other_slot,
                           &run->a_other_offset_elems);
    int64_t b = need_range(builder, &builder->b, span->i, span->rows, run->l, &run->b_other_slot,
                           &run->b_other_offset_elems);
    return xg_max_i64(a, b);
}

static void add_run(struct builder *builder, int64_t tile, const struct span *span, int64_t l)
{
    struct xg_plan *plan = builder->plan;
    bool both = xg_problem_is_rank_2k(builder->call);
    if (both && !plan->resident) {
        need_pair(builder, &builder->a, span->i, span->j, l);
        need_pair(builder, &builder->b, span->j, span->i, l);
    }
    struct xg_plan_run run = {.tile = tile, .l = l, .first = l == 0, .last = l == plan->kt - 1};
    int64_t a =
        need_range(builder, &builder->a, span->i, span->rows, l, &run.a_slot, &run.a_offset_elems);
    struct cache *of_b = plan->b_is_a ? &builder->a : &builder->b;
    int64_t b =
        need_range(builder, of_b, span->j, span->columns, l, &run.b_slot, &run.b_offset_elems);
    run.after_load = xg_max_i64(a, b);
    if (both)
        run.after_load = xg_max_i64(run.after_load, need_others(builder, span, &run));
    plan->runs[plan->run_count++] = run;
}

static int64_t add_tile(struct builder *builder, const struct span *span)
{
    struct xg_plan *plan = builder->plan;
    const struct xg_problem *call = builder->call;
    int64_t row = span->i * plan->tm, column = span->j * plan->tn;
    int64_t columns = xg_min_i64(span->columns * plan->tn, call->n - column);
    int64_t tile = plan->tile_count++;
    plan->tiles[tile] = (struct xg_plan_tile){
        .row = row,
        .rows = xg_min_i64(span->rows * plan->tm, call->m - row),
        .column = column,
        .columns = columns,
        .ld = xg_plan_ld(columns),
        .slot = (int)(tile % plan->c_slots),
        .after_tile = tile < plan->c_slots ? -1 : tile - plan->c_slots,
    };
    return tile;
}

/*
 * In sweeps each slice goes through all strips, all of C stays on the device, and C is copied back
 * during the last sweep. Otherwise each strip goes through all slices, one strip after the other.
 */
static void order_resident(struct builder *builder, const struct span *spans, int64_t strips)
{
    const struct xg_plan *plan = builder->plan;
    for (int64_t s = 0; s < strips; s++) {
        int64_t tile = add_tile(builder, &spans[s]);
        for (int64_t l = 0; l < (plan->sweeps ? 1 : plan->kt); l++)
            add_run(builder, tile, &spans[s], l);
    }
    for (int64_t l = 1; plan->sweeps && l < plan->kt; l++)
        for (int64_t s = 0; s < strips; s++)
            add_run(builder, s, &spans[s], l);
}

/* Whether C has elements for these panels. */
static bool is_there(const struct builder *builder, int64_t i, int64_t j)
{
    enum xg_uplo uplo = builder->call->uplo;
    return uplo == XG_FULL || (uplo == XG_LOWER ? j <= i : i <= j);
}

static void order_group(struct builder *builder, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    int64_t base = builder->plan->tile_count;
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++)
            if (is_there(builder, i, j))
                add_tile(builder, &(struct span){i, 1, j, 1});
    for (int64_t l = 0; l < builder->plan->kt; l++) {
        int64_t tile = base;
        for (int64_t i = i0; i < i1; i++)
            for (int64_t j = j0; j < j1; j++)
                if (is_there(builder, i, j))
                    add_run(builder, tile++, &(struct span){i, 1, j, 1}, l);
    }
}

/* Groups alternate their direction along the rows, so that with few slices the panels of A stay
 * loaded. */
static void order_groups(struct builder *builder, const struct group *group)
{
    const struct xg_plan *plan = builder->plan;
    int64_t groups = xg_ceil_div(plan->nt, group->q);
    for (int64_t i = 0, pass = 0; i < plan->mt; i += group->p, pass++)
        for (int64_t step = 0; step < groups; step++) {
            int64_t j = (pass % 2 ? groups - 1 - step : step) * group->q;
            order_group(builder, i, xg_min_i64(i + group->p, plan->mt), j,
                        xg_min_i64(j + group->q, plan->nt));
        }
}

/* Fills the lists of a problem that is not a batch. Returns false if there is no memory. */
static bool order_tiles(struct xg_plan *plan, const struct xg_problem *call,
                        const struct group *group, int64_t row_elems)
{
    struct builder builder = {.plan = plan, .call = call};
    struct span *spans =
        plan->resident ? malloc((size_t)(plan->mt * plan->nt) * sizeof *spans) : NULL;
    bool a = cache_init(&builder.a, false, plan->mt, plan->kt, plan->a_slots);
    bool b = plan->b_is_a || cache_init(&builder.b, true, plan->nt, plan->kt, plan->b_slots);
    bool there = a && b && (spans || !plan->resident);
    if (there && plan->resident)
        order_resident(&builder, spans,
                       order_strips(plan, call->uplo, strip_panels(plan, row_elems), spans));
    else if (there)
        order_groups(&builder, group);
    free(spans);
    cache_fini(&builder.a);
    cache_fini(&builder.b);
    return there;
}

/* Returns the index of the shape, which is added to the list if it is new; -1: no memory. */
static int index_of(struct xg_plan *plan, const struct xg_shape *shape)
{
    int count = plan->choice_count;
    for (int i = count; i-- > 0;)
        if (xg_shape_is(&plan->choices[i].shape, shape))
            return i;
    if ((count & (count - 1)) == 0) { /* all places are taken */
        struct xg_plan_choice *grown =
            realloc(plan->choices, (size_t)xg_max_i64(1, 2 * count) * sizeof *grown);
        if (!grown)
            return -1;
        plan->choices = grown;
    }
    plan->choices[count] = (struct xg_plan_choice){.shape = *shape};
    return plan->choice_count++;
}

/* Lists the different shapes of the runs, and gives each run the index of its own. Returns false if
 * there is no memory. */
static bool list_shapes(struct xg_plan *plan, const struct xg_problem *call)
{
    for (int64_t i = 0; i < plan->run_count; i++) {
        struct xg_plan_run *run = &plan->runs[i];
        const struct xg_plan_tile *tile = &plan->tiles[run->tile];
        const int64_t m = call->batch ? xg_problem_instance_rows(call) : tile->rows;
        const struct xg_shape shape =
            xg_shape_of(call, m, tile->columns, xg_plan_depth(plan, call, run->l));
        run->choice = index_of(plan, &shape);
        if (run->choice < 0)
            return false;
    }
    return true;
}

static bool allocate_lists(struct xg_plan *plan, const struct xg_problem *call)
{
    int64_t tiles = plan->mt * plan->nt, runs = tiles * plan->kt;
    int64_t loads = plan->resident                ? (plan->mt + plan->nt) * plan->kt
                    : xg_problem_is_rank_2k(call) ? 6 * runs /* loads of need_pair for each
                                                              * operand */
                                                  : 2 * runs;
    plan->loads = malloc((size_t)loads * sizeof *plan->loads);
    plan->runs = malloc((size_t)runs * sizeof *plan->runs);
    plan->tiles = malloc((size_t)tiles * sizeof *plan->tiles);
    return plan->loads && plan->runs && plan->tiles;
}

static bool build_lists(struct xg_plan *plan, const struct xg_problem *call,
                        const struct group *group, int64_t row_elems)
{
    if (!allocate_lists(plan, call))
        return false;
    if (call->batch)
        xg_plan_batch_order(plan, call);
    else if (!order_tiles(plan, call, group, row_elems))
        return false;
    for (int64_t i = 0; i < plan->load_count; i++)
        if (plan->loads[i].after_run >= 0)
            plan->runs[plan->loads[i].after_run].spends = true;
    return list_shapes(plan, call);
}

enum xg_status xg_plan_init(struct xg_plan *plan, const struct xg_problem *call,
                            const struct xg_plan_limits *limits)
{
    struct xg_plan draft = {.elem_bytes = (int64_t)xg_problem_elem_bytes(call)};
    struct group group = {0};
    const int64_t row_elems =
        (int64_t)(limits->row_bytes / xg_problem_elem_bytes(call)) & ~(int64_t)(ROW_STEP - 1);
    if (call->batch ? !xg_plan_batch_fit(&draft, call, limits)
                    : !fit(&draft, call, limits, row_elems, &group))
        return XG_DECLINED;
    draft.device_bytes = (size_t)xg_plan_bytes(&draft);
    if (!build_lists(&draft, call, &group, row_elems)) {
        xg_plan_fini(&draft);
        return XG_ERR_NOMEM;
    }
    *plan = draft;
    return XG_OK;
}
