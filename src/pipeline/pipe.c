/* SPDX-License-Identifier: MIT */
/* Executes a plan: hands out chunks, launches kernels, keeps the order between streams. */
#include "pipeline/pipe.h"

#include <stdlib.h>

#include "device/mem.h"

/* --- Geometry: where slots, panels and tiles lie ------------------------------------------- */

static CUdeviceptr address(const struct xg_pipe *pipe, CUdeviceptr base, size_t elems)
{
    return base + elems * (size_t)pipe->plan->elem_bytes;
}

static CUdeviceptr tile_address(const struct xg_pipe *pipe, const struct xg_plan_tile *tile)
{
    return address(pipe, pipe->tiles, (size_t)tile->slot * pipe->plan->tile_elems);
}

static const struct xg_pipe_events *panel_events(const struct xg_pipe *pipe, bool b, int slot)
{
    return &pipe->events[b ? pipe->plan->a_slots + slot : slot];
}

static const struct xg_pipe_events *tile_events(const struct xg_pipe *pipe, int64_t tile)
{
    const struct xg_plan *plan = pipe->plan;
    return &pipe->events[plan->a_slots + plan->b_slots + plan->tiles[tile].slot];
}

/* A load as one chunk of all its rows: the panel in host memory and on the device. */
static struct xg_pipe_chunk whole_load(const struct xg_pipe *pipe, int64_t item)
{
    const struct xg_plan *plan = pipe->plan;
    const struct xg_problem *call = pipe->call;
    const struct xg_plan_load *load = &plan->loads[item];
    const struct xg_plan_panel panel = xg_plan_panel(plan, call, load);
    bool b = load->b, trans = b ? call->transb : call->transa;
    struct xg_pipe_chunk chunk = {
        .item = item,
        .rows = panel.rows,
        .width = panel.columns,
        .row = panel.row,
        .column = panel.column,
        .host_ld = b ? call->ldb : call->lda,
        .device = address(pipe, pipe->runner->place[b], load->offset_elems),
        .device_ld = b ? plan->ldb : plan->lda,
        .b = b,
    };
    /* The cast is safe, because loads are only read; see xg_pipe_chunk. */
    if (!call->batch)
        chunk.host = (char *)(uintptr_t)xg_problem_at(call, b ? call->b : call->a,
                                                      chunk.row * chunk.host_ld + chunk.column);
    /* A panel that fills its rows on the device goes up as one copy, which includes the rows'
     * padding. */
    bool depth_is_rows = b != trans;
    bool alone = !plan->resident || (depth_is_rows ? (b ? plan->nt : plan->mt) : plan->kt) == 1;
    chunk.staged_ld = alone ? chunk.device_ld : xg_round_up(chunk.width, 4);
    chunk.direct = b ? pipe->direct.b : pipe->direct.a;
    chunk.structured = call->structured == (b ? XG_OPERAND_B : XG_OPERAND_A);
    return chunk;
}

static struct xg_pipe_chunk whole_tile(const struct xg_pipe *pipe, int64_t item)
{
    const struct xg_problem *call = pipe->call;
    const struct xg_plan_tile *tile = &pipe->plan->tiles[item];
    return (struct xg_pipe_chunk){
        .item = item,
        .rows = tile->rows,
        .width = tile->columns,
        .host =
            xg_problem_c_is_whole(call)
                ? (char *)call->c + (tile->row * call->ldc + tile->column) * pipe->plan->elem_bytes
                : NULL,
        .row = tile->row,
        .column = tile->column,
        .host_ld = call->ldc,
        .device = tile_address(pipe, tile),
        .device_ld = tile->ld,
        .staged_ld = tile->ld,
        .direct = pipe->direct.c,
        .done = pipe->done + pipe->done_of_tile[item],
    };
}

/*
 * Rows of a chunk when `rows` rows go in chunks of about `bytes`. Chunks are as equal as possible,
 * because a remainder of a few rows costs as much as any other chunk: a copy, and a place in the
 * order.
 */
static int64_t rows_per_chunk(const struct xg_pipe *pipe, size_t bytes, int64_t rows, int64_t ld)
{
    int64_t row_bytes = ld * pipe->plan->elem_bytes;
    int64_t wanted = xg_max_i64(1, (int64_t)bytes / row_bytes);
    int64_t most = xg_max_i64(1, (int64_t)pipe->block_bytes / row_bytes);
    int64_t chunks = xg_max_i64((rows + wanted / 2) / wanted, xg_ceil_div(rows, most));
    return xg_ceil_div(rows, xg_max_i64(1, chunks));
}

