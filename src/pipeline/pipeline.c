/* SPDX-License-Identifier: MIT */
/* Plans one product, has the team move it, and has the CPU finish it after a failure. */
#include "pipeline/pipeline.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "compute/cublas.h"
#include "decide/plan.h"
#include "pipeline/lane.h"
#include "resident/resident.h"
#include "resident/room.h"
#include "verify/verify.h"

/* --- What is left over after a failure ----------------------------------------------------- */

static void finish_rows(const struct xg_problem *call, const struct xg_plan_tile *tile, int64_t row,
                        int64_t rows, const struct xg_cpu *cpu)
{
    const int64_t each = xg_problem_instance_rows(call), end = tile->row + row + rows;
    struct xg_problem parts[XG_PROBLEM_PARTS];
    for (int64_t at = tile->row + row; at < end;) {
        const struct xg_instance_rows part = xg_instance_rows(at, end - at, each);
        const struct xg_problem instance = xg_problem_instance(call, part.instance);
        const int count =
            xg_problem_parts(&instance, part.row, part.rows, tile->column, tile->columns, parts);
        for (int i = 0; i < count; i++)
            cpu->part(cpu->ctx, &parts[i]);
        at += part.rows;
    }
}

/* Has the CPU compute every row that is not in the caller's memory yet, in runs of rows. */
static void finish_tile(const struct xg_pipe *pipe, int64_t item, const struct xg_cpu *cpu)
{
    const struct xg_plan_tile *tile = &pipe->plan->tiles[item];
    const unsigned char *done = pipe->done + pipe->done_of_tile[item];
    int64_t step = xg_pipe_rows_per_chunk(pipe, tile);
    for (int64_t row = 0; row < tile->rows;) {
        int64_t end = row;
        while (end < tile->rows && !done[end / step])
            end = xg_min_i64(end + step, tile->rows);
        if (end > row)
            finish_rows(pipe->call, tile, row, end - row, cpu);
        row = end + step;
    }
}

static int64_t count_done(const struct xg_pipe *pipe, bool *any)
{
    int64_t tiles = 0;
    for (int64_t item = 0; item < pipe->plan->tile_count; item++) {
        const struct xg_plan_tile *tile = &pipe->plan->tiles[item];
        const unsigned char *done = pipe->done + pipe->done_of_tile[item];
        int64_t chunks = xg_ceil_div(tile->rows, xg_pipe_rows_per_chunk(pipe, tile)), count = 0;
        for (int64_t chunk = 0; chunk < chunks; chunk++)
            count += done[chunk];
        *any |= count > 0;
        tiles += count == chunks;
    }
    return tiles;
}

/* --- The product --------------------------------------------------------------------------- */

/*
 * Decides how the device computes the problem. The first problem that only cuBLAS computes creates
 * the device's cuBLAS handle. The dispatcher has loaded the library by then; a program of SGEMM and
 * DGEMM alone never loads it.
 */
static enum xg_status find_route(struct xg_lane *lane, const struct xg_problem *call,
                                 enum xg_math math, const char *kernel_name, struct xg_route *route,
                                 struct xg_result *result)
{
    struct xg_device_facts facts = lane->dev->facts;
    enum xg_status opened = XG_OK;
    if (!facts.cublas && xg_select_needs_cublas(&facts, call)) {
        opened = xg_cublas_open(lane->dev);
        facts.cublas = opened == XG_OK;
    }
    if (opened == XG_ERR_LOST)
        return opened;
    xg_route_decide(route, &lane->recent, &facts, math, kernel_name, call);
    if (route->whole.row)
        return XG_OK;
    result->failed = opened == XG_ERR_DRIVER;
    result->unserved = !result->failed && opened != XG_ERR_NOMEM;
    return XG_DECLINED;
}

/* NULL: the operand goes into the plan's memory. */
static const struct xg_resident_operand *stays(const struct xg_problem *call, bool b)
{
    return call->resident ? xg_resident_stays(call->resident, b) : NULL;
}

static void settle_held(struct xg_problem *call)
{
    for (int b = 0; b < 2; b++)
        call->held[b] = stays(call, b) ? stays(call, b)->held_elems : 0.0;
}

static void give_up(struct xg_problem *call, struct xg_plan_limits *limits)
{
    xg_resident_give_up(call->resident);
    settle_held(call);
    call->resident = NULL;
    limits->apart[0] = limits->apart[1] = false;
}

/* Where the operands are, and which of their rows go up. */
static void place_operands(const struct xg_problem *call, const struct xg_plan *plan,
                           CUdeviceptr base, CUdeviceptr place[2], struct xg_pipe_travel travel[2])
{
    const size_t a_bytes = plan->a_elems * (size_t)plan->elem_bytes;
    place[0] = base;
    place[1] = base + a_bytes;
    for (int b = 0; b < 2; b++) {
        const struct xg_resident_operand *operand = stays(call, b);
        if (operand) {
            place[b] = xg_resident_at(operand);
            travel[b] = (struct xg_pipe_travel){operand->rows, operand->row_count};
        }
    }
    if (plan->b_is_a)
        place[1] = place[0];
}

