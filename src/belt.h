/* SPDX-License-Identifier: MIT */
/* The staging belt: page-locked blocks between the caller's memory and the device, and its workers.
 */
#ifndef XG_BELT_H
#define XG_BELT_H

#include <fenv.h>
#include <stdatomic.h>

#include "manner.h"
#include "pipe.h"
#include "populate.h"

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
    struct xg_pipe_chunk chunk;
    bool commit;             /* its rows go to the caller; else they come from there */
    bool cached;             /* the rows packed into it stay in the caches */
    _Atomic int pieces_left; /* pieces that are not done */
};

/* Blocks in the order in which they came; every block is in one queue at most, or free. */
struct xg_belt_queue {
    unsigned char block[XG_BELT_BLOCKS];
    unsigned head, tail; /* head == tail: empty; taken modulo XG_BELT_BLOCKS */
};

/*
 * Blocks shared out among the workers, in pieces of equal numbers of rows: piece p is piece p %
 * XG_BELT_PIECES of the block that the pilot gave as number p / XG_BELT_PIECES. A worker takes the
 * next one by counting `taken` up. With a lock instead, ten workers who tried for it kept it from
 * the one who held it: 1.5 us a piece, and the last began 25 us after the first.
 */
enum { XG_BELT_PIECES = 16 };

struct xg_belt_work {
    _Alignas(64) _Atomic int64_t taken; /* pieces, by the workers */
    _Alignas(64) _Atomic int64_t given; /* pieces, by the pilot */
    unsigned char block[XG_BELT_BLOCKS];
};

/*
 * One worker is the pilot: it alone calls the driver and touches the pipe. Driver calls take
 * microseconds, and several threads' calls wait for each other inside the driver; with every worker
 * making its own, a 1024^3 product spent more time there than copying.
 *
 * A block goes round: free, filling (workers pack the caller's rows into it), up (on its way to the
 * device), free; or free, down, emptying (workers commit its rows to the caller), free. Blocks of
 * one kind move on in the order in which they came, which is the pilot's to know. Where the
 * caller's memory is page-locked (chunk.direct) a block only stands for a copy: it is neither
 * filled nor emptied. What the workers
 * share with it is two lists of pieces to take, and each block's count of pieces left: a worker
 * that looked through all blocks for a piece spent microseconds on fetching what the others had
 * written there.
 */
struct xg_belt {
    struct xg_pipe *pipe; /* the pilot's */
    struct xg_manner manner;
    fenv_t env;                   /* the caller's: every row of C is combined under it */
    struct xg_belt_block *blocks; /* XG_BELT_BLOCKS, all free at first */

    /* The pilot's. */
    struct xg_belt_queue free_up, free_down, filling, up, down, emptying;
    bool begun; /* a block has gone up */

    struct xg_belt_work to_pack, to_commit;

    struct xg_populate populate; /* C's pages, where they are not there yet */

    /* Read by those who wait, and so away from what those write who do not. */
    _Alignas(64) _Atomic bool failed; /* only blocks that are being emptied are to be ended */
    _Atomic bool ended;               /* nothing is left to hand out or to arrive */
};

/*
 * Readies a belt for one product. It holds nothing that is to be freed. Returns how many workers it
 * wants: manner.workers, and manner.joining more where C is to be populated.
 */
int xg_belt_init(struct xg_belt *belt, struct xg_pipe *pipe, struct xg_belt_block *blocks,
                 const struct xg_manner *manner);

/*
 * The share of each of those workers, from 0, all at once on a thread each, until nothing is left
 * to do or something has failed (pipe->status). Worker 0 is the pilot: the device's context is
 * current on its thread; the others need none.
 */
void xg_belt_work(struct xg_belt *belt, int worker);

#endif
