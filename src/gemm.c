/* SPDX-License-Identifier: MIT */
/* One product from host to host: plans it, lets the team move it, and makes failures good. */
#include "gemm.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "lane.h"
#include "log.h"
#include "stage.h"

/* Staging chunks: see choose_chunks. */
enum { LOADS_PER_WORKER = 6, STORES_PER_WORKER = 8 };
enum { CHUNK_BYTES_MIN = 256 << 10, STORE_BYTES_MAX = 1 << 20 };

/*
 * Write-backs that one worker asks for ahead. With more, one would hold what others could commit
 * meanwhile.
 */
enum { STORES_AHEAD = 2 };

/* --- A worker ------------------------------------------------------------------------------ */

/* The worker's buffer of that use that has been in it longest, or NULL. */
static struct xg_lane_buffer *oldest(struct xg_lane_worker *worker, int use)
{
    struct xg_lane_buffer *found = NULL;
    for (int i = 0; i < XG_LANE_BUFFERS; i++) {
        struct xg_lane_buffer *buffer = &worker->buffers[i];
        if ((int)buffer->use == use && (!found || buffer->turn < found->turn))
            found = buffer;
    }
    return found;
}

static int count_buffers(const struct xg_lane_worker *worker, int use)
{
    int count = 0;
    for (int i = 0; i < XG_LANE_BUFFERS; i++)
        count += (int)worker->buffers[i].use == use;
    return count;
}

static void put_to_use(struct xg_lane_worker *worker, struct xg_lane_buffer *buffer, int use)
{
    buffer->use = use;
    buffer->turn = worker->turns++;
}

/* True when the copy behind the buffer has finished; a failure goes to the pipe. */
static bool copied(struct xg_pipe *pipe, const struct xg_lane_buffer *buffer)
{
    CUresult result = pipe->dev->drv.cuEventQuery(buffer->copied);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        xg_pipe_fail(pipe, xg_drv_status(&pipe->dev->drv, result, "cuEventQuery"));
    return result == CUDA_SUCCESS;
}

/*
 * Waits for the copy. The driver's own sleeping wait (CU_EVENT_BLOCKING_SYNC) comes back a tenth of
 * a millisecond late and tripled the time of a 1024^3 product; its spinning one holds a core for as
 * long as a large product computes. So: spin as long as a copy takes, then sleep in short steps.
 */
static bool wait_copied(struct xg_pipe *pipe, const struct xg_lane_buffer *buffer)
{
    enum { SPINS = 200 }; /* some 0.1 ms: a query takes half a microsecond */
    static const struct timespec nap = {.tv_nsec = 20000};
    for (int spins = 0; !copied(pipe, buffer); spins++) {
        if (xg_pipe_failed(pipe))
            return false;
        if (spins > SPINS)
            nanosleep(&nap, NULL);
    }
    return true;
}

static void commit(const struct xg_pipe *pipe, struct xg_lane_buffer *buffer)
{
    const struct xg_pipe_chunk *chunk = &buffer->chunk;
    xg_stage_commit(chunk->host, chunk->host_ld, buffer->host, chunk->staged_ld, chunk->rows,
                    chunk->width, pipe->call->beta);
    *chunk->done = 1;
    buffer->use = XG_BUFFER_FREE;
}

static struct xg_lane_buffer *free_buffer(struct xg_pipe *pipe, struct xg_lane_worker *worker)
{
    struct xg_lane_buffer *buffer = oldest(worker, XG_BUFFER_FREE);
    if (buffer)
        return buffer;
    buffer = oldest(worker, XG_BUFFER_LOADING);
    if (!buffer || !copied(pipe, buffer))
        return NULL;
    buffer->use = XG_BUFFER_FREE;
    return buffer;
}

/* Does one thing that can be done without waiting; false when there is none. */
static bool step(struct xg_pipe *pipe, struct xg_lane_worker *worker)
{
    struct xg_lane_buffer *arrived = oldest(worker, XG_BUFFER_STORING);
    if (arrived && copied(pipe, arrived)) {
        commit(pipe, arrived);
        return true;
    }
    struct xg_lane_buffer *buffer = free_buffer(pipe, worker);
    if (!buffer)
        return false;
    /* Write-backs first: asking for one is quick, and the copy runs while the next load is staged.
     */
    if (count_buffers(worker, XG_BUFFER_STORING) < STORES_AHEAD &&
        xg_pipe_take_store(pipe, &buffer->chunk, buffer->host, buffer->copied)) {
        put_to_use(worker, buffer, XG_BUFFER_STORING);
        return true;
    }
    struct xg_pipe_chunk chunk;
    if (!xg_pipe_take_load(pipe, &chunk))
        return false;
    xg_stage_pack(buffer->host, chunk.staged_ld, chunk.host, chunk.host_ld, chunk.rows,
                  chunk.width);
    xg_pipe_load(pipe, &chunk, buffer->host, buffer->copied);
    put_to_use(worker, buffer, XG_BUFFER_LOADING);
    return true;
}

