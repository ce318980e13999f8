/* SPDX-License-Identifier: MIT */
/* One product on its way through a lane: what may move next, what is done, what has failed. */
#ifndef XG_PIPE_H
#define XG_PIPE_H

#include "base/xg.h"
#include "compute/product.h"
#include "decide/plan.h"
#include "decide/staging.h"
#include "device/dev.h"

/*
 * A lane's streams, by index: loads in order on one, the splits of panels in order on one, kernels
 * over several where tiles are independent (small tiles then share the device), write-backs in
 * order on one.
 */
enum {
    XG_PIPE_UP,
    XG_PIPE_DOWN,
    XG_PIPE_SPLIT,
    XG_PIPE_RUN,
    XG_PIPE_RUN_STREAMS = 8,
    XG_PIPE_STREAMS = XG_PIPE_RUN + XG_PIPE_RUN_STREAMS
};

/* Events of one slot; index as the plan counts slots, A's first, then B's, then C's. */
struct xg_pipe_events {
    CUevent ready; /* panel: runs may read it; tile: its value is final */
    CUevent spent; /* panel: its last reader is done; tile: it left the device */
};

/* Rows of a panel on their way up, or of a tile on their way down; leading dimensions in elements.
 */
struct xg_pipe_chunk {
    int64_t item; /* index into the plan's loads or tiles */
    int64_t rows, width;
    char *host; /* the first element in the caller's matrix; loads only read it; of a batch NULL,
                   unless its C lies as one */
    int64_t host_ld;
    int64_t row, column; /* of the first element in its matrix, as that is stored */
    CUdeviceptr device;  /* the first element on the device */
    int64_t device_ld;
    int64_t staged_ld;   /* in the block: device_ld where rows follow each other */
    bool b;              /* of a load: of B's panel */
    bool structured;     /* of the operand that has a structure: to be made whole (triangle.h) */
    bool direct;         /* host is page-locked: no block in between, rows move as they lie there */
    unsigned char *done; /* of a tile: to be set when the rows are in the caller's memory */
};

struct xg_pipe {
    /* Constant while the product runs. */
    struct xg_dev *dev;
    const struct xg_problem *call;
    const struct xg_plan *plan;
    struct xg_product *product;
    const CUstream *streams; /* XG_PIPE_STREAMS of the lane's */
    int run_streams;
    const struct xg_pipe_events *events;
    CUdeviceptr base;                /* of the plan's memory */
    size_t load_bytes, store_bytes;  /* of a chunk, about */
    size_t block_bytes;              /* of a chunk, at most */
    struct xg_staging_direct direct; /* which are in page-locked memory */
    int64_t *done_of_tile;           /* where each tile's flags begin in done */
    unsigned char *done;             /* a flag a chunk of every tile */

    /* Changing. */
    enum xg_status status;       /* the first failure, or XG_OK */
    int64_t load_next, load_row; /* the next chunk of loads to hand out */
    size_t load_ramp_bytes;      /* of that chunk, about: the first ones are smaller */
    size_t load_bytes_left;      /* of chunks not yet handed out */
    int64_t *load_rows_left;     /* of each load: rows not yet enqueued */
    int64_t loads_ready;         /* loads before this one are enqueued whole, events recorded */
    int64_t run_next;            /* the next run to launch */
    int64_t tile_next, tile_row; /* the next chunk of write-backs to enqueue, and rows before it */
    int64_t tiles_launched;      /* tiles whose last run is launched */
    bool refused;                /* tiles arrived that are to be computed again */
    bool again;                  /* runs and tiles go through once more, for those */
    uint64_t up_bytes, down_bytes;
};

/*
 * Readies *pipe, whose constant members except done, done_of_tile and run_streams the caller has
 * set. XG_OK or XG_ERR_NOMEM. xg_pipe_fini frees what it took.
 */
enum xg_status xg_pipe_init(struct xg_pipe *pipe);
void xg_pipe_fini(struct xg_pipe *pipe);

/*
 * The verbs that follow are for one thread (the queue's submitter), with the device's context
 * current. They do nothing once something has failed; failures are kept in pipe->status.
 */

/* Hands out the next rows to load; false when there are none, or none whose slot is free. */
bool xg_pipe_take_load(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk);

/* Enqueues the copy of a chunk, staged (rows, staged_ld) unless it is direct, and records `copied`
 * behind it; launches what becomes possible. */
void xg_pipe_load(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk, char *staged,
                  CUevent copied);

/* Enqueues the copy of the next finished rows to a staging buffer, or into C where the chunk is
 * direct, and records `copied` behind it; false when none is ready. */
bool xg_pipe_take_store(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk, char *staged,
                        CUevent copied);

/* True when finished rows wait to be copied back. */
bool xg_pipe_has_store(const struct xg_pipe *pipe);

/*
 * True when the rows that arrived are no result, because their pieces did not serve (product.h).
 * They are to be dropped; xg_pipe_again has them computed.
 */
bool xg_pipe_refused(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk);

/* True when every load and every write-back has been handed out. */
bool xg_pipe_exhausted(const struct xg_pipe *pipe);

/*
 * When it is exhausted and all rows have arrived: true when tiles were refused. Their runs and
 * write-backs then begin again, with all kinds of pieces, which none refuses.
 */
bool xg_pipe_again(struct xg_pipe *pipe);

/* Keeps the first failure. */
void xg_pipe_fail(struct xg_pipe *pipe, enum xg_status status);

/* Rows of a tile that one flag of `done` stands for. */
int64_t xg_pipe_rows_per_chunk(const struct xg_pipe *pipe, const struct xg_plan_tile *tile);

#endif
