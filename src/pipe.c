/* SPDX-License-Identifier: MIT */
/* Executes a plan: hands out chunks, launches kernels, keeps the order between streams. */
#include "pipe.h"

#include <stdlib.h>

#include "launch.h"

/* --- Geometry: where slots, panels and tiles lie ------------------------------------------- */

static CUdeviceptr a_slot_address(const struct xg_pipe *pipe, int slot)
{
    return pipe->base + (size_t)slot * pipe->plan->a_slot_bytes;
}

static CUdeviceptr b_slot_address(const struct xg_pipe *pipe, int slot)
{
    const struct xg_plan *plan = pipe->plan;
    return a_slot_address(pipe, plan->a_slots) + (size_t)slot * plan->b_slot_bytes;
}

static CUdeviceptr c_slot_address(const struct xg_pipe *pipe, int slot)
{
    const struct xg_plan *plan = pipe->plan;
    return b_slot_address(pipe, plan->b_slots) + (size_t)slot * plan->c_slot_bytes;
}

static const struct xg_pipe_events *load_events(const struct xg_pipe *pipe,
                                                const struct xg_plan_load *load)
{
    return &pipe->events[load->b ? pipe->plan->a_slots + load->slot : load->slot];
}

static const struct xg_pipe_events *tile_events(const struct xg_pipe *pipe, int64_t tile)
{
    const struct xg_plan *plan = pipe->plan;
    return &pipe->events[plan->a_slots + plan->b_slots + plan->tiles[tile].slot];
}

/* A load as one chunk of all its rows: the panel as it lies in host memory and in its slot. */
static struct xg_pipe_chunk whole_load(const struct xg_pipe *pipe, int64_t item)
{
    const struct xg_plan *plan = pipe->plan;
    const struct xg_sgemm *call = pipe->call;
    const struct xg_plan_load *load = &plan->loads[item];
    int64_t depth = xg_plan_depth(plan, call, load->l), l0 = load->l * plan->tk;
    bool trans = load->b ? call->transb : call->transa;
    int64_t extent, at;
    if (load->b) {
        extent = xg_plan_columns(plan, call, load->index);
        at = load->index * plan->tn;
    } else {
        extent = xg_plan_rows(plan, call, load->index);
        at = load->index * plan->tm;
    }
    /* A is (m,k), or (k,m) transposed; B is (k,n), or (n,k) transposed. */
    bool depth_is_rows = load->b != trans;
    struct xg_pipe_chunk chunk = {
        .item = item,
        .rows = depth_is_rows ? depth : extent,
        .width = depth_is_rows ? extent : depth,
        .host_ld = load->b ? call->ldb : call->lda,
        .device = load->b ? b_slot_address(pipe, load->slot) : a_slot_address(pipe, load->slot),
        .device_ld = load->b ? plan->ldb : plan->lda,
    };
    int64_t row0 = depth_is_rows ? l0 : at, column0 = depth_is_rows ? at : l0;
    const float *matrix = load->b ? call->b : call->a;
    /* The cast is safe: loads are only read, see xg_pipe_chunk. */
    chunk.host = (float *)(uintptr_t)(matrix + row0 * chunk.host_ld + column0);
    return chunk;
}

static struct xg_pipe_chunk whole_tile(const struct xg_pipe *pipe, int64_t item)
{
    const struct xg_plan *plan = pipe->plan;
    const struct xg_sgemm *call = pipe->call;
    const struct xg_plan_tile *tile = &plan->tiles[item];
    return (struct xg_pipe_chunk){
        .item = item,
        .rows = xg_plan_rows(plan, call, tile->i),
        .width = xg_plan_columns(plan, call, tile->j),
        .host = call->c + tile->i * plan->tm * call->ldc + tile->j * plan->tn,
        .host_ld = call->ldc,
        .device = c_slot_address(pipe, tile->slot),
        .device_ld = plan->ldc,
        .done = pipe->done + item * pipe->chunks_per_tile,
    };
}

static int64_t chunk_rows(size_t bytes, int64_t device_ld)
{
    int64_t rows = (int64_t)(bytes / sizeof(float)) / device_ld;
    return rows > 1 ? rows : 1;
}

int64_t xg_pipe_rows_per_chunk(const struct xg_pipe *pipe)
{
    return chunk_rows(pipe->store_bytes, pipe->plan->ldc);
}

