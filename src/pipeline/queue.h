/* SPDX-License-Identifier: MIT */
/* The staging queue: page-locked blocks between the caller's memory and the device, and workers. */
#ifndef XG_QUEUE_H
#define XG_QUEUE_H

#include <fenv.h>
#include <stdatomic.h>

#include "decide/staging.h"
#include "pipeline/pipe.h"
#include "pipeline/populate.h"

/*
 * One copy over the link moves one block; several workers fill or empty a block, a stripe each. So
 * copies are large, because PCIe reaches its rate at some megabytes, and stripes are small: the
 * first copy starts early, and all workers empty the last block. Blocks are filled in order, so
 * panels arrive in order.
 */
enum { XG_QUEUE_BLOCKS = 16, XG_QUEUE_BLOCK_BYTES = 4 << 20 };

/* With fewer blocks nothing overlaps. */
enum { XG_QUEUE_BLOCKS_LEAST = 4 };

struct xg_queue_block {
    char *host; /* page-locked, XG_QUEUE_BLOCK_BYTES; the lane's */
    CUevent copied;
    struct xg_pipe_chunk chunk;
    bool commit;              /* its rows go to the caller, else they come from the caller */
    bool cached;              /* the rows packed into it stay in the caches */
    _Atomic int stripes_left; /* stripes that are not done yet */
};

/* Blocks in order of arrival; each block is in one list at most. */
struct xg_queue_list {
    unsigned char block[XG_QUEUE_BLOCKS];
    unsigned head, tail; /* modulo XG_QUEUE_BLOCKS; head == tail: empty */
};

/*
 * Blocks shared out among the workers in stripes of equal numbers of rows. Stripe p is stripe p %
 * XG_QUEUE_STRIPES of the submitter's block number p / XG_QUEUE_STRIPES. A worker takes the next
 * stripe by incrementing `taken`. With a lock instead, ten workers that tried to take it delayed
 * the worker that held it: 1.5 us a stripe, and the last worker began 25 us after the first.
 */
enum { XG_QUEUE_STRIPES = 16 };

struct xg_queue_work {
    _Alignas(64) _Atomic int64_t taken; /* stripes, by the workers */
    _Alignas(64) _Atomic int64_t given; /* stripes, by the submitter */
    unsigned char block[XG_QUEUE_BLOCKS];
};

/*
 * One worker is the submitter: it alone calls the driver and touches the pipe. Driver calls take
 * microseconds, and calls of several threads wait for each other inside the driver. When every
 * worker made its own calls, a 1024^3 product spent more time there than copying.
 *
 * A block cycles through free, filling (workers pack the caller's rows into it), up (on its way to
 * the device), free; or through free, down, emptying (workers commit its rows to the caller), free.
 * Blocks of one kind keep their order of arrival, which only the submitter knows. If the caller's
 * memory is page-locked (chunk.direct), a block only stands for a copy and is neither filled nor
 * emptied. The submitter shares with the workers two lists of stripes to take and each block's
 * count of stripes left: a worker that searched all blocks for a stripe spent microseconds on
 * fetching the cache lines that other workers had written.
 */
struct xg_queue {
    struct xg_pipe *pipe; /* the submitter's */
    const struct xg_drv *drv;
    const struct xg_problem *call;
    int64_t elem_bytes;
    struct xg_staging staging;
    fenv_t env;                    /* the caller's; every row of C is combined under it */
    struct xg_queue_block *blocks; /* all free at first */
    int down_most; /* blocks that write-backs may hold, so that loads always find one */

    /* Used by the submitter alone. */
    struct xg_queue_list free_up, free_down, filling, up, down, emptying;
    bool begun; /* a block has gone up */

    struct xg_queue_work to_pack, to_commit;

    struct xg_populate populate; /* the missing pages of C */

    /* Waiting workers read these members, which therefore lie apart from those that working threads
     * write. */
    _Alignas(64) _Atomic bool failed; /* workers only finish blocks that are being emptied */
    _Atomic bool ended;               /* everything has been handed out and has arrived */
    _Atomic bool scarce; /* the link has little to move: populating threads pack instead */
};

/*
 * Initializes a queue of XG_QUEUE_BLOCKS_LEAST to XG_QUEUE_BLOCKS blocks for one product; it holds
 * nothing to free. Returns the number of workers:
 * staging.workers, plus staging.joining if C must be populated.
 */
int xg_queue_init(struct xg_queue *queue, struct xg_pipe *pipe, struct xg_queue_block *blocks,
                  int block_count, const struct xg_staging *staging);

/*
 * The share of one worker. All workers, numbered from 0, run it at the same time, each on its own
 * thread, until nothing is left to do or something has failed (pipe->status). Worker 0 is the
 * submitter, on whose thread the device's context is current; the other workers need no context.
 */
void xg_queue_work(struct xg_queue *queue, int worker);

#endif