struct work {
    struct xg_lane *lane;
    struct xg_pipe *pipe;
};

static void run_worker(void *arg, int index)
{
    struct work *work = arg;
    struct xg_pipe *pipe = work->pipe;
    struct xg_lane_worker *worker = &work->lane->workers[index];
    enum xg_status status = index ? xg_dev_enter(pipe->dev) : XG_OK;
    if (status != XG_OK) {
        xg_pipe_fail(pipe, status);
        return;
    }
    for (;;) {
        if (step(pipe, worker))
            continue;
        struct xg_lane_buffer *waited = oldest(worker, XG_BUFFER_STORING);
        if (!waited && !oldest(worker, XG_BUFFER_FREE))
            waited = oldest(worker, XG_BUFFER_LOADING);
        if (waited ? !wait_copied(pipe, waited) : !xg_pipe_wait(pipe))
            break;
    }
    if (index)
        xg_dev_leave(pipe->dev);
}

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

/* Plans and reserves; where the device has less memory than its budget said, in smaller tiles. */
static enum xg_status prepare(struct xg_lane *lane, const struct xg_sgemm *call,
                              struct xg_plan *plan)
{
    struct xg_plan_limits limits = {
        .device_bytes = xg_mem_dev_available(lane->dev, &lane->memory),
        .row_bytes = XG_LANE_BUFFER_BYTES,
    };
    for (;;) {
        enum xg_status status = xg_plan_init(plan, call, &limits);
        if (status != XG_OK)
            return status;
        status = xg_lane_reserve(lane, plan);
        if (status == XG_OK)
            return XG_OK;
        limits.device_bytes = plan->device_bytes / 2;
        xg_plan_fini(plan);
        if (status != XG_ERR_NOMEM)
            return status;
    }
}

static size_t clamp_bytes(double bytes, double least, double most)
{
    return (size_t)fmin(fmax(bytes, least), most);
}

/*
 * Chunks small enough that every worker gets several (the first copy starts early, the last work is
 * shared), and large enough for the link.
 */
static void choose_chunks(struct xg_pipe *pipe, int workers)
{
    const struct xg_sgemm *call = pipe->call;
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    pipe->load_bytes = clamp_bytes(4 * k * (m + n) / (LOADS_PER_WORKER * workers), CHUNK_BYTES_MIN,
                                   XG_LANE_BUFFER_BYTES);
    pipe->store_bytes =
        clamp_bytes(4 * m * n / (STORES_PER_WORKER * workers), CHUNK_BYTES_MIN, STORE_BYTES_MAX);
}

/* Moves the product through the lane; what a failure left over is computed by the CPU. */
static enum xg_status run(struct xg_lane *lane, struct xg_pipe *pipe, const struct xg_cpu *cpu,
                          struct xg_gemm_result *result)
{
    for (int w = 0; w < xg_team_size(lane->team); w++)
        for (int i = 0; i < XG_LANE_BUFFERS; i++)
            lane->workers[w].buffers[i].use = XG_BUFFER_FREE;
    struct work work = {lane, pipe};
    xg_team_run(lane->team, run_worker, &work);

    bool any = false;
    result->kernel = pipe->kernel ? pipe->kernel->name : NULL;
    result->up_bytes = pipe->up_bytes;
    result->down_bytes = pipe->down_bytes;
    result->tiles_done = count_done(pipe, &any);
    if (pipe->status == XG_OK)
        return XG_OK;
    /* Copies may still be under way, from and to buffers that the next product will use. */
    xg_lane_drain(lane);
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
    if (entered)
        status = prepare(lane, call, &plan);
    result->tiles = plan.tile_count;
    struct xg_pipe pipe = {
        .dev = lane->dev,
        .call = call,
        .plan = &plan,
        .math = math,
        .kernel_name = kernel_name,
        .streams = lane->streams,
        .events = lane->events,
        .base = lane->memory.ptr,
    };
    choose_chunks(&pipe, xg_team_size(lane->team));
    if (status == XG_OK)
        status = xg_pipe_init(&pipe);
    if (status == XG_OK) {
        status = run(lane, &pipe, cpu, result);
        xg_pipe_fini(&pipe);
    } else if (status != XG_DECLINED) {
        cpu->whole(cpu->ctx);
    }
    xg_plan_fini(&plan);
    if (entered)
        xg_dev_leave(lane->dev);
    errno = saved_errno;
    return status;
}
