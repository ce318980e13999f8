/* SPDX-License-Identifier: MIT */
/* The planner: every list it builds can be executed as it stands, computes C once, and fits. */
#include "tests/support/xt.h"

#include "src/decide/plan.h"
#include "src/decide/route.h"

static int64_t *filled(int64_t count)
{
    int64_t *values = malloc((size_t)count * sizeof *values);
    memset(values, -1, (size_t)count * sizeof *values);
    return values;
}

/* What an executor would see: where each panel lies (its load, or -1), and each tile's slot. */
struct device {
    const struct xg_plan *plan;
    const struct xg_problem *call;
    int64_t *a_slot, *b_slot; /* panel number in each slot */
    int64_t *a_load, *b_load; /* load of each panel that is there */
    int64_t *c_slot;
};

/* The place of a panel's first element, worked out from scratch. */
static size_t expected_offset(const struct device *device, const struct xg_plan_load *load)
{
    const struct xg_plan *plan = device->plan;
    if (!plan->resident)
        return load->b ? plan->b_elems / (size_t)plan->b_slots * (size_t)load->slot
                       : plan->a_elems / (size_t)plan->a_slots * (size_t)load->slot;
    bool trans = load->b ? device->call->transb : device->call->transa;
    int64_t k = load->l * plan->tk, other = load->index * (load->b ? plan->tn : plan->tm);
    if (!load->b)
        return (size_t)(trans ? k * plan->lda + other : other * plan->lda + k);
    return (size_t)(trans ? other * plan->ldb + k : k * plan->ldb + other);
}

static void do_load(struct device *device, int64_t item)
{
    const struct xg_plan *plan = device->plan;
    const struct xg_plan_load *load = &plan->loads[item];
    int64_t *slots = load->b ? device->b_slot : device->a_slot;
    int64_t *loads = load->b ? device->b_load : device->a_load;
    XT_CHECK(load->slot >= 0 && load->slot < (load->b ? plan->b_slots : plan->a_slots));
    XT_CHECK(load->offset_elems == expected_offset(device, load));
    XT_CHECK(load->offset_elems % 4 == 0);
    if (slots[load->slot] >= 0)
        loads[slots[load->slot]] = -1;
    slots[load->slot] = load->index * plan->kt + load->l;
    loads[slots[load->slot]] = item;
}

/* Every panel that the run reads is there, by a load that it waits for, where it looks for it. */
struct place {
    int slot;
    size_t offset_elems;
};

static void check_operand(const struct device *device, const struct xg_plan_run *run, bool b,
                          struct place place, int64_t first, int64_t count)
{
    const struct xg_plan *plan = device->plan;
    const int64_t *loads = b && !plan->b_is_a ? device->b_load : device->a_load;
    for (int64_t index = first; index < first + count; index++) {
        int64_t load = loads[index * plan->kt + run->l];
        XT_CHECK(load >= 0 && load <= run->after_load, "panel %ld is not there", (long)index);
        if (load >= 0 && index == first)
            XT_CHECK(place.offset_elems == plan->loads[load].offset_elems &&
                     place.slot == plan->loads[load].slot);
    }
    XT_CHECK(plan->resident || count == 1);
}

/*
 * Executes the lists as pipe.c does: a load when the run it waits for is done, a run when its loads
 * are, a tile when its last run is. Loads are taken as early as they can be, which is when a slot
 * reused too soon would show.
 */