/* Rows [row, row + rows) of a whole load or tile. */
static void narrow(struct xg_pipe_chunk *chunk, size_t bytes, int64_t row)
{
    int64_t rows = chunk_rows(bytes, chunk->device_ld);
    chunk->rows = xg_min_i64(rows, chunk->rows - row);
    chunk->host += row * chunk->host_ld;
    chunk->device += (size_t)(row * chunk->device_ld) * sizeof(float);
    if (chunk->done)
        chunk->done += row / rows;
}

static size_t chunk_bytes(const struct xg_pipe_chunk *chunk)
{
    return (size_t)(chunk->rows * chunk->device_ld) * sizeof(float);
}

/* --- Life ---------------------------------------------------------------------------------- */

enum xg_status xg_pipe_init(struct xg_pipe *pipe)
{
    const struct xg_plan *plan = pipe->plan;
    bool slots_are_reused =
        plan->a_slots < plan->mt * plan->kt || plan->b_slots < plan->nt * plan->kt;
    /* One stream where panels are replaced: its last reader is then behind all the others. */
    pipe->run_streams = slots_are_reused ? 1 : XG_PIPE_RUN_STREAMS;
    pipe->chunks_per_tile = xg_ceil_div(plan->tm, xg_pipe_rows_per_chunk(pipe));
    pipe->done = calloc((size_t)(plan->tile_count * pipe->chunks_per_tile), 1);
    pipe->load_rows_left = malloc((size_t)plan->load_count * sizeof *pipe->load_rows_left);
    if (!pipe->done || !pipe->load_rows_left) {
        free(pipe->done);
        free(pipe->load_rows_left);
        return XG_ERR_NOMEM;
    }
    for (int64_t i = 0; i < plan->load_count; i++)
        pipe->load_rows_left[i] = whole_load(pipe, i).rows;
    pthread_mutex_init(&pipe->lock, NULL);
    pthread_cond_init(&pipe->changed, NULL);
    return XG_OK;
}

void xg_pipe_fini(struct xg_pipe *pipe)
{
    pthread_cond_destroy(&pipe->changed);
    pthread_mutex_destroy(&pipe->lock);
    free(pipe->load_rows_left);
    free(pipe->done);
}

static void fail_locked(struct xg_pipe *pipe, enum xg_status status)
{
    if (pipe->status == XG_OK && status != XG_OK) {
        pipe->status = status;
        pthread_cond_broadcast(&pipe->changed);
    }
}

void xg_pipe_fail(struct xg_pipe *pipe, enum xg_status status)
{
    pthread_mutex_lock(&pipe->lock);
    fail_locked(pipe, status);
    pthread_mutex_unlock(&pipe->lock);
}

bool xg_pipe_failed(struct xg_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    bool failed = pipe->status != XG_OK;
    pthread_mutex_unlock(&pipe->lock);
    return failed;
}

/* --- Runs ---------------------------------------------------------------------------------- */

static bool run_possible(const struct xg_pipe *pipe, const struct xg_plan_run *run)
{
    if (pipe->load_rows_left[run->a_load] || pipe->load_rows_left[run->b_load])
        return false;
    /* The slot's earlier tile must be on its way out, so that there is an event to wait for. */
    return !run->first || pipe->plan->tiles[run->tile].after_tile < pipe->tile_next;
}

static enum xg_status wait_for_operands(const struct xg_pipe *pipe, const struct xg_plan_run *run,
                                        CUstream stream)
{
    const struct xg_plan *plan = pipe->plan;
    const struct xg_plan_tile *tile = &plan->tiles[run->tile];
    const struct xg_pipe_events *panels[] = {load_events(pipe, &plan->loads[run->a_load]),
                                             load_events(pipe, &plan->loads[run->b_load])};
    enum xg_status status = XG_OK;
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < XG_PIPE_UP_STREAMS && status == XG_OK; s++)
            status = XG_DRV(&pipe->dev->drv, cuStreamWaitEvent, stream, panels[i]->ready[s], 0);
    if (status == XG_OK && run->first && tile->after_tile >= 0)
        status = XG_DRV(&pipe->dev->drv, cuStreamWaitEvent, stream,
                        tile_events(pipe, run->tile)->spent, 0);
    return status;
}