/*
 * Plans the product and reserves what the plan needs. If the device refuses memory that its budget
 * promised, this function gives up pieces first and then plans smaller tiles. If the same call must
 * give the same bits, the plan depends on a constant alone: dev->plan_bytes.
 */
static enum xg_status prepare(struct xg_lane *lane, struct xg_problem *call,
                              const struct xg_route *route, struct xg_plan *plan, bool *splits)
{
    size_t fixed_bytes = lane->dev->plan_bytes;
    xg_room_free(lane->dev);
    struct xg_plan_limits limits = {
        .device_bytes = fixed_bytes ? fixed_bytes
                                    : xg_mem_dev_available(lane->dev, &lane->memory) +
                                          xg_room_idle_bytes(lane->dev),
        .row_bytes = XG_QUEUE_BLOCK_BYTES,
        .macs_per_byte = xg_route_macs_per_byte(route),
        .apart = {stays(call, false), stays(call, true)},
    };
    bool pieces = route->pieces;
    for (bool refused = false;; refused = true) {
        enum xg_status status = xg_plan_init(plan, call, &limits);
        if (status != XG_OK)
            return refused && status == XG_DECLINED ? XG_ERR_NOMEM : status;
        if (!plan->resident && call->resident) { /* copies are whole matrices */
            give_up(call, &limits);
            xg_plan_fini(plan);
            continue;
        }
        size_t bytes = plan->device_bytes;
        if (pieces && plan->resident)
            bytes = xg_runner_split_bytes(plan, call);
        *splits = pieces && plan->resident && bytes <= limits.device_bytes;
        if (!*splits)
            bytes = plan->device_bytes;
        status = xg_lane_reserve(lane, plan, bytes);
        if (status == XG_OK)
            return XG_OK;
        bool room = lane->memory.bytes >= bytes; /* then device memory is not what failed */
        if (!*splits)
            limits.device_bytes = plan->device_bytes / 2;
        pieces = false;
        xg_plan_fini(plan);
        if (status != XG_ERR_NOMEM || room || fixed_bytes)
            return status;
    }
}

/* Whether an operand with leading dimension ld lies in page-locked memory as a whole. */
static bool is_pinned(const struct xg_dev *dev, const struct xg_problem *call, const void *matrix,
                      struct xg_extent extent, int64_t ld)
{
    int64_t elems = (extent.rows - 1) * ld + extent.columns;
    return xg_mem_pinned(dev, matrix, (size_t)elems * xg_problem_elem_bytes(call));
}

/* Page-locked operands of the caller need no staging if their layout allows direct copies. */
static struct xg_staging_direct find_direct(const struct xg_dev *dev, const struct xg_problem *call)
{
    const struct xg_extent a = xg_problem_stored(call, false), b = xg_problem_stored(call, true);
    const struct xg_extent c = {call->m, call->n};
    struct xg_staging_direct direct = xg_staging_admit_direct(call);
    direct.a = direct.a && is_pinned(dev, call, call->a, a, call->lda);
    direct.b = direct.b && is_pinned(dev, call, call->b, b, call->ldb);
    direct.c = direct.c && is_pinned(dev, call, call->c, c, call->ldc);
    return direct;
}

/* The submitter selects the kernels while the other workers begin to pack. */
static void run_worker(void *arg, int worker)
{
    struct xg_queue *queue = arg;
    if (worker == 0)
        xg_runner_choose(queue->pipe->runner);
    xg_queue_work(queue, worker);
}

/*
 * Consecutive products have similar numbers. After a product that FP16 pieces did not serve, the
 * next products get all kinds of pieces at once: that costs launches, but no tile is computed
 * twice.
 */
enum { ALL_KINDS_PRODUCTS = 16 };

static void learn_kinds(struct xg_lane *lane, const struct xg_pipe *pipe)
{
    if (pipe->refused || xg_runner_needed_all(pipe->runner))
        lane->all_kinds_left = ALL_KINDS_PRODUCTS;
    else if (pipe->runner->split && lane->all_kinds_left > 0)
        lane->all_kinds_left--;
}

/* Moves the product through the lane. After a failure the CPU computes the rest. */
static enum xg_status run(struct xg_lane *lane, struct xg_pipe *pipe,
                          const struct xg_staging *staging, const struct xg_cpu *cpu,
                          struct xg_result *result)
{
    struct xg_queue queue;
    int workers = xg_queue_init(&queue, pipe, lane->blocks, lane->block_count, staging);
    xg_team_run(lane->team, workers, run_worker, &queue);

