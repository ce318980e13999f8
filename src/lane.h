/* SPDX-License-Identifier: MIT */
/* A lane's resources: streams, events, device memory, staging blocks and team. Internal to gemm. */
#ifndef XG_LANE_H
#define XG_LANE_H

#include "belt.h"
#include "dev.h"
#include "mem.h"
#include "memo.h"
#include "pipe.h"
#include "team.h"

struct xg_lane {
    struct xg_dev *dev;
    struct xg_team *team;
    int workers;                                 /* of the team, at most */
    struct xg_belt_block blocks[XG_BELT_BLOCKS]; /* page-locked once (0.5 s a GiB) and kept */
    CUstream streams[XG_PIPE_STREAMS];
    struct xg_mem_dev memory; /* of the plan: operands and tiles */
    struct xg_pipe_events *events;
    int event_count;
    struct xg_memo memo;
    uint32_t *refusals; /* XG_PRODUCT_REFUSALS, page-locked */
    int wary;           /* so many products that are split get all kinds of pieces */
};

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