static void check_lists(struct device *device)
{
    const struct xg_plan *plan = device->plan;
    int64_t *depth_done = calloc((size_t)plan->tile_count, sizeof *depth_done);
    int64_t loads = 0;
    for (int64_t r = 0; r < plan->run_count; r++) {
        while (loads < plan->load_count && plan->loads[loads].after_run < r)
            do_load(device, loads++);
        const struct xg_plan_run *run = &plan->runs[r];
        const struct xg_plan_tile *tile = &plan->tiles[run->tile];
        XT_CHECK(run->after_load < loads, "run %ld waits for ever", (long)r);
        XT_CHECK(run->l == depth_done[run->tile]++);
        XT_CHECK(run->first == (run->l == 0) && run->last == (run->l == plan->kt - 1));
        const int64_t i = tile->row / plan->tm, rows = xg_ceil_div(tile->rows, plan->tm);
        const bool batch = device->call->batch;
        const int64_t j = batch ? i : tile->column / plan->tn;
        const int64_t columns = batch ? rows : xg_ceil_div(tile->columns, plan->tn);
        check_operand(device, run, false, (struct place){run->a_slot, run->a_offset_elems}, i,
                      rows);
        check_operand(device, run, true, (struct place){run->b_slot, run->b_offset_elems}, j,
                      columns);
        if (xg_problem_is_rank_2k(device->call)) {
            check_operand(device, run, false,
                          (struct place){run->a_other_slot, run->a_other_offset_elems}, j, columns);
            check_operand(device, run, true,
                          (struct place){run->b_other_slot, run->b_other_offset_elems}, i, rows);
        }
        if (run->first) {
            int64_t before = device->c_slot[tile->slot];
            XT_CHECK(before == tile->after_tile);
            XT_CHECK(before < 0 || depth_done[before] == plan->kt, "C's slot is still needed");
            device->c_slot[tile->slot] = run->tile;
        }
        XT_CHECK(device->c_slot[tile->slot] == run->tile);
    }
    XT_CHECK(loads == plan->load_count, "%ld loads of %ld never happen",
             (long)(plan->load_count - loads), (long)plan->load_count);
    for (int64_t t = 0; t < plan->tile_count; t++)
        XT_CHECK(depth_done[t] == plan->kt);
    free(depth_done);
}

static void execute(const struct xg_plan *plan, const struct xg_problem *call)
{
    struct device device = {
        .plan = plan,
        .call = call,
        .a_slot = filled(plan->a_slots),
        .b_slot = filled(plan->b_slots),
        .a_load = filled(plan->mt * plan->kt),
        .b_load = filled((call->batch ? plan->mt : plan->nt) * plan->kt),
        .c_slot = filled(plan->c_slots),
    };
    check_lists(&device);
    free(device.a_slot), free(device.b_slot), free(device.a_load), free(device.b_load);
    free(device.c_slot);
}

/* Whether C has anything where panels i and j meet. */
static bool is_there(const struct xg_problem *call, int64_t i, int64_t j)
{
    return call->uplo == XG_FULL || (call->uplo == XG_UPPER ? i <= j : j <= i);
}

/* The tiles are panels' multiples, fit their slots, and cover C once. */
static void check_cover(const struct xg_plan *plan, const struct xg_problem *call,
                        const struct xg_plan_limits *limits)
{
    char *seen = calloc((size_t)(plan->mt * plan->nt), 1);
    for (int64_t t = 0; t < plan->tile_count; t++) {
        const struct xg_plan_tile *tile = &plan->tiles[t];
        XT_CHECK(tile->row % plan->tm == 0 && tile->column % plan->tn == 0);
        XT_CHECK(tile->rows > 0 && tile->row + tile->rows <= call->m);
        XT_CHECK(tile->columns > 0 && tile->column + tile->columns <= call->n);
        XT_CHECK(tile->ld >= tile->columns && tile->ld % 4 == 0);
        XT_CHECK((size_t)(tile->rows * tile->ld) <= plan->tile_elems);
        XT_CHECK((size_t)tile->ld * plan->elem_bytes <= limits->row_bytes);
        for (int64_t i = tile->row; i < tile->row + tile->rows; i += plan->tm)
            for (int64_t j = tile->column; j < tile->column + tile->columns; j += plan->tn)
                XT_CHECK(seen[i / plan->tm * plan->nt + j / plan->tn]++ == 0);
    }
    for (int64_t panel = 0; panel < plan->mt * plan->nt; panel++)
        XT_CHECK(seen[panel] == is_there(call, panel / plan->nt, panel % plan->nt));
    free(seen);
    XT_CHECK(call->uplo == XG_FULL || plan->tm == plan->tn);
    XT_CHECK(xg_plan_rows(plan, call, plan->mt - 1) > 0);
    XT_CHECK(xg_plan_rows(plan, call, plan->mt - 1) == call->m - (plan->mt - 1) * plan->tm);
    XT_CHECK(xg_plan_columns(plan, call, plan->nt - 1) > 0);
    XT_CHECK(xg_plan_depth(plan, call, plan->kt - 1) > 0);
}

