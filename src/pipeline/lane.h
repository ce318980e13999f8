/* SPDX-License-Identifier: MIT */
/* A lane: the resources of one call at a time on a device, kept between calls. */
#ifndef XG_LANE_H
#define XG_LANE_H

#include "decide/recent.h"
#include "device/dev.h"
#include "device/mem.h"
#include "host/team.h"
#include "pipeline/originals.h"
#include "pipeline/pipe.h"
#include "pipeline/queue.h"

struct xg_solver;

/*
 * What one call needs on the device: streams, device memory, blocks of page-locked memory, a
 * staging team. It serves one call at a time and is kept between calls. Several lanes of one device
 * work at once.
 */
struct xg_lane {
    struct xg_dev *dev;
    struct xg_team *team;
    int workers;                                   /* the most threads of the team that work */
    struct xg_queue_block blocks[XG_QUEUE_BLOCKS]; /* page-locked once (0.5 s per GiB) and kept */
    int block_count; /* fewer where the system allows less page-locked memory, as WSL2 may */
    CUstream streams[XG_PIPE_STREAMS];
    struct xg_mem_dev memory; /* the plan's operands and tiles */
    struct xg_pipe_events *events;
    int event_count;
    uint32_t *refusals;       /* XG_RUNNER_REFUSALS, page-locked */
    struct xg_solver *solver; /* NULL until a routine of LAPACK runs */
    void *host_work;          /* the solver's workspace; page-locked, so that freeing it waits for
                               * the device */
    size_t host_work_bytes;
    struct xg_originals_memory originals; /* of the last routine's operands */
    struct xg_recent recent;              /* selections for the last calls */
    int all_kinds_left;                   /* split products that still get all kinds of pieces */
    struct xg_lane_polar {
        int64_t m, n;
        enum xg_type type;
        int inexact; /* calls of this shape in a row for which Xgesvdp was not exact */
        int skipped; /* calls since then that did not try it */
    } polar;         /* of GESDD: see pipeline/factor.c */
};

/*
 * threads: size of the staging team, the calling thread included; >= 1. *out is set only on XG_OK.
 * Returns XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_SYSTEM. The memory is allocated
 * later, by xg_lane_prepare or by the first product.
 */
enum xg_status xg_lane_create(struct xg_dev *dev, int threads, struct xg_lane **out);

/*
 * Preallocates the page-locked blocks, which every product needs: 30 ms, or 80 ms among threads
 * that spin. The first product allocates those that are missing.
 */
void xg_lane_prepare(struct xg_lane *lane);

/*
 * Sets how many of the lane's threads (>= 1, the caller included) stage the next products at most:
 * lanes that work at the same time share the cores. Must not be called while a product runs.
 */
void xg_lane_limit(struct xg_lane *lane, int workers);

/* Joins the team, waits for the device and frees everything. */
void xg_lane_destroy(struct xg_lane *lane);

/* Ends the team and leaks everything else, because the device does not answer and may still use
 * it. */
void xg_lane_abandon(struct xg_lane *lane);

/* Readies the lane for a plan: device memory for its slots, events, staging buffers. The context
 * must be current. Returns XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_lane_reserve(struct xg_lane *lane, const struct xg_plan *plan,
                               size_t device_bytes);

/* The same for device memory, staging buffers and the solver's workspace in host memory only. No
 * work may be queued. */
enum xg_status xg_lane_reserve_memory(struct xg_lane *lane, size_t device_bytes, size_t host_bytes);

/*
 * Waits until the device has finished all work of the lane. Returns XG_OK, the first failure seen,
 * or XG_ERR_HUNG (xg_dev_await): then copies from and to the lane's blocks may still be running.
 */
enum xg_status xg_lane_drain(struct xg_lane *lane, double limit_s);

#endif
