/* SPDX-License-Identifier: MIT */
/*
 * One product on its way through a lane: what may move next, what is done, and the first failure.
 */
#ifndef XG_PIPE_H
#define XG_PIPE_H

#include "base/xg.h"
#include "compute/runner.h"
#include "decide/plan.h"
#include "decide/staging.h"
#include "device/dev.h"
#include "resident/table.h"

/*
 * A lane's streams, by index. Loads are in order on one stream, splits of panels on one, and
 * write-backs on one. Kernels of independent tiles use several streams, so that small tiles share
 * the device.
 */
enum {
    XG_PIPE_UP,
    XG_PIPE_DOWN,
    XG_PIPE_SPLIT,
    XG_PIPE_RUN,
    XG_PIPE_RUN_STREAMS = 8,
    XG_PIPE_STREAMS = XG_PIPE_RUN + XG_PIPE_RUN_STREAMS
};

/* Events of one slot. Their index counts slots as the plan does: A's first, then B's, then C's. */
struct xg_pipe_events {
    CUevent ready; /* panel: runs may read it; tile: its value is final */
    CUevent spent; /* panel: its last reader is done; tile: it has left the device */
};

/* Rows of a panel on their way up, or of a tile on their way down. Leading dimensions are in
 * elements. */
struct xg_pipe_chunk {
    int64_t item; /* index into the plan's loads or tiles */
    int64_t rows, width;
    char *host; /* the first element in the caller's matrix, which loads only read; NULL for
                 * a batch, unless its C is one matrix */
    int64_t host_ld;
    int64_t row, column; /* of the first element in its matrix, as stored */
    CUdeviceptr device;  /* the first element on the device */
    int64_t device_ld;
    int64_t staged_ld;   /* in the block; device_ld if the chunk is one contiguous copy */
    bool b;              /* load: a panel of B */
    bool structured;     /* rows of the structured operand, which packing makes whole (stage.h) */
    bool direct;         /* host is page-locked: the rows are copied without a block */
    unsigned char *done; /* tile: set when the rows are in the caller's memory */
};

/* The rows of an operand, as stored, that go up, ascending; the device has all others. NULL: all
 * rows go up. */
struct xg_pipe_travel {
    const struct xg_table_rows *rows;
    int count;
};

struct xg_pipe {
    /* Constant while the product runs. */
    struct xg_dev *dev;
    const struct xg_problem *call;
    const struct xg_plan *plan;
    struct xg_runner *runner;
    const CUstream *streams; /* the lane's XG_PIPE_STREAMS */
    int run_streams;
    const struct xg_pipe_events *events;
    CUdeviceptr tiles;               /* the memory of the tiles' slots */
    struct xg_pipe_travel travel[2]; /* of A and of B */
    size_t load_bytes, store_bytes;  /* about the size of a chunk */
    size_t block_bytes;              /* the largest chunk */
    struct xg_staging_direct direct; /* the operands in page-locked memory */
    int64_t *done_of_tile;           /* index of each tile's first flag in `done` */
    unsigned char *done;             /* one flag for each chunk of every tile */

    /* Changing. */
    enum xg_status status;       /* the first failure, or XG_OK */
    int64_t load_next, load_row; /* the next chunk of loads to hand out */
    size_t load_ramp_bytes;      /* about the size of that chunk: the first ones are smaller */
    size_t load_bytes_left;      /* of chunks not yet handed out */
    int64_t *load_rows_left;     /* each load's rows that are not yet enqueued */
    int64_t loads_ready; /* all earlier loads are enqueued whole, and their events recorded */
    int64_t run_next;    /* the next run to launch */
    int64_t tile_next, tile_row; /* the next chunk of write-backs to enqueue, and rows before it */
    int64_t tiles_launched;      /* tiles whose last run has been launched */
    bool refused;                /* some tiles that arrived must be computed again */
    bool again;                  /* runs and tiles go through a second time, for those tiles */
    uint64_t up_bytes, down_bytes;
};

/*
 * Initializes the rest of *pipe. The caller has set the constant members except done, done_of_tile
 * and run_streams. Returns XG_OK or XG_ERR_NOMEM. xg_pipe_fini frees what xg_pipe_init allocated.
 */
enum xg_status xg_pipe_init(struct xg_pipe *pipe);
void xg_pipe_fini(struct xg_pipe *pipe);

/*
 * One thread (the queue's submitter) calls the functions that follow, with the device's context
 * current. After a failure, which pipe->status keeps, they do nothing.
 */

/* Launches the runs for which nothing has to be loaded. */
void xg_pipe_begin(struct xg_pipe *pipe);

/* True when every load has been handed out. */
bool xg_pipe_is_loaded(const struct xg_pipe *pipe);

/* Hands out the next rows to load; false if no rows are left, or their slot is not free. */
bool xg_pipe_take_load(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk);

/* Enqueues the copy of a chunk, from staged (rows, staged_ld) unless it is direct. Records `copied`
 * behind it, and launches the runs that become possible. */
void xg_pipe_load(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk, char *staged,
                  CUevent copied);

/* Enqueues the copy of the next finished rows to a staging buffer, or into C if the chunk is
 * direct, and records `copied` behind it. False when no rows are ready. */
bool xg_pipe_take_store(struct xg_pipe *pipe, struct xg_pipe_chunk *chunk, char *staged,
                        CUevent copied);

/* True when finished rows wait to be copied back. */
bool xg_pipe_has_store(const struct xg_pipe *pipe);

/*
 * True when the rows that arrived are no result, because FP16 pieces did not serve them
 * (xg_runner_refused). The caller drops such rows; xg_pipe_again has them computed again.
 */
bool xg_pipe_refused(struct xg_pipe *pipe, const struct xg_pipe_chunk *chunk);

/* True when every load and every write-back has been handed out. */
bool xg_pipe_exhausted(const struct xg_pipe *pipe);

/*
 * Called when the pipe is exhausted and all rows have arrived. True when tiles were refused: their
 * runs and write-backs then begin again, with all kinds of pieces, which are never refused.
 */
bool xg_pipe_again(struct xg_pipe *pipe);

/* Keeps the first failure. */
void xg_pipe_fail(struct xg_pipe *pipe, enum xg_status status);

/* Rows of a tile per flag of `done`. */
int64_t xg_pipe_rows_per_chunk(const struct xg_pipe *pipe, const struct xg_plan_tile *tile);

#endif