/* The first rows of a panel from `row` on that go up; count 0: there are none. */
static struct xg_table_rows next_rows(const struct xg_pipe *pipe, const struct xg_pipe_chunk *panel,
                                      int64_t row)
{
    const struct xg_pipe_travel *travel = &pipe->travel[panel->b];
    if (!travel->rows)
        return (struct xg_table_rows){row, panel->rows - row};
    for (int i = 0; i < travel->count; i++) {
        const struct xg_table_rows *rows = &travel->rows[i];
        const int64_t first = xg_max_i64(row, rows->first - panel->row);
        const int64_t end = xg_min_i64(panel->rows, rows->first + rows->count - panel->row);
        if (first < end)
            return (struct xg_table_rows){first, end - first};
    }
    return (struct xg_table_rows){panel->rows, 0};
}

/* Moves on to the next load with rows that go up, and to the first of them. */
static void step_over(struct xg_pipe *pipe)
{
    for (; pipe->load_next < pipe->plan->load_count; pipe->load_next++, pipe->load_row = 0) {
        const struct xg_pipe_chunk panel = whole_load(pipe, pipe->load_next);
        const struct xg_table_rows rows = next_rows(pipe, &panel, pipe->load_row);
        pipe->load_row = rows.first;
        if (rows.count > 0)
            return;
    }
}

/* The last tile's chunks are smaller by this factor: only its own commits can hide its copy. */
enum { LAST_PARTS = 3 };

int64_t xg_pipe_rows_per_chunk(const struct xg_pipe *pipe, const struct xg_plan_tile *tile)
{
    bool last = tile == &pipe->plan->tiles[pipe->plan->tile_count - 1];
    size_t bytes = last ? pipe->store_bytes / LAST_PARTS : pipe->store_bytes;
    return rows_per_chunk(pipe, bytes, tile->rows, tile->ld);
}

/* Narrows a whole load or tile to at most `rows` rows from `row` on. */
static void narrow(const struct xg_pipe *pipe, struct xg_pipe_chunk *chunk, int64_t row,
                   int64_t rows)
{
    chunk->rows = xg_min_i64(rows, chunk->rows - row);
    if (chunk->host)
        chunk->host += row * chunk->host_ld * pipe->plan->elem_bytes;
    chunk->row += row;
    chunk->device = address(pipe, chunk->device, (size_t)(row * chunk->device_ld));
    if (chunk->done)
        chunk->done += row / rows;
}

/* The first chunk of a product is small, so that the link starts early. Each next chunk is half as
 * large again, up to load_bytes; if chunks doubled, the link would wait for them to be packed. */
static const size_t RAMP_BYTES = 384 << 10;

static size_t chunk_bytes(const struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk)
{
    return (size_t)(chunk->rows * chunk->staged_ld * pipe->plan->elem_bytes);
}

/* --- Life ---------------------------------------------------------------------------------- */

/* Places each tile's flags in pipe->done and returns the number of flags. */
static int64_t place_flags(struct xg_pipe *pipe)
{
    int64_t flags = 0;
    for (int64_t item = 0; item < pipe->plan->tile_count; item++) {
        const struct xg_plan_tile *tile = &pipe->plan->tiles[item];
        pipe->done_of_tile[item] = flags;
        flags += xg_ceil_div(tile->rows, xg_pipe_rows_per_chunk(pipe, tile));
    }
    return flags;
}

enum xg_status xg_pipe_init(struct xg_pipe *pipe)
{
    const struct xg_plan *plan = pipe->plan;
    /* If panels are replaced, kernels use one stream, so that a panel's last reader runs behind its
     * other readers; a batch's panel has a single reader. Products of residues also use one,
     * because they share memory. */
    bool together = (plan->resident || pipe->call->batch) && !pipe->runner->residue;
    pipe->run_streams = together ? XG_PIPE_RUN_STREAMS : 1;
    pipe->load_ramp_bytes = RAMP_BYTES;
    pipe->load_rows_left = malloc((size_t)plan->load_count * sizeof *pipe->load_rows_left);
    pipe->done_of_tile = malloc((size_t)plan->tile_count * sizeof *pipe->done_of_tile);
    pipe->done = pipe->done_of_tile ? calloc((size_t)place_flags(pipe), 1) : NULL;
    if (!pipe->done || !pipe->load_rows_left) {
        free(pipe->done);
        free(pipe->done_of_tile);
        free(pipe->load_rows_left);
        return XG_ERR_NOMEM;
    }
    for (int64_t i = 0; i < plan->load_count; i++) {
        struct xg_pipe_chunk panel = whole_load(pipe, i);
        int64_t left = 0;
        for (struct xg_table_rows rows = {0, 0};
             (rows = next_rows(pipe, &panel, rows.first + rows.count)).count > 0;)
            left += rows.count;
        pipe->load_rows_left[i] = panel.rows = left;
        pipe->load_bytes_left += chunk_bytes(pipe, &panel);
    }
    step_over(pipe);
    return XG_OK;
}

