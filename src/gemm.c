/* SPDX-License-Identifier: MIT */
/* One product from host to host: plans it, lets the team move it, and makes failures good. */
#include "gemm.h"

#include <errno.h>
#include <math.h>

#include "lane.h"

int xg_gemm_populate = -1;

/* --- What is left over after a failure ----------------------------------------------------- */

static void finish_rows(const struct xg_sgemm *call, const struct xg_plan_tile *tile, int64_t row,
                        int64_t rows, const struct xg_cpu *cpu)
{
    struct xg_sgemm part = *call;
    int64_t i = tile->row + row, j = tile->column;
    part.m = rows;
    part.n = tile->columns;
    part.a += part.transa ? i : i * part.lda;
    part.b += part.transb ? j * part.ldb : j;
    part.c += i * part.ldc + j;
    cpu->part(cpu->ctx, &part);
}

/* Computes on the CPU every row that is not in the caller's memory yet, in runs of rows. */
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

/* How fast the row multiplies and adds, at large sizes. */
static double macs_per_s(const struct xg_dev *dev, const struct xg_kernel *row)
{
    return (row ? row->efficiency : 1.0) * XG_SELECT_MACS_PER_CYCLE * dev->facts.sm_count *
           xg_dev_clock_hz(dev);
}

/*
 * Plans and reserves; where the device has less memory than its budget said, without pieces, and
 * then in smaller tiles.
 * Where the same call must give the same bits the plan depends on nothing that changes:
 * dev->plan_bytes.
 */
static enum xg_status prepare(struct xg_lane *lane, const struct xg_product *product,
                              struct xg_plan *plan, bool *splits)
{
    size_t fixed_bytes = lane->dev->plan_bytes;
    struct xg_plan_limits limits = {
        .device_bytes = fixed_bytes ? fixed_bytes : xg_mem_dev_available(lane->dev, &lane->memory),
        .row_bytes = XG_BELT_BLOCK_BYTES,
        .macs_per_s = macs_per_s(lane->dev, product->whole),
    };
    bool pieces = true;
    for (bool refused = false;; refused = true) {
        enum xg_status status = xg_plan_init(plan, product->call, &limits);
        if (status != XG_OK)
            return refused && status == XG_DECLINED ? XG_ERR_NOMEM : status;
        size_t bytes = plan->device_bytes, piece_bytes;
        *splits = pieces && xg_product_splits(product, limits.device_bytes, &piece_bytes);
        if (*splits)
            bytes = piece_bytes;
        status = xg_lane_reserve(lane, plan, bytes);
        if (status == XG_OK)
            return XG_OK;
        bool room = lane->memory.bytes >= bytes; /* something else was refused */
        if (!*splits)
            limits.device_bytes = plan->device_bytes / 2;
        pieces = false;
        xg_plan_fini(plan);
        if (status != XG_ERR_NOMEM || room || fixed_bytes)
            return status;
    }
}

/*
 * Operands that the caller has page-locked need no staging. But rows of no multiple of 4 elements
 * do, which kernels want padded with zeros; a C that is combined with what it holds; rows too far
 * apart for the driver's copies; and short ones that do not follow each other, of which such copies
 * move fewer a second.
 */
enum { DIRECT_ROW_MIN = 256 };

static struct xg_manner_direct find_direct(const struct xg_dev *dev, const struct xg_sgemm *call)
{
    struct xg_manner_direct direct;
    int64_t a_rows = call->transa ? call->k : call->m, a_columns = call->transa ? call->m : call->k;
    int64_t b_rows = call->transb ? call->n : call->k, b_columns = call->transb ? call->k : call->n;
    const struct {
        const float *matrix;
        int64_t rows, columns, ld;
        bool *direct;
    } operands[] = {{call->a, a_rows, a_columns, call->lda, &direct.a},
                    {call->b, b_rows, b_columns, call->ldb, &direct.b},
                    {call->c, call->m, call->n, call->ldc, &direct.c}};
    for (int i = 0; i < 3; i++) {
        int64_t columns = operands[i].columns;
        bool follow = operands[i].ld == columns && columns % 4 == 0;
        bool staged = i < 2 ? columns % 4 : call->beta != 0;
        staged |= operands[i].ld > XG_PLAN_PITCH_MAX || (columns < DIRECT_ROW_MIN && !follow);
        int64_t elems = (operands[i].rows - 1) * operands[i].ld + columns;
        *operands[i].direct =
            !staged && xg_mem_pinned(dev, operands[i].matrix, (size_t)elems * sizeof(float));
    }
    return direct;
}

