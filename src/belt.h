/* SPDX-License-Identifier: MIT */
/* The staging belt: page-locked blocks between the caller's memory and the device, and its workers.
 */
#ifndef XG_BELT_H
#define XG_BELT_H

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>

#include "pipe.h"

/*
 * A block is what one copy over the link moves; several workers fill it, or empty it, a piece each.
 * Large copies (PCIe reaches its rate at some megabytes) and small pieces (the first copy starts
 * early, the last block is emptied by all) go together that way; and as blocks are filled in order,
 * panels arrive in order.
 */
enum { XG_BELT_BLOCKS = 16, XG_BELT_BLOCK_BYTES = 4 << 20 };

struct xg_belt_block {
    float *host; /* page-locked, XG_BELT_BLOCK_BYTES; the lane's */
    CUevent copied;
    enum {
        XG_BLOCK_FREE,
        XG_BLOCK_FILLING,  /* workers copy the caller's rows into it */
        XG_BLOCK_FILLED,   /* may go up */
        XG_BLOCK_UP,       /* on its way to the device */
        XG_BLOCK_DOWN,     /* on its way from the device */
        XG_BLOCK_EMPTYING, /* workers copy its rows to the caller */
    } state;
    struct xg_pipe_chunk chunk;
    int64_t row_next;   /* FILLING, EMPTYING: the next row that no worker has taken */
    int64_t rows_left;  /* rows that are not done */
    unsigned long turn; /* when it was put to use: copies of one direction end in order */
};

/*
 * One worker is the pilot: it alone calls the driver and touches the pipe. Driver calls take
 * microseconds, and several threads' calls wait for each other inside the driver; with every worker
 * making its own, a 1024^3 product spent more time there than copying.
 */
struct xg_belt {
    struct xg_pipe *pipe; /* the pilot's */
    int workers;
    fenv_t env; /* the caller's: every row of C is combined under it */

    pthread_mutex_t lock;         /* guards what follows */
    struct xg_belt_block *blocks; /* XG_BELT_BLOCKS, all FREE at first */
    size_t piece_bytes;
    unsigned long turns;
    int down;    /* blocks DOWN or EMPTYING */
    bool failed; /* only blocks that are being emptied are to be ended */
    bool ended;  /* nothing is left to hand out or to arrive */
    /* Blocks with rows to take. Written under the lock; read without it by those who wait. */
    _Atomic int open;
};

/* Readies a belt for one product by `workers` threads; xg_belt_fini frees what it took. */
void xg_belt_init(struct xg_belt *belt, struct xg_pipe *pipe, struct xg_belt_block *blocks,
                  size_t piece_bytes, int workers);
void xg_belt_fini(struct xg_belt *belt);

/*
 * The share of worker 0..workers-1, all at once on a thread each, until nothing is left to do or
 * something has failed (pipe->status). Worker 0 is the pilot: the device's context is current on
 * its thread; the others need none.
 */
void xg_belt_work(struct xg_belt *belt, int worker);

#endif