void xg_pipe_fini(struct xg_pipe *pipe)
{
    free(pipe->load_rows_left);
    free(pipe->done_of_tile);
    free(pipe->done);
}

void xg_pipe_fail(struct xg_pipe *pipe, enum xg_status status)
{
    if (pipe->status == XG_OK)
        pipe->status = status;
}

/* --- Runs ---------------------------------------------------------------------------------- */

static bool run_possible(const struct xg_pipe *pipe, const struct xg_plan_run *run)
{
    /* The write-back of the slot's earlier tile must be enqueued, because the run waits for its
     * event. */
    return run->after_load < pipe->loads_ready &&
           (!run->first || pipe->plan->tiles[run->tile].after_tile < pipe->tile_next);
}

/* Makes the stream wait for the operands and for the tile's slot. */
static enum xg_status wait_for_memory(const struct xg_pipe *pipe, const struct xg_plan_run *run,
                                      CUstream stream)
{
    const struct xg_plan_load *load = &pipe->plan->loads[run->after_load];
    const struct xg_pipe_events *events = panel_events(pipe, load->b, load->slot);
    enum xg_status status = XG_DRV(&pipe->dev->drv, cuStreamWaitEvent, stream, events->ready, 0);
    if (status == XG_OK && run->first && pipe->plan->tiles[run->tile].after_tile >= 0)
        status = XG_DRV(&pipe->dev->drv, cuStreamWaitEvent, stream,
                        tile_events(pipe, run->tile)->spent, 0);
    return status;
}

/* SYR2K: the run has read these panels as well. */
static enum xg_status record_others(const struct xg_pipe *pipe, const struct xg_plan_run *run,
                                    CUstream stream)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    enum xg_status status =
        XG_DRV(drv, cuEventRecord, panel_events(pipe, false, run->a_other_slot)->spent, stream);
    if (status == XG_OK)
        status =
            XG_DRV(drv, cuEventRecord, panel_events(pipe, true, run->b_other_slot)->spent, stream);
    return status;
}

static enum xg_status issue_run(struct xg_pipe *pipe, const struct xg_plan_run *run)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    CUstream stream = pipe->streams[XG_PIPE_RUN + run->tile % pipe->run_streams];
    enum xg_status status = wait_for_memory(pipe, run, stream);
    if (status == XG_OK)
        status = xg_runner_run(pipe->runner, run, tile_address(pipe, &pipe->plan->tiles[run->tile]),
                               stream);
    if (status == XG_OK && run->spends)
        status = XG_DRV(drv, cuEventRecord, panel_events(pipe, false, run->a_slot)->spent, stream);
    if (status == XG_OK && run->spends)
        status = XG_DRV(drv, cuEventRecord,
                        panel_events(pipe, !pipe->plan->b_is_a, run->b_slot)->spent, stream);
    if (status == XG_OK && run->spends && xg_problem_is_rank_2k(pipe->call))
        status = record_others(pipe, run, stream);
    if (status == XG_OK && run->last)
        status = XG_DRV(drv, cuEventRecord, tile_events(pipe, run->tile)->ready, stream);
    return status;
}

/* Whether the tile is computed already while the refused tiles are computed again. */
static bool is_computed(const struct xg_pipe *pipe, int64_t tile)
{
    return pipe->again && !xg_runner_refused(pipe->runner, tile);
}