static enum xg_status launch(struct xg_pipe *pipe, const struct xg_plan_run *run, CUstream stream)
{
    const struct xg_plan *plan = pipe->plan;
    const struct xg_sgemm *call = pipe->call;
    const struct xg_plan_load *a = &plan->loads[run->a_load], *b = &plan->loads[run->b_load];
    const struct xg_plan_tile *tile = &plan->tiles[run->tile];
    struct xg_sgemm_args args = {
        .a = a_slot_address(pipe, a->slot),
        .b = b_slot_address(pipe, b->slot),
        .c = c_slot_address(pipe, tile->slot),
        .lda = plan->lda,
        .ldb = plan->ldb,
        .ldc = plan->ldc,
        .m = xg_plan_rows(plan, call, tile->i),
        .n = xg_plan_columns(plan, call, tile->j),
        .k = xg_plan_depth(plan, call, a->l),
        .alpha = call->alpha,
        .beta = run->first ? 0.0f : 1.0f,
        .transa = call->transa,
        .transb = call->transb,
    };
    const struct xg_kernel *kernel =
        xg_select(&pipe->dev->facts, pipe->math, pipe->kernel_name, args.m, args.n, args.k);
    if (!kernel)
        return XG_ERR_NOTFOUND;
    if (!pipe->kernel)
        pipe->kernel = kernel;
    enum xg_status status = xg_launch_sgemm(pipe->dev, kernel, &args, stream);
    return status == XG_DECLINED ? XG_ERR_NOTFOUND : status;
}

static enum xg_status issue_run(struct xg_pipe *pipe, const struct xg_plan_run *run)
{
    const struct xg_plan *plan = pipe->plan;
    const struct xg_drv *drv = &pipe->dev->drv;
    CUstream stream = pipe->streams[XG_PIPE_RUN + run->tile % pipe->run_streams];
    enum xg_status status = wait_for_operands(pipe, run, stream);
    if (status == XG_OK)
        status = launch(pipe, run, stream);
    if (status == XG_OK && run->reused) {
        status =
            XG_DRV(drv, cuEventRecord, load_events(pipe, &plan->loads[run->a_load])->spent, stream);
        if (status == XG_OK)
            status = XG_DRV(drv, cuEventRecord, load_events(pipe, &plan->loads[run->b_load])->spent,
                            stream);
    }
    if (status == XG_OK && run->last)
        status = XG_DRV(drv, cuEventRecord, tile_events(pipe, run->tile)->ready[0], stream);
    return status;
}

/* Launches every run that has become possible, in order. */
static void advance_locked(struct xg_pipe *pipe)
{
    const struct xg_plan *plan = pipe->plan;
    int64_t before = pipe->run_next;
    while (pipe->status == XG_OK && pipe->run_next < plan->run_count) {
        const struct xg_plan_run *run = &plan->runs[pipe->run_next];
        if (!run_possible(pipe, run))
            break;
        fail_locked(pipe, issue_run(pipe, run));
        pipe->run_next++;
        if (run->last)
            pipe->tiles_final++;
    }
    if (pipe->run_next > before)
        pthread_cond_broadcast(&pipe->changed);
}

/* --- Loads --------------------------------------------------------------------------------- */

/* The slot's earlier panel must have been read before the first row of the new one arrives. */
static enum xg_status wait_for_readers(const struct xg_pipe *pipe, const struct xg_plan_load *load)
{
    enum xg_status status = XG_OK;
    for (int s = 0; s < XG_PIPE_UP_STREAMS && status == XG_OK; s++)
        status = XG_DRV(&pipe->dev->drv, cuStreamWaitEvent, pipe->streams[XG_PIPE_UP + s],
                        load_events(pipe, load)->spent, 0);
    return status;
}

bool xg_pipe_take_load(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk)
{
    const struct xg_plan *plan = pipe->plan;
    bool taken = false;
    pthread_mutex_lock(&pipe->lock);
    if (pipe->status != XG_OK || pipe->load_next == plan->load_count)
        goto unlock;
    const struct xg_plan_load *load = &plan->loads[pipe->load_next];
    if (load->after_run >= pipe->run_next)
        goto unlock;
    if (load->after_run >= 0 && pipe->load_row == 0) {
        enum xg_status status = wait_for_readers(pipe, load);
        if (status != XG_OK) {
            fail_locked(pipe, status);
            goto unlock;
        }
    }
    *chunk = whole_load(pipe, pipe->load_next);
    int64_t rows = chunk->rows;
    narrow(chunk, pipe->load_bytes, pipe->load_row);
    pipe->load_row += chunk->rows;
    if (pipe->load_row == rows) {
        pipe->load_next++;
        pipe->load_row = 0;
    }
    taken = true;
unlock:
    pthread_mutex_unlock(&pipe->lock);
    return taken;
}

