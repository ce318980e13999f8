/* SPDX-License-Identifier: MIT */
/* The staging queue: page-locked blocks between the caller's memory and the device, and its
 * workers.
 */
#ifndef XG_QUEUE_H
#define XG_QUEUE_H

#include <fenv.h>
#include <stdatomic.h>

#include "decide/staging.h"
#include "pipeline/pipe.h"
#include "pipeline/populate.h"

/*
 * A block is what one copy over the link moves; several workers fill it, or empty it, a stripe
 * each. Large copies (PCIe reaches its rate at some megabytes) and small stripes (the first copy
 * starts early, the last block is emptied by all) go together that way; and as blocks are filled in
 * order, panels arrive in order.
 */
enum { XG_QUEUE_BLOCKS = 16, XG_QUEUE_BLOCK_BYTES = 4 << 20 };

struct xg_queue_block {
    char *host; /* page-locked, XG_QUEUE_BLOCK_BYTES; the lane's */
    CUevent copied;
    struct xg_pipe_chunk chunk;
    bool commit;              /* its rows go to the caller; else they come from there */
    bool cached;              /* the rows packed into it stay in the caches */
    _Atomic int stripes_left; /* stripes that are not done */
};

/* Blocks in the order in which they came; every block is in one list at most, or free. */
struct xg_queue_list {
    unsigned char block[XG_QUEUE_BLOCKS];
    unsigned head, tail; /* head == tail: empty; taken modulo XG_QUEUE_BLOCKS */
};

/*
 * Blocks shared out among the workers, in stripes of equal numbers of rows: stripe p is stripe p %
 * XG_QUEUE_STRIPES of the block that the submitter gave as number p / XG_QUEUE_STRIPES. A worker
 * takes the next one by counting `taken` up. With a lock instead, ten workers who tried for it kept
 * it from the one who held it: 1.5 us a stripe, and the last began 25 us after the first.
 */
enum { XG_QUEUE_STRIPES = 16 };

struct xg_queue_work {
    _Alignas(64) _Atomic int64_t taken; /* stripes, by the workers */
    _Alignas(64) _Atomic int64_t given; /* stripes, by the submitter */
    unsigned char block[XG_QUEUE_BLOCKS];
};

/*
 * One worker is the submitter: it alone calls the driver and touches the pipe. Driver calls take
 * microseconds, and several threads' calls wait for each other inside the driver; with every worker
 * making its own, a 1024^3 product spent more time there than copying.
 *
 * A block goes round: free, filling (workers pack the caller's rows into it), up (on its way to the
 * device), free; or free, down, emptying (workers commit its rows to the caller), free. Blocks of
 * one kind move on in the order in which they came, which is the submitter's to know. Where the
 * caller's memory is page-locked (chunk.direct) a block only stands for a copy: it is neither
 * filled nor emptied. What the workers
 * share with it is two lists of stripes to take, and each block's count of stripes left: a worker
 * that looked through all blocks for a stripe spent microseconds on fetching what the others had
 * written there.
 */
struct xg_queue {
    struct xg_pipe *pipe; /* the submitter's */
    const struct xg_drv *drv;
    const struct xg_problem *call;
    int64_t elem_bytes;
    struct xg_staging staging;
    fenv_t env;                    /* the caller's: every row of C is combined under it */
    struct xg_queue_block *blocks; /* XG_QUEUE_BLOCKS, all free at first */

    /* The submitter's. */
    struct xg_queue_list free_up, free_down, filling, up, down, emptying;
    bool begun; /* a block has gone up */

    struct xg_queue_work to_pack, to_commit;

    struct xg_populate populate; /* C's pages, where they are not there yet */

    /* Read by those who wait, and so away from what those write who do not. */
    _Alignas(64) _Atomic bool failed; /* only blocks that are being emptied are to be ended */
    _Atomic bool ended;               /* nothing is left to hand out or to arrive */
    _Atomic bool scarce;              /* the link has little to move: who populates packs instead */
};

/*
 * Readies a queue for one product. It holds nothing that is to be freed. Returns how many workers
 * it wants: staging.workers, and staging.joining more where C is to be populated.
 */
int xg_queue_init(struct xg_queue *queue, struct xg_pipe *pipe, struct xg_queue_block *blocks,
                  const struct xg_staging *staging);

/*
 * The share of each of those workers, from 0, all at once on a thread each, until nothing is left
 * to do or something has failed (pipe->status). Worker 0 is the submitter: the device's context is
 * current on its thread; the others need none.
 */
void xg_queue_work(struct xg_queue *queue, int worker);

#endif