/* Launches the next runs that have become possible, in order. */
static void launch_runs(struct xg_pipe *pipe)
{
    const struct xg_plan *plan = pipe->plan;
    while (pipe->status == XG_OK && pipe->run_next < plan->run_count) {
        const struct xg_plan_run *run = &plan->runs[pipe->run_next];
        if (!run_possible(pipe, run))
            break;
        if (!is_computed(pipe, run->tile))
            xg_pipe_fail(pipe, issue_run(pipe, run));
        pipe->run_next++;
        if (run->last)
            pipe->tiles_launched++;
    }
}

/* Launches every run that has become possible. Skipping a computed tile makes more runs possible.
 */
static void advance(struct xg_pipe *pipe)
{
    launch_runs(pipe);
    while (pipe->tile_next < pipe->tiles_launched && is_computed(pipe, pipe->tile_next)) {
        pipe->tile_next++;
        launch_runs(pipe);
    }
}

/* --- Loads --------------------------------------------------------------------------------- */

bool xg_pipe_take_load(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk)
{
    const struct xg_plan *plan = pipe->plan;
    if (pipe->status != XG_OK || xg_pipe_is_loaded(pipe))
        return false;
    const struct xg_plan_load *load = &plan->loads[pipe->load_next];
    if (load->after_run >= pipe->run_next)
        return false;
    if (load->after_run >= 0 && pipe->load_row == 0) {
        /* The runs must have read the slot's earlier panel before the new panel's first row
         * arrives. */
        enum xg_status status =
            XG_DRV(&pipe->dev->drv, cuStreamWaitEvent, pipe->streams[XG_PIPE_UP],
                   panel_events(pipe, load->b, load->slot)->spent, 0);
        xg_pipe_fail(pipe, status);
        if (status != XG_OK)
            return false;
    }
    *chunk = whole_load(pipe, pipe->load_next);
    const int64_t rows = next_rows(pipe, chunk, pipe->load_row).count;
    bool ramp = !chunk->direct && pipe->load_ramp_bytes < pipe->load_bytes;
    narrow(pipe, chunk, pipe->load_row,
           rows_per_chunk(pipe, ramp ? pipe->load_ramp_bytes : pipe->load_bytes, rows,
                          chunk->staged_ld));
    if (ramp)
        pipe->load_ramp_bytes += pipe->load_ramp_bytes / 2;
    pipe->load_bytes_left -= chunk_bytes(pipe, chunk);
    pipe->load_row += chunk->rows;
    step_over(pipe);
    return true;
}

/*
 * Enqueues the copy of a chunk's rows, up or down. On the host the rows lie in a block or, if the
 * chunk is direct, in the caller's matrix.
 */
static enum xg_status copy_rows(const struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk,
                                char *staged, bool up)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    CUstream stream = pipe->streams[up ? XG_PIPE_UP : XG_PIPE_DOWN];
    void *host = chunk->direct ? chunk->host : staged;
    int64_t host_ld = chunk->direct ? chunk->host_ld : chunk->staged_ld;
    int64_t width = chunk->direct ? chunk->width : chunk->staged_ld;
    size_t host_pitch = (size_t)(host_ld * pipe->plan->elem_bytes);
    size_t bytes = (size_t)(width * pipe->plan->elem_bytes);
    size_t pitch = (size_t)(chunk->device_ld * pipe->plan->elem_bytes), rows = (size_t)chunk->rows;
    if (host_pitch == pitch && bytes == pitch)
        return up ? XG_DRV(drv, cuMemcpyHtoDAsync, chunk->device, host, bytes * rows, stream)
                  : XG_DRV(drv, cuMemcpyDtoHAsync, host, chunk->device, bytes * rows, stream);
    return xg_mem_host_copy(pipe->dev, up, chunk->device, pitch, host, host_pitch, bytes, rows,
                            stream);
}

/*
 * Records `ready` for each load whose chunks are all enqueued. `copied` is the event behind the
 * last chunk enqueued, and so behind all of them; NULL: there is none yet. If panels are split,
 * `ready` follows the split.
 */
static enum xg_status mark_ready(struct xg_pipe *pipe, CUevent copied)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    const struct xg_plan *plan = pipe->plan;
    bool splits = xg_runner_splits(pipe->runner);
    CUstream stream = pipe->streams[splits ? XG_PIPE_SPLIT : XG_PIPE_UP];
    enum xg_status status = XG_OK;
    while (pipe->loads_ready < plan->load_count && !pipe->load_rows_left[pipe->loads_ready] &&
           status == XG_OK) {
        const struct xg_plan_load *load = &plan->loads[pipe->loads_ready++];
        if (splits && copied)
            status = XG_DRV(drv, cuStreamWaitEvent, stream, copied, 0);
        if (splits && status == XG_OK)
            status = xg_runner_arrived(pipe->runner, load, stream);
        if (status == XG_OK)
            status =
                XG_DRV(drv, cuEventRecord, panel_events(pipe, load->b, load->slot)->ready, stream);
    }
    return status;
}