static void check_sizes(const struct xg_plan *plan, const struct xg_problem *call,
                        const struct xg_plan_limits *limits)
{
    size_t elems = plan->a_elems + plan->b_elems + (size_t)plan->c_slots * plan->tile_elems;
    XT_CHECK(elems * plan->elem_bytes == plan->device_bytes);
    XT_CHECK(plan->device_bytes <= limits->device_bytes);
    bool whole = plan->resident;
    int64_t m = whole ? call->m : plan->tm, n = whole ? call->n : plan->tn;
    int64_t k = whole ? call->k : plan->tk;
    size_t a_copies = whole ? 1 : (size_t)plan->a_slots,
           b_copies = whole ? 1 : (size_t)plan->b_slots;
    XT_CHECK(plan->lda % 4 == 0 && plan->lda >= (call->transa ? m : k));
    if (plan->b_is_a) {
        XT_CHECK(xg_problem_b_is_a(call) && plan->resident);
        XT_CHECK(plan->ldb == plan->lda);
        XT_CHECK(!plan->b_elems && !plan->b_slots && plan->load_count == plan->mt * plan->kt);
        b_copies = 1;
    }
    XT_CHECK(plan->ldb % 4 == 0 && plan->ldb >= (call->transb ? k : n));
    XT_CHECK(plan->a_elems >= a_copies * (size_t)(plan->lda * (call->transa ? k : m)));
    XT_CHECK(plan->b_is_a ||
             plan->b_elems >= b_copies * (size_t)(plan->ldb * (call->transb ? n : k)));
    XT_CHECK(plan->a_elems % (64 * a_copies) == 0 && plan->b_elems % (64 * b_copies) == 0);
    XT_CHECK(plan->tile_elems % 64 == 0);
    /* Resident panels are copied with their operand's pitch, and the driver takes no larger one. */
    int64_t pitch_elems = xg_max_i64(plan->lda, plan->ldb);
    XT_CHECK(pitch_elems <= INT32_MAX / (int64_t)plan->elem_bytes, "a row of %ld",
             (long)pitch_elems);
    /* Only the last panel of a row may be padded: the others' neighbours begin right behind them.
     */
    XT_CHECK(plan->mt == 1 || plan->tm % 4 == 0);
    XT_CHECK(plan->nt == 1 || plan->tn % 4 == 0);
    XT_CHECK(plan->kt == 1 || plan->tk % 4 == 0);
    int64_t widths[] = {plan->tm, plan->tn, plan->tk};
    for (int i = 0; i < 3; i++)
        XT_CHECK((size_t)xg_round_up(widths[i], 4) * plan->elem_bytes <= limits->row_bytes);
}

