/* SPDX-License-Identifier: MIT */
/* One product from host to host: plans it, lets the team move it, and makes failures good. */
#include "gemm.h"

#include <errno.h>
#include <math.h>

#include "lane.h"

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

static size_t clamp_bytes(double bytes, double least, double most)
{
    return (size_t)fmin(fmax(bytes, least), most);
}

/*
 * Operands that the caller has page-locked need no staging; but rows of no multiple of 4 elements
 * do, which kernels want padded with zeros, and a C that is combined with what it holds.
 */
static void find_direct(struct xg_pipe *pipe)
{
    const struct xg_sgemm *call = pipe->call;
    int64_t a_rows = call->transa ? call->k : call->m, a_columns = call->transa ? call->m : call->k;
    int64_t b_rows = call->transb ? call->n : call->k, b_columns = call->transb ? call->k : call->n;
    const struct {
        const float *matrix;
        int64_t rows, columns, ld;
        bool *direct;
    } operands[] = {{call->a, a_rows, a_columns, call->lda, &pipe->direct_a},
                    {call->b, b_rows, b_columns, call->ldb, &pipe->direct_b},
                    {call->c, call->m, call->n, call->ldc, &pipe->direct_c}};
    for (int i = 0; i < 3; i++) {
        bool staged = i < 2 ? operands[i].columns % 4 : call->beta != 0;
        int64_t elems = (operands[i].rows - 1) * operands[i].ld + operands[i].columns;
        *operands[i].direct =
            !staged && xg_mem_pinned(pipe->dev, operands[i].matrix, (size_t)elems * sizeof(float));
    }
}

/* What the link carries for a product whose panels move once; what is staged of it. */
struct traffic {
    double up_bytes, down_bytes;
};

static struct traffic traffic_of(const struct xg_sgemm *call)
{
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    return (struct traffic){k * (m + n) * sizeof(float), m * n * sizeof(float)};
}

static struct traffic staged_of(const struct xg_pipe *pipe)
{
    const struct xg_sgemm *call = pipe->call;
    double m = pipe->direct_a ? 0 : (double)call->m, n = pipe->direct_b ? 0 : (double)call->n;
    double down = pipe->direct_c ? 0 : traffic_of(call).down_bytes;
    return (struct traffic){(double)call->k * (m + n) * sizeof(float), down};
}

/*
 * Small products move in smaller blocks, so that their first copy starts and their last ends early.
 * Down they are larger than up beside what there is to move: the link wants 2 MiB at a time, and
 * what comes down waits for no kernel.
 */
static void choose_blocks(struct xg_pipe *pipe)
{
    struct traffic traffic = traffic_of(pipe->call);
    pipe->load_bytes = clamp_bytes(traffic.up_bytes / 16, 1 << 20, XG_BELT_BLOCK_BYTES);
    pipe->store_bytes = clamp_bytes(traffic.down_bytes / 8, 1 << 20, XG_BELT_BLOCK_BYTES);
    pipe->block_bytes = XG_BELT_BLOCK_BYTES;
}

/*
 * Copiers that saturate the link upwards and downwards. Further ones only disturb: they share the
 * memory's bandwidth with the link. Where both directions move, and packed rows are streamed to
 * memory, the less busy one gets COPIERS_BESIDE of its own (100000 x 64 x 64: 0.76 ms instead of
 * 0.87); rows that stay in the caches leave room for all, and rows that are combined with what C
 * holds take longer (2048^3: 1.21 ms with as few as without beta, 1.03 with these). For little
 * fewer do: w workers take a time proportional to w to begin and bytes / w to copy, the sum of
 * which is least at a w that grows with the root of the bytes, COPIERS_AT_MB for a megabyte; but
 * COPIERS_FEW begin as one, where each has COPIER_BYTES to copy (256^3: 66 us instead of 80).
 */
