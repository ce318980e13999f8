/* SPDX-License-Identifier: MIT */
#include "pipeline/lane.h"

#include <stdlib.h>

#include "base/log.h"
#include "compute/solver.h"
#include "resident/room.h"

static enum xg_status create_streams(struct xg_lane *lane)
{
    enum xg_status status = XG_OK;
    for (int i = 0; i < XG_PIPE_STREAMS && status == XG_OK; i++) {
        CUstream stream = NULL;
        status = XG_DRV(&lane->dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
        if (status == XG_OK)
            lane->streams[i] = stream;
    }
    return status;
}

static void destroy_streams(struct xg_lane *lane)
{
    for (int i = 0; i < XG_PIPE_STREAMS; i++)
        if (lane->streams[i])
            XG_DRV(&lane->dev->drv, cuStreamDestroy, lane->streams[i]);
}

enum xg_status xg_lane_create(struct xg_dev *dev, int threads, struct xg_lane **out)
{
    struct xg_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return XG_ERR_NOMEM;
    lane->dev = dev;
    lane->block_count = XG_QUEUE_BLOCKS;
    int before;
    enum xg_status status = xg_team_create(threads, &lane->team);
    if (status != XG_OK)
        goto free_lane;
    lane->workers = xg_team_size(lane->team);
    status = xg_dev_begin(dev, &before);
    if (status != XG_OK)
        goto destroy_team;
    status = create_streams(lane);
    xg_dev_end(dev, before);
    if (status != XG_OK) {
        xg_lane_destroy(lane);
        return status;
    }
    *out = lane;
    return XG_OK;

destroy_team:
    xg_team_destroy(lane->team);
free_lane:
    free(lane);
    return status;
}

void xg_lane_limit(struct xg_lane *lane, int workers)
{
    lane->workers = (int)xg_max_i64(1, xg_min_i64(workers, xg_team_size(lane->team)));
}

static void destroy_event(struct xg_lane *lane, CUevent event)
{
    if (event)
        XG_DRV(&lane->dev->drv, cuEventDestroy, event);
}

static void release_blocks(struct xg_lane *lane)
{
    for (int i = 0; i < XG_QUEUE_BLOCKS; i++) {
        destroy_event(lane, lane->blocks[i].copied);
        xg_mem_pinned_free(lane->dev, lane->blocks[i].host);
    }
    xg_mem_pinned_free(lane->dev, lane->refusals);
    xg_mem_pinned_free(lane->dev, lane->host_work);
}

static void release_events(struct xg_lane *lane)
{
    for (int i = 0; i < lane->event_count; i++) {
        destroy_event(lane, lane->events[i].ready);
        destroy_event(lane, lane->events[i].spent);
    }
}

void xg_lane_abandon(struct xg_lane *lane)
{
    xg_team_destroy(lane->team);
}

/* The lane's streams are idle here: a failed product has drained them. */
void xg_lane_destroy(struct xg_lane *lane)
{
    int before;
    if (xg_dev_begin(lane->dev, &before) == XG_OK) {
        for (int i = 0; i < XG_PIPE_STREAMS; i++)
            if (lane->streams[i])
                XG_DRV(&lane->dev->drv, cuStreamSynchronize, lane->streams[i]);
        xg_solver_destroy(lane->dev, lane->solver);
        release_blocks(lane);
        release_events(lane);
        xg_mem_dev_release(lane->dev, &lane->memory);
        destroy_streams(lane);
        xg_dev_end(lane->dev, before);
    } else {
        xg_solver_forget(lane->solver);
    }
    xg_team_destroy(lane->team);
    xg_originals_release(&lane->originals);
    free(lane->events);
    free(lane);
}

static enum xg_status create_event(struct xg_lane *lane, CUevent *event)
{
    if (*event)
        return XG_OK;
    CUevent created = NULL;
    enum xg_status status =
        XG_DRV(&lane->dev->drv, cuEventCreate, &created, CU_EVENT_DISABLE_TIMING);
    if (status == XG_OK)
        *event = created;
    return status;
}

static enum xg_status reserve_events(struct xg_lane *lane, int count)
{
    if (count > lane->event_count) {
        struct xg_pipe_events *grown = realloc(lane->events, (size_t)count * sizeof *grown);
        if (!grown)
            return XG_ERR_NOMEM;
        for (int i = lane->event_count; i < count; i++)
            grown[i] = (struct xg_pipe_events){0};
        lane->events = grown;
        lane->event_count = count;
    }
    enum xg_status status = XG_OK;
    for (int i = 0; i < count && status == XG_OK; i++) {
        status = create_event(lane, &lane->events[i].ready);
        if (status == XG_OK)
            status = create_event(lane, &lane->events[i].spent);
    }
    return status;
}

static enum xg_status reserve_block(struct xg_lane *lane, struct xg_queue_block *block)
{
    void *host = block->host;
    enum xg_status status = create_event(lane, &block->copied);
    if (status == XG_OK && !host)
        status = xg_mem_pinned_alloc(lane->dev, XG_QUEUE_BLOCK_BYTES, &host);
    if (status == XG_OK)
        block->host = host;
    return status;
}

static enum xg_status reserve_blocks(struct xg_lane *lane)
{
    enum xg_status status = XG_OK;
    void *host;
    if (!lane->refusals) {
        status = xg_mem_pinned_alloc(lane->dev, XG_RUNNER_REFUSALS * sizeof *lane->refusals, &host);
        if (status == XG_OK)
            lane->refusals = host;
    }
    for (int i = 0; i < lane->block_count && status == XG_OK; i++) {
        status = reserve_block(lane, &lane->blocks[i]);
        if (status != XG_ERR_NOMEM || i < XG_QUEUE_BLOCKS_LEAST)
            continue;
        xg_log(XG_LOG_INFO, "page-locked memory for %d blocks of %d", i, lane->block_count);
        lane->block_count = i;
        status = XG_OK;
    }
    return status;
}

void xg_lane_prepare(struct xg_lane *lane)
{
    int before;
    if (xg_dev_begin(lane->dev, &before) == XG_OK) {
        reserve_blocks(lane);
        xg_dev_end(lane->dev, before);
    }
}

enum xg_status xg_lane_reserve_memory(struct xg_lane *lane, size_t device_bytes, size_t host_bytes)
{
    if (host_bytes > lane->host_work_bytes) {
        xg_mem_pinned_free(lane->dev, lane->host_work);
        lane->host_work = NULL;
        lane->host_work_bytes = 0;
        enum xg_status status = xg_mem_pinned_alloc(lane->dev, host_bytes, &lane->host_work);
        if (status != XG_OK)
            return status;
        lane->host_work_bytes = host_bytes;
    }
    enum xg_status status = xg_mem_dev_reserve(lane->dev, &lane->memory, device_bytes);
    if (status == XG_ERR_NOMEM && xg_room_yield(lane->dev))
        status = xg_mem_dev_reserve(lane->dev, &lane->memory, device_bytes);
    return status == XG_OK ? reserve_blocks(lane) : status;
}

enum xg_status xg_lane_reserve(struct xg_lane *lane, const struct xg_plan *plan,
                               size_t device_bytes)
{
    enum xg_status status = xg_lane_reserve_memory(lane, device_bytes, 0);
    if (status == XG_OK)
        status = reserve_events(lane, plan->a_slots + plan->b_slots + plan->c_slots);
    return status;
}

/* Records an event behind all work of the stream and waits for it. */
static enum xg_status drain_stream(struct xg_lane *lane, CUstream stream, double limit_s)
{
    const struct xg_drv *drv = &lane->dev->drv;
    CUevent event = lane->blocks[0].copied;
    enum xg_status status = event ? XG_DRV(drv, cuEventRecord, event, stream) : XG_ERR_DRIVER;
    if (status == XG_OK)
        status = xg_dev_await(lane->dev, event, 0, limit_s);
    return status == XG_OK || status == XG_ERR_HUNG ? status
                                                    : XG_DRV(drv, cuStreamSynchronize, stream);
}

enum xg_status xg_lane_drain(struct xg_lane *lane, double limit_s)
{
    enum xg_status first = XG_OK;
    for (int i = 0; i < XG_PIPE_STREAMS && first != XG_ERR_HUNG; i++) {
        if (!lane->streams[i])
            continue;
        enum xg_status status = drain_stream(lane, lane->streams[i], limit_s);
        if (first == XG_OK || status == XG_ERR_HUNG)
            first = status;
    }
    return first;
}