void xg_pipe_load(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk, const float *staged,
                  CUevent copied)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    const struct xg_plan_load *load = &pipe->plan->loads[chunk->item];
    /* By the chunk's place, not by worker: a product always takes the same road. */
    size_t at = (size_t)(chunk->device - pipe->base) / pipe->load_bytes;
    CUstream stream = pipe->streams[XG_PIPE_UP + at % XG_PIPE_UP_STREAMS];
    enum xg_status status =
        XG_DRV(drv, cuMemcpyHtoDAsync, chunk->device, staged, chunk_bytes(chunk), stream);
    if (status == XG_OK)
        status = XG_DRV(drv, cuEventRecord, copied, stream);

    pthread_mutex_lock(&pipe->lock);
    pipe->up_bytes += chunk_bytes(chunk);
    pipe->load_rows_left[chunk->item] -= chunk->rows;
    if (pipe->load_rows_left[chunk->item] == 0) {
        for (int s = 0; s < XG_PIPE_UP_STREAMS && status == XG_OK; s++)
            status = XG_DRV(drv, cuEventRecord, load_events(pipe, load)->ready[s],
                            pipe->streams[XG_PIPE_UP + s]);
    }
    fail_locked(pipe, status);
    advance_locked(pipe);
    pthread_mutex_unlock(&pipe->lock);
}

/* --- Write-backs --------------------------------------------------------------------------- */

static enum xg_status enqueue_store(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk,
                                    bool first, bool last, float *staged, CUevent copied)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    CUstream down = pipe->streams[XG_PIPE_DOWN];
    const struct xg_pipe_events *events = tile_events(pipe, chunk->item);
    enum xg_status status = XG_OK;
    if (first)
        status = XG_DRV(drv, cuStreamWaitEvent, down, events->ready[0], 0);
    if (status == XG_OK)
        status = XG_DRV(drv, cuMemcpyDtoHAsync, staged, chunk->device, chunk_bytes(chunk), down);
    if (status == XG_OK)
        status = XG_DRV(drv, cuEventRecord, copied, down);
    if (status == XG_OK && last)
        status = XG_DRV(drv, cuEventRecord, events->spent, down);
    return status;
}

bool xg_pipe_take_store(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk, float *staged,
                        CUevent copied)
{
    bool taken = false;
    /*
     * Enqueued under the lock: the stream must see the chunks in tile order, or the rest of a tile
     * would wait behind the next tile's kernel.
     */
    pthread_mutex_lock(&pipe->lock);
    if (pipe->status != XG_OK || pipe->tile_next == pipe->tiles_final)
        goto unlock;
    *chunk = whole_tile(pipe, pipe->tile_next);
    int64_t rows = chunk->rows, row = pipe->tile_row;
    narrow(chunk, pipe->store_bytes, row);
    bool last = row + chunk->rows == rows;
    enum xg_status status = enqueue_store(pipe, chunk, row == 0, last, staged, copied);
    if (status != XG_OK) {
        fail_locked(pipe, status);
        goto unlock;
    }
    taken = true;
    pipe->down_bytes += chunk_bytes(chunk);
    pipe->tile_row = last ? 0 : row + chunk->rows;
    if (last) {
        pipe->tile_next++;
        advance_locked(pipe); /* the slot may take its next tile */
        pthread_cond_broadcast(&pipe->changed);
    }
unlock:
    pthread_mutex_unlock(&pipe->lock);
    return taken;
}

/* --- Waiting ------------------------------------------------------------------------------- */

bool xg_pipe_wait(struct xg_pipe *pipe)
{
    const struct xg_plan *plan = pipe->plan;
    bool more;
    pthread_mutex_lock(&pipe->lock);
    for (;;) {
        more = pipe->status == XG_OK &&
               (pipe->load_next < plan->load_count || pipe->tile_next < plan->tile_count);
        bool load = pipe->load_next < plan->load_count &&
                    plan->loads[pipe->load_next].after_run < pipe->run_next;
        if (!more || load || pipe->tile_next < pipe->tiles_final)
            break;
        pthread_cond_wait(&pipe->changed, &pipe->lock);
    }
    pthread_mutex_unlock(&pipe->lock);
    return more;
}