static void run_worker(void *arg, int worker)
{
    xg_belt_work(arg, worker);
}

/*
 * Numbers of one kind come again: after a product that FP16's pieces did not serve the next ones
 * get all kinds at once, which costs launches, instead of computing tiles twice.
 */
enum { WARY_PRODUCTS = 16 };

static void learn_kinds(struct xg_lane *lane, const struct xg_pipe *pipe)
{
    if (pipe->refused || xg_product_needed_all(pipe->product))
        lane->wary = WARY_PRODUCTS;
    else if (pipe->product->split && lane->wary > 0)
        lane->wary--;
}

/* Moves the product through the lane; what a failure left over is computed by the CPU. */
static enum xg_status run(struct xg_lane *lane, struct xg_pipe *pipe,
                          const struct xg_manner *manner, const struct xg_cpu *cpu,
                          struct xg_gemm_result *result)
{
    struct xg_belt belt;
    int workers = xg_belt_init(&belt, pipe, lane->blocks, manner);
    xg_team_run(lane->team, workers, run_worker, &belt);

    bool any = false;
    result->kernel = pipe->product->kernel ? pipe->product->kernel->name : NULL;
    result->up_bytes = pipe->up_bytes;
    result->down_bytes = pipe->down_bytes;
    result->tiles_done = count_done(pipe, &any);
    if (pipe->status == XG_OK) {
        learn_kinds(lane, pipe);
        return XG_OK;
    }
    /* Copies may still be under way, from and to blocks that the next product would use. Where that
     * cannot be waited for there must be none. */
    enum xg_status drained = pipe->status == XG_ERR_HUNG ? XG_ERR_HUNG : xg_lane_drain(lane);
    if (drained != XG_OK)
        pipe->status = drained == XG_ERR_HUNG ? XG_ERR_HUNG : XG_ERR_LOST;
    if (!any)
        cpu->whole(cpu->ctx);
    for (int64_t item = 0; any && item < pipe->plan->tile_count; item++)
        finish_tile(pipe, item, cpu);
    return pipe->status;
}

enum xg_status xg_gemm_run(struct xg_lane *lane, const struct xg_sgemm *call, enum xg_math math,
                           const char *kernel_name, const struct xg_cpu *cpu,
                           struct xg_gemm_result *result)
{
    int saved_errno = errno;
    *result = (struct xg_gemm_result){0};
    struct xg_plan plan = {0};
    enum xg_status status = xg_dev_enter(lane->dev);
    bool entered = status == XG_OK;
    struct xg_product product = {
        .dev = lane->dev,
        .call = call,
        .plan = &plan,
        .memo = &lane->memo,
        .math = math,
        .kernel_name = kernel_name,
        .whole = xg_memo_select(&lane->memo, &lane->dev->facts, math, kernel_name, call->m, call->n,
                                call->k, NULL),
    };
    bool splits = false;
    if (entered)
        status = prepare(lane, &product, &plan, &splits);
    result->tiles = plan.tile_count;
    product.base = lane->memory.ptr; /* it may have moved */
    product.refusals = lane->refusals;
    product.all_kinds = lane->wary > 0;
    if (status == XG_OK)
        status = xg_product_init(&product, splits);
    struct xg_manner_direct direct = {false, false, false};
    if (status == XG_OK)
        direct = find_direct(lane->dev, call);
    struct xg_manner manner = xg_manner_choose(call, &direct, lane->workers, XG_BELT_BLOCK_BYTES);
    if (xg_gemm_populate >= 0 && manner.populate)
        xg_manner_set_populate(&manner, xg_gemm_populate, lane->workers);
    struct xg_pipe pipe = {
        .dev = lane->dev,
        .call = call,
        .plan = &plan,
        .product = &product,
        .streams = lane->streams,
        .events = lane->events,
        .base = lane->memory.ptr,
        .load_bytes = manner.load_bytes,
        .store_bytes = manner.store_bytes,
        .block_bytes = XG_BELT_BLOCK_BYTES,
        .direct = direct,
    };
    if (status == XG_OK)
        status = xg_pipe_init(&pipe);
    if (status == XG_OK) {
        status = run(lane, &pipe, &manner, cpu, result);
        xg_pipe_fini(&pipe);
    } else if (status != XG_DECLINED) {
        cpu->whole(cpu->ctx);
    }
    xg_product_fini(&product);
    xg_plan_fini(&plan);
    if (entered)
        xg_dev_leave(lane->dev);
    errno = saved_errno;
    return status;
}