/* Whole instances; each operand's rows all travel, once, and fit their slots. */
static void check_batch(const struct xg_plan *plan, const struct xg_problem *call,
                        const struct xg_plan_limits *limits)
{
    const int64_t count = call->batch->count, each = call->m / count;
    const int64_t rows[] = {call->transa ? call->k : each, call->transb ? call->n : call->k};
    const int64_t columns[] = {call->transa ? each : call->k, call->transb ? call->k : call->n};
    const int64_t ld[] = {plan->lda, plan->ldb};
    const size_t slot_elems[] = {plan->a_elems / (size_t)plan->a_slots,
                                 plan->b_elems / (size_t)plan->b_slots};
    int64_t seen[] = {0, 0};
    size_t elems = plan->a_elems + plan->b_elems + (size_t)plan->c_slots * plan->tile_elems;
    XT_CHECK(elems * plan->elem_bytes == plan->device_bytes);
    XT_CHECK(plan->device_bytes <= limits->device_bytes);
    XT_CHECK(plan->tm == plan->instances * each && plan->nt == 1 && plan->kt == 1);
    for (int64_t i = 0; i < plan->load_count; i++) {
        const struct xg_plan_panel panel = xg_plan_panel(plan, call, &plan->loads[i]);
        const int b = plan->loads[i].b;
        XT_CHECK(panel.row == seen[b] && panel.rows % rows[b] == 0 && panel.rows > 0);
        XT_CHECK(panel.column == 0 && panel.columns == columns[b]);
        XT_CHECK(ld[b] >= columns[b] && ld[b] % 4 == 0);
        XT_CHECK((size_t)(panel.rows * ld[b]) <= slot_elems[b]);
        seen[b] += panel.rows;
    }
    XT_CHECK(seen[0] == count * rows[0] && seen[1] == count * rows[1]);
}

/* Each run's choice is xg_select's for the run's shape, and no shape is listed twice. */
static void check_choices(struct xg_plan *plan, const struct xg_problem *call)
{
    static struct xg_recent recent;
    const struct xg_device_facts facts = {.sm = 90,
                                          .sm_count = 132,
                                          .smem_block_bytes = 227 << 10,
                                          .fp64_ratio = 2,
                                          .clusters = true,
                                          .images = true,
                                          .cublas = true};
    struct xg_route route;
    xg_route_decide(&route, &recent, &facts, XG_MATH_STRICT, NULL, call);
    xg_route_choose(&route, &recent, plan);
    struct xg_choice expected = {0};
    for (int64_t r = 0, last = -1; r < plan->run_count; r++) {
        const struct xg_plan_run *run = &plan->runs[r];
        const struct xg_plan_tile *tile = &plan->tiles[run->tile];
        const int64_t m = call->batch ? call->m / call->batch->count : tile->rows;
        const struct xg_shape shape =
            xg_shape_of(call, m, tile->columns, xg_plan_depth(plan, call, run->l));
        const struct xg_choice *choice = &plan->choices[run->choice].choice;
        XT_CHECK(run->choice >= 0 && run->choice < plan->choice_count);
        XT_CHECK(xg_shape_is(&plan->choices[run->choice].shape, &shape));
        if (run->choice != last)
            expected = xg_select(&facts, XG_MATH_STRICT, NULL, &shape);
        last = run->choice;
        XT_CHECK(choice->row && choice->row == expected.row && choice->cycles == expected.cycles &&
                 choice->slices == expected.slices);
    }
    for (int i = 0; i < plan->choice_count; i++)
        for (int j = 0; j < i; j++)
            XT_CHECK(!xg_shape_is(&plan->choices[i].shape, &plan->choices[j].shape));
}

static void check_problem(const struct xg_problem *p, size_t device_bytes)
{
    const struct xg_problem call = *p;
    const int64_t m = p->m, n = p->n, k = p->k;
    struct xg_plan_limits limits = {.device_bytes = device_bytes, .row_bytes = 2 << 20};
    struct xg_plan plan;
    enum xg_status status = xg_plan_init(&plan, &call, &limits);
    XT_CHECK(status == XG_OK, "%ldx%ldx%ld in %zu bytes: %d", (long)m, (long)n, (long)k,
             device_bytes, status);
    if (status != XG_OK)
        return;
    int before = xt_failures;
    execute(&plan, &call);
    check_cover(&plan, &call, &limits);
    (call.batch ? check_batch : check_sizes)(&plan, &call, &limits);
    check_choices(&plan, &call);
    if (xt_failures > before)
        fprintf(stderr, "  in %s %ldx%ldx%ld trans %d %d, %zu bytes: tiles %ldx%ldx%ld\n",
                xg_kind_name(xg_problem_kind(p)), (long)m, (long)n, (long)k, (int)p->transa,
                (int)p->transb, device_bytes, (long)plan.tm, (long)plan.tn, (long)plan.tk);
    xg_plan_fini(&plan);
}