    bool any = false;
    result->kernel = pipe->runner->kernel ? pipe->runner->kernel->name : NULL;
    result->up_bytes = pipe->up_bytes;
    result->down_bytes = pipe->down_bytes;
    result->tiles_done = count_done(pipe, &any);
    if (pipe->status == XG_OK) {
        learn_kinds(lane, pipe);
        return XG_OK;
    }
    /* Copies from and to blocks that the next product would use may still be running. If a wait for
     * them fails, the status says that the lane must take no next product. */
    enum xg_status drained =
        pipe->status == XG_ERR_HUNG ? XG_ERR_HUNG : xg_lane_drain(lane, lane->dev->timeout_s);
    if (drained != XG_OK)
        pipe->status = drained == XG_ERR_HUNG ? XG_ERR_HUNG : XG_ERR_LOST;
    if (!any)
        cpu->whole(cpu->ctx);
    for (int64_t item = 0; any && item < pipe->plan->tile_count; item++)
        finish_tile(pipe, item, cpu);
    return pipe->status;
}

static enum xg_status run_problem(struct xg_lane *lane, const struct xg_problem *problem,
                                  enum xg_math math, const char *kernel_name,
                                  const struct xg_cpu *cpu, struct xg_result *result)
{
    int saved_errno = errno;
    struct xg_problem local = *problem, *call = &local;
    *result = (struct xg_result){0};
    struct xg_plan plan = {0};
    int capture_mode;
    enum xg_status status = xg_dev_begin(lane->dev, &capture_mode);
    bool entered = status == XG_OK;
    struct xg_route route = {0};
    bool splits = false;
    if (entered)
        status = find_route(lane, call, math, kernel_name, &route, result);
    if (status == XG_OK && call->resident) {
        xg_resident_begin(lane->dev, call->resident);
        settle_held(call);
    }
    if (status == XG_OK)
        status = prepare(lane, call, &route, &plan, &splits);
    result->tiles = plan.tile_count;
    result->held_bytes =
        (uint64_t)((call->held[0] + call->held[1]) * (double)xg_problem_elem_bytes(call));
    result->sums = xg_route_sums(&route, call, splits);
    struct xg_runner runner = {
        .dev = lane->dev,
        .call = call,
        .plan = &plan,
        .route = &route,
        .recent = &lane->recent,
        .base = lane->memory.ptr,
        .refusals = lane->refusals,
        .all_kinds = lane->all_kinds_left > 0,
    };
    struct xg_pipe_travel travel[2] = {{0}};
    if (status == XG_OK) {
        place_operands(call, &plan, lane->memory.ptr, runner.place, travel);
        status = xg_runner_init(&runner, splits);
    }
    struct xg_staging_direct direct = {false, false, false};
    if (status == XG_OK)
        direct = find_direct(lane->dev, call);
    struct xg_staging staging =
        xg_staging_choose(call, &direct, lane->workers, XG_QUEUE_BLOCK_BYTES);
    struct xg_pipe pipe = {
        .dev = lane->dev,
        .call = call,
        .plan = &plan,
        .runner = &runner,
        .streams = lane->streams,
        .events = lane->events,
        .tiles = lane->memory.ptr + (plan.a_elems + plan.b_elems) * (size_t)plan.elem_bytes,
        .travel = {travel[0], travel[1]},
        .load_bytes = staging.load_bytes,
        .store_bytes = staging.store_bytes,
        .block_bytes = XG_QUEUE_BLOCK_BYTES,
        .direct = direct,
    };
    if (status == XG_OK)
        status = xg_pipe_init(&pipe);
    if (status == XG_OK) {
        status = run(lane, &pipe, &staging, cpu, result);
        xg_pipe_fini(&pipe);
    } else if (status != XG_DECLINED) {
        cpu->whole(cpu->ctx);
    }
    if (problem->resident)
        xg_resident_release(problem->resident, status == XG_OK);
    xg_runner_fini(&runner);
    xg_plan_fini(&plan);
    if (entered)
        xg_dev_end(lane->dev, capture_mode);
    errno = saved_errno;
    return status;
}

/* --- A batch, one product after the other ----------------------------------------------------- */

struct alone {
    const struct xg_cpu *cpu;
    const struct xg_problem *instance;
    bool first, whole; /* whole: the first instance leaves the whole batch to the CPU */
};

static void alone_whole(void *ctx)
{
    struct alone *alone = ctx;
    alone->whole = alone->first;
    if (!alone->first)
        alone->cpu->part(alone->cpu->ctx, alone->instance);
}

static void alone_part(void *ctx, const struct xg_problem *part)
{
    const struct alone *alone = ctx;
    alone->cpu->part(alone->cpu->ctx, part);
}