void xg_pipe_begin(struct xg_pipe *pipe)
{
    xg_pipe_fail(pipe, mark_ready(pipe, NULL));
    advance(pipe);
}

bool xg_pipe_is_loaded(const struct xg_pipe *pipe)
{
    return pipe->load_next == pipe->plan->load_count;
}

void xg_pipe_load(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk, char *staged,
                  CUevent copied)
{
    if (pipe->status != XG_OK)
        return;
    enum xg_status status = copy_rows(pipe, chunk, staged, true);
    if (status == XG_OK)
        status = XG_DRV(&pipe->dev->drv, cuEventRecord, copied, pipe->streams[XG_PIPE_UP]);
    pipe->up_bytes += chunk_bytes(pipe, chunk);
    pipe->load_rows_left[chunk->item] -= chunk->rows;
    xg_pipe_fail(pipe, status == XG_OK ? mark_ready(pipe, copied) : status);
    advance(pipe);
}

/* --- Write-backs --------------------------------------------------------------------------- */

static enum xg_status enqueue_store(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk,
                                    bool first, bool last, char *staged, CUevent copied)
{
    const struct xg_drv *drv = &pipe->dev->drv;
    CUstream down = pipe->streams[XG_PIPE_DOWN];
    const struct xg_pipe_events *events = tile_events(pipe, chunk->item);
    enum xg_status status = XG_OK;
    if (first)
        status = XG_DRV(drv, cuStreamWaitEvent, down, events->ready, 0);
    if (status == XG_OK)
        status = copy_rows(pipe, chunk, staged, false);
    if (status == XG_OK)
        status = XG_DRV(drv, cuEventRecord, copied, down);
    bool awaited =
        chunk->item + pipe->plan->c_slots < pipe->plan->tile_count; /* the slot's next tile waits
                                                                     * for it */
    if (status == XG_OK && last && awaited)
        status = XG_DRV(drv, cuEventRecord, events->spent, down);
    return status;
}

bool xg_pipe_has_store(const struct xg_pipe *pipe)
{
    return pipe->status == XG_OK && pipe->tile_next < pipe->tiles_launched;
}

bool xg_pipe_take_store(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk, char *staged,
                        CUevent copied)
{
    if (!xg_pipe_has_store(pipe))
        return false;
    const struct xg_plan_tile *tile = &pipe->plan->tiles[pipe->tile_next];
    *chunk = whole_tile(pipe, pipe->tile_next);
    int64_t rows = chunk->rows, row = pipe->tile_row, step = xg_pipe_rows_per_chunk(pipe, tile);
    bool last = row + step >= rows;
    int64_t first =
        xg_problem_ascends(pipe->call) ? (xg_ceil_div(rows, step) - 1) * step - row : row;
    narrow(pipe, chunk, first, step);
    xg_pipe_fail(pipe, enqueue_store(pipe, chunk, row == 0, last, staged, copied));
    if (pipe->status != XG_OK)
        return false;
    pipe->down_bytes += chunk_bytes(pipe, chunk);
    pipe->tile_row = last ? 0 : row + step;
    if (last) {
        pipe->tile_next++;
        advance(pipe); /* the slot's next tile may now be possible */
    }
    return true;
}

bool xg_pipe_refused(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk)
{
    if (pipe->again || !xg_runner_refused(pipe->runner, chunk->item))
        return false;
    pipe->refused = true;
    xg_runner_want_all(pipe->runner); /* the next tiles hold similar numbers */
    return true;
}

bool xg_pipe_again(struct xg_pipe *pipe)
{
    if (!pipe->refused || pipe->again || pipe->status != XG_OK)
        return false;
    pipe->again = true;
    pipe->run_next = pipe->tile_next = pipe->tile_row = pipe->tiles_launched = 0;
    advance(pipe);
    return true;
}

bool xg_pipe_exhausted(const struct xg_pipe *pipe)
{
    return pipe->status != XG_OK ||
           (xg_pipe_is_loaded(pipe) && pipe->tile_next == pipe->plan->tile_count);
}