static const double COPIERS_UP = 8, COPIERS_DOWN = 5, COPIERS_COMBINE = 8, COPIERS_BESIDE = 0.3;
static const double COPIERS_AT_MB = 2, COPIERS_FEW = 6, COPIER_BYTES = 256 << 10;

static double choose_copiers(const struct traffic *traffic, bool combines, bool caches)
{
    double up = traffic->up_bytes, down = traffic->down_bytes, most = fmax(up, down);
    if (most == 0)
        return 0;
    double for_up = COPIERS_UP * up / most;
    double for_down = (combines ? COPIERS_COMBINE : COPIERS_DOWN) * down / most;
    double beside = (caches || combines ? 1 : COPIERS_BESIDE) * fmin(for_up, for_down);
    double saturate = fmax(for_up, for_down) + beside;
    double begin = fmax(COPIERS_FEW, COPIERS_AT_MB * sqrt((up + down) / 1e6));
    return fmin(fmin(saturate, begin), ceil((up + down) / COPIER_BYTES));
}

/*
 * Blocks ahead of the link: as many as keep it busy, because workers who run further ahead take its
 * share of the memory's bandwidth. More where the rows wait in the caches meanwhile, which pays
 * where C comes down beside (8192^3: 12.4 ms instead of 14.5) and not where the operands alone move
 * (128 x 128 x 100000: 2.5 instead of 2.2).
 */
enum { AHEAD = 4, AHEAD_CACHED = 8 };
static const double CACHED_DOWN_SHARE = 0.25, CACHED_UP_BYTES = 64e6;

static struct xg_belt_manner choose_manner(const struct xg_pipe *pipe, int workers)
{
    struct traffic traffic = staged_of(pipe);
    bool caches = traffic.up_bytes >= CACHED_UP_BYTES &&
                  traffic.down_bytes >= CACHED_DOWN_SHARE * traffic.up_bytes;
    return (struct xg_belt_manner){
        .workers = (int)fmin(1 + choose_copiers(&traffic, pipe->call->beta != 0, caches), workers),
        .ahead = caches ? AHEAD_CACHED : AHEAD,
        .caches = caches,
    };
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

static void learn_kinds(struct xg_lane *lane, const struct xg_product *product)
{
    if (product->split && xg_product_needed_all(product))
        lane->wary = WARY_PRODUCTS;
    else if (product->split && lane->wary > 0)
        lane->wary--;
}

/* Moves the product through the lane; what a failure left over is computed by the CPU. */
static enum xg_status run(struct xg_lane *lane, struct xg_pipe *pipe, const struct xg_cpu *cpu,
                          struct xg_gemm_result *result)
{
    struct xg_belt belt;
    struct xg_belt_manner manner = choose_manner(pipe, lane->workers);
    xg_belt_init(&belt, pipe, lane->blocks, &manner);
    xg_team_run(lane->team, manner.workers, run_worker, &belt);

    bool any = false;
    result->kernel = pipe->product->kernel ? pipe->product->kernel->name : NULL;
    result->up_bytes = pipe->up_bytes;
    result->down_bytes = pipe->down_bytes;
    result->tiles_done = count_done(pipe, &any);
    if (pipe->status == XG_OK) {
        learn_kinds(lane, pipe->product);
        return XG_OK;
    }
    /* Copies may still be under way, from and to blocks that the next product would use. Where that
     * cannot be waited for there must be none. */
    if (xg_lane_drain(lane) != XG_OK)
        pipe->status = XG_ERR_LOST;
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
    struct xg_pipe pipe = {
        .dev = lane->dev,
        .call = call,
        .plan = &plan,
        .product = &product,
        .streams = lane->streams,
        .events = lane->events,
        .base = lane->memory.ptr,
    };
    choose_blocks(&pipe);
    if (status == XG_OK) {
        find_direct(&pipe);
        status = xg_pipe_init(&pipe);
    }
    if (status == XG_OK) {
        status = run(lane, &pipe, cpu, result);
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
