/* SPDX-License-Identifier: MIT */
/* A lane's resources: streams, events, device memory, staging rings and team. Internal to gemm. */
#ifndef XG_LANE_H
#define XG_LANE_H

#include "dev.h"
#include "mem.h"
#include "pipe.h"
#include "team.h"

/*
 * Staging buffers: 2 MiB is where copies over PCIe reach the link's rate; four a worker keep two in
 * flight while one is filled and one emptied. They are page-locked once (0.5 s a GiB) and kept.
 */
enum { XG_LANE_BUFFERS = 4, XG_LANE_BUFFER_BYTES = 2 << 20 };

struct xg_lane_buffer {
    float *host; /* page-locked, XG_LANE_BUFFER_BYTES */
    CUevent copied;
    enum { XG_BUFFER_FREE, XG_BUFFER_LOADING, XG_BUFFER_STORING } use;
    struct xg_pipe_chunk chunk; /* STORING: where the rows go */
    unsigned long turn;         /* when it was put to use: the oldest is waited for first */
};

struct xg_lane_worker {
    struct xg_lane_buffer buffers[XG_LANE_BUFFERS];
    unsigned long turns;
};

struct xg_lane {
    struct xg_dev *dev;
    struct xg_team *team;
    struct xg_lane_worker *workers; /* one a member of the team */
    CUstream streams[XG_PIPE_STREAMS];
    struct xg_mem_dev memory; /* of the plan: operands and tiles */
    struct xg_pipe_events *events;
    int event_count;
};

/* Makes the lane ready for a plan: device memory for its slots, events, staging buffers.
 * XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The context must be current. */
enum xg_status xg_lane_reserve(struct xg_lane *lane, const struct xg_plan *plan);

/* Waits until nothing of the lane is under way on the device. Returns the first failure seen. */
enum xg_status xg_lane_drain(struct xg_lane *lane);

#endif
