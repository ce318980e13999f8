/* SPDX-License-Identifier: MIT */
/* A lane: what one call at a time needs of a device, kept between calls. */
#ifndef XG_LANE_H
#define XG_LANE_H

#include "device/dev.h"
#include "device/mem.h"
#include "host/team.h"
#include "pipeline/pipe.h"
#include "pipeline/queue.h"

/*
 * A lane: everything that one call at a time needs of the device (streams, device memory, rings of
 * page-locked memory, a staging team), kept between calls. Several lanes on one device run at once.
 */
struct xg_lane {
    struct xg_dev *dev;
    struct xg_team *team;
    int workers;                                   /* of the team, at most */
    struct xg_queue_block blocks[XG_QUEUE_BLOCKS]; /* page-locked once (0.5 s a GiB) and kept */
    CUstream streams[XG_PIPE_STREAMS];
    struct xg_mem_dev memory; /* of the plan: operands and tiles */
    struct xg_pipe_events *events;
    int event_count;
    uint32_t *refusals; /* XG_PRODUCT_REFUSALS, page-locked */
    int wary;           /* so many products that are split get all kinds of pieces */
};

/*
 * threads: size of the staging team, the calling thread included; >= 1. *out set only on XG_OK.
 * XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_SYSTEM. Memory is taken by
 * xg_lane_prepare, or at the first product.
 */
enum xg_status xg_lane_create(struct xg_dev *dev, int threads, struct xg_lane **out);

/*
 * Takes what every product needs and takes long to get, as far as it is to be had: its page-locked
 * blocks, 30 ms, and 80 among threads that spin. What is missing the first product takes.
 */
void xg_lane_prepare(struct xg_lane *lane);

/*
 * At most so many of its threads, the caller included, stage the next products: >= 1. Lanes at work
 * at the same time share the cores. Not while a product runs.
 */
void xg_lane_limit(struct xg_lane *lane, int workers);

/* Joins the team, waits for the device and frees everything. */
void xg_lane_destroy(struct xg_lane *lane);

/* Ends the team, and leaves all else to the device, which does not answer. */
void xg_lane_abandon(struct xg_lane *lane);

/* Makes the lane ready for a plan: device memory for its slots, events, staging buffers.
 * XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The context must be current. */
enum xg_status xg_lane_reserve(struct xg_lane *lane, const struct xg_plan *plan,
                               size_t device_bytes);

/*
 * Waits until nothing of the lane is under way on the device. Returns the first failure seen;
 * XG_ERR_HUNG where the device gets nothing done for as long as dev->timeout_s: then copies from
 * and to the lane's blocks may still be under way.
 */
enum xg_status xg_lane_drain(struct xg_lane *lane);

#endif