static void add_result(struct xg_result *sum, const struct xg_result *one)
{
    sum->kernel = sum->kernel ? sum->kernel : one->kernel;
    sum->up_bytes += one->up_bytes;
    sum->down_bytes += one->down_bytes;
    sum->tiles += one->tiles;
    sum->tiles_done += one->tiles_done;
    sum->unserved |= one->unserved;
    sum->failed |= one->failed;
    sum->sums = one->sums;
}

/* After a failure the CPU computes the remaining instances. */
static enum xg_status run_instances(struct xg_lane *lane, const struct xg_problem *call,
                                    enum xg_math math, const char *kernel_name,
                                    const struct xg_cpu *cpu, struct xg_result *result)
{
    enum xg_status status = XG_OK;
    *result = (struct xg_result){0};
    for (int64_t i = 0; i < call->batch->count; i++) {
        const struct xg_problem instance = xg_problem_instance(call, i);
        struct alone alone = {.cpu = cpu, .instance = &instance, .first = i == 0};
        const struct xg_cpu one = {.whole = alone_whole, .part = alone_part, .ctx = &alone};
        struct xg_result part = {0};
        bool failed = status != XG_OK;
        if (!failed)
            status = run_problem(lane, &instance, math, kernel_name, &one, &part);
        add_result(result, &part);
        if (status == XG_DECLINED && i == 0)
            return status;
        if (alone.whole) {
            cpu->whole(cpu->ctx);
            return status;
        }
        if (failed || status == XG_DECLINED)
            cpu->part(cpu->ctx, &instance);
        if (status == XG_DECLINED)
            status = XG_ERR_NOMEM;
    }
    return status;
}

enum xg_status xg_pipeline_run(struct xg_lane *lane, const struct xg_problem *call,
                               enum xg_math math, const char *kernel_name, const struct xg_cpu *cpu,
                               struct xg_result *result)
{
    if (xg_route_is_one_by_one(call))
        return run_instances(lane, call, math, kernel_name, cpu, result);
    enum xg_status status = run_problem(lane, call, math, kernel_name, cpu, result);
    /* Instances that do not fit beside each other may fit one by one, in tiles. */
    if (status == XG_DECLINED && call->batch && !result->unserved)
        status = run_instances(lane, call, math, kernel_name, cpu, result);
    return status;
}

/* --- Verified ------------------------------------------------------------------------------ */

static void tell_wrong(const struct xg_problem *call, const char *kernel,
                       const struct xg_verify_report *report)
{
    static int told;
    xg_log_once(&told,
                "the GPU computed a wrong product (%lldx%lldx%lld %c%c, %s: row %lld, column %lld "
                "is %.9g, not %.9g; at most %.2g off would be right): the CPU computed it again",
                (long long)call->m, (long long)call->n, (long long)call->k,
                xg_trans_letter(call->transa), xg_trans_letter(call->transb), kernel ? kernel : "-",
                (long long)report->row, (long long)report->column, report->value, report->exact,
                report->bound);
}

static enum xg_status judge(struct xg_verify *verify, const struct xg_problem *call,
                            const struct xg_cpu *cpu, struct xg_result *result)
{
    struct xg_verify_report report;
    xg_verify_check(verify, result->sums, &report);
    result->verdict = report.wrong ? XG_VERDICT_WRONG : XG_VERDICT_RIGHT;
    result->deviation = report.deviation;
    result->rows_skipped = report.rows_skipped;
    if (!report.wrong)
        return XG_OK;
    tell_wrong(call, result->kernel, &report);
    if (call->resident) /* its copies may be wrong */
        xg_resident_give_up(call->resident);
    xg_verify_restore(verify);
    cpu->whole(cpu->ctx);
    result->tiles_done = 0;
    return XG_ERR_WRONG;
}

enum xg_status xg_pipeline_run_verified(struct xg_lane *lane, const struct xg_problem *call,
                                        enum xg_math math, const char *kernel_name,
                                        const struct xg_cpu *cpu, uint64_t seed,
                                        struct xg_result *result)
{
    int saved_errno = errno;
    struct xg_verify *verify = NULL;
    double begin = xg_clock_s();
    bool able = xg_verify_create(call, seed, lane->team, lane->workers, &verify) == XG_OK;
    double computing = xg_clock_s();
    enum xg_status status = xg_pipeline_run(lane, call, math, kernel_name, cpu, result);
    double computed = xg_clock_s();
    if (status == XG_OK && able)
        status = judge(verify, call, cpu, result);
    else if (status == XG_OK)
        result->verdict = XG_VERDICT_UNABLE;
    xg_verify_destroy(verify);
    result->verify_s = computing - begin + xg_clock_s() - computed;
    errno = saved_errno;
    return status;
}