static void check(int64_t m, int64_t n, int64_t k, int trans, size_t device_bytes)
{
    const struct xg_problem call = {
        .m = m, .n = n, .k = k, .transa = trans & 1, .transb = trans >> 1 & 1};
    check_problem(&call, device_bytes);
}

/* Of the other operations and types; a triangle's m and n are one. */
static void check_kind(int kind, int64_t m, int64_t n, int64_t k, int trans, size_t device_bytes)
{
    struct xg_problem call = {.op = xg_kind_op(kind),
                              .type = xg_kind_type(kind),
                              .m = m,
                              .n = n,
                              .k = k,
                              .transa = trans & 1,
                              .transb = trans >> 1 & 1};
    struct xg_batch batch = {.count = 1 + (m * n) % 300};
    if (call.op == XG_OP_GEMM_BATCH || call.op == XG_OP_GEMM_BATCH_STRIDED) {
        /* An instance has room for itself, twice. */
        const int64_t most = device_bytes >= (size_t)1 << 30 ? 1500 : 300;
        call.m = xg_min_i64(m, most) * batch.count;
        call.n = xg_min_i64(n, most);
        call.k = xg_min_i64(k, most);
        call.batch = &batch;
    } else if (call.op == XG_OP_GEMV) {
        *(trans & 1 ? &call.m : &call.n) = 1;
    } else if (call.op == XG_OP_GEMMT) {
        call.n = m;
        call.uplo = trans & 2 ? XG_UPPER : XG_LOWER;
    } else if (call.op == XG_OP_SYRK || call.op == XG_OP_HERK || xg_problem_is_rank_2k(&call)) {
        call.n = m;
        call.uplo = trans & 2 ? XG_UPPER : XG_LOWER;
        call.transb = !call.transa;
    } else if (call.op == XG_OP_SYMM || call.op == XG_OP_HEMM) {
        call.structured = trans & 2 ? XG_OPERAND_A : XG_OPERAND_B;
        call.k = trans & 2 ? m : n;
        call.transa = call.transb = XG_NO_TRANS;
    }
    if (xg_problem_is_in_place(&call)) {
        /* The triangle comes whole: one that has no room is not for the device. */
        const int64_t most = 3000 << (device_bytes >= (size_t)1 << 30);
        call.structured = trans & 2 ? XG_OPERAND_A : XG_OPERAND_B;
        call.stored = XG_LOWER;
        call.m = trans & 2 ? xg_min_i64(m, most) : m;
        call.n = trans & 2 ? n : xg_min_i64(n, most);
        call.k = trans & 2 ? call.m : call.n;
        call.transa = trans & 2 ? trans & 1 : XG_NO_TRANS;
        call.transb = trans & 2 ? XG_NO_TRANS : trans & 1;
        device_bytes += (size_t)1 << 28;
    }
    check_problem(&call, device_bytes);
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
        {1, 1, 1},           {2048, 2048, 2048}, {8192, 8192, 8192},   {16384, 16384, 16384},
        {8192, 4096, 64},    {64, 8192, 8192},   {1, 8192, 8192},      {100000, 64, 64},
        {3000, 777, 1533},   {128, 128, 100000}, {65536, 65536, 4096}, {10000000, 1, 1},
        {1, 10000000, 3},    {1, 1, 1000000000}, {1, 1000000000, 2},   {600000000, 2, 1},
        {100, 100, 5000000}, {5, 3000000, 7},    {1, 2000000, 64},     {6, 1668634, 5058},
        {1264502, 4, 4927},
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
        check_kind(1 + i % (XG_KIND_COUNT - 1), m, n, k, i / 8 % 4, (size_t)16 << (20 + i % 10));
    }

    struct xg_problem call = {.m = 4000, .n = 4000, .k = 4000};
    struct xg_plan_limits limits = {.device_bytes = 1000, .row_bytes = 2 << 20};
    struct xg_plan plan;
    XT_CHECK(xg_plan_init(&plan, &call, &limits) == XG_DECLINED);
    return xt_done();
}
