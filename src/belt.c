/* SPDX-License-Identifier: MIT */
/* Workers take pieces of blocks: filling them for the device, or emptying them into C. */
#include "belt.h"

#include <math.h>
#include <time.h>

#include "clock.h"
#include "log.h"
#include "stage.h"

/* Blocks that write-backs may hold, so that loads are never without one. */
enum { DOWN_MAX = XG_BELT_BLOCKS / 2 };

/* Blocks open for filling: one that is being finished, and others to go on with. */
enum { FILLING_MAX = 3 };

/* In a smaller team than this the pilot copies too; in a larger one the link would wait for it. */
enum { PILOT_ALONE_MIN = 4 };

/*
 * Rows packed into the caches cost memory one transfer, streamed ones three: the rows are read,
 * written, and read again by the device. But the device reads slowly (28 GB/s) what still lies in a
 * core's own cache, so that it pays only where enough is packed ahead to have gone from there to
 * the shared cache, and not at the very end, where nothing follows that would push it out (4096^3:
 * 3.15 ms; 3.39 when the last 48 MiB were streamed).
 */
static const size_t CACHED_AHEAD_BYTES = 12 << 20, CACHED_LEFT_BYTES = 6 << 20;

struct piece {
    struct xg_belt_block *block;
    int64_t row, rows;
};

/* --- Queues -------------------------------------------------------------------------------- */

static void push(struct xg_belt_queue *queue, int block)
{
    queue->block[queue->tail++ % XG_BELT_BLOCKS] = (unsigned char)block;
}

static int pop(struct xg_belt_queue *queue)
{
    return queue->block[queue->head++ % XG_BELT_BLOCKS];
}

static int count(const struct xg_belt_queue *queue)
{
    return (int)(queue->tail - queue->head);
}

/* The first block of the queue, or NULL. */
static struct xg_belt_block *first(const struct xg_belt *belt, const struct xg_belt_queue *queue)
{
    return count(queue) ? &belt->blocks[queue->block[queue->head % XG_BELT_BLOCKS]] : NULL;
}

/*
 * Free blocks to move rows down, or up. Those that the device writes stay apart from those that it
 * reads, whose rows were streamed to memory past caches that need not hold them (2048^3 and 100000
 * x 64 x 64: 5 % less). Rows that are to stay in the caches take turns in as many blocks as there
 * are, which gives them time to leave a core's own.
 */
static struct xg_belt_queue *free_blocks(struct xg_belt *belt, bool down)
{
    return down && !belt->manner.caches ? &belt->free_down : &belt->free_up;
}

int xg_belt_init(struct xg_belt *belt, struct xg_pipe *pipe, struct xg_belt_block *blocks,
                 const struct xg_manner *manner)
{
    *belt = (struct xg_belt){.pipe = pipe, .manner = *manner, .blocks = blocks};
    fegetenv(&belt->env);
    for (int i = 0; i < XG_BELT_BLOCKS; i++)
        push(free_blocks(belt, i < DOWN_MAX), i);
    if (manner->populate)
        xg_populate_init(&belt->populate, pipe->call);
    return manner->workers + (belt->populate.pieces ? manner->joining : 0);
}

/* --- Pieces -------------------------------------------------------------------------------- */

static bool take_from(struct xg_belt *belt, struct xg_belt_work *work, struct piece *piece)
{
    int64_t at = atomic_load_explicit(&work->taken, memory_order_relaxed);
    do {
        if (at >= atomic_load_explicit(&work->given, memory_order_acquire))
            return false;
    } while (!atomic_compare_exchange_weak(&work->taken, &at, at + 1));
    /* Until this piece is done the block is not put to use again, nor is its place in the list. */
    struct xg_belt_block *block = &belt->blocks[work->block[at / XG_BELT_PIECES % XG_BELT_BLOCKS]];
    int64_t part = at % XG_BELT_PIECES, rows = block->chunk.rows;
    int64_t row = rows * part / XG_BELT_PIECES, end = rows * (part + 1) / XG_BELT_PIECES;
    *piece = (struct piece){.block = block, .row = row, .rows = end - row};
    return true;
}

/*
 * What has arrived goes before what is to leave. After a failure only what has begun is ended: with
 * beta, rows of C must be all old or all new.
 */
static bool take_piece(struct xg_belt *belt, struct piece *piece)
{
    return take_from(belt, &belt->to_commit, piece) ||
           (!belt->failed && take_from(belt, &belt->to_pack, piece));
}

static void copy_piece(struct xg_belt *belt, const struct piece *piece)
{
    struct xg_belt_block *block = piece->block;
    const struct xg_pipe_chunk *chunk = &block->chunk;
    float *staged = block->host + piece->row * chunk->staged_ld;
    float *host = chunk->host + piece->row * chunk->host_ld;
    if (block->commit)
        xg_stage_commit(host, chunk->host_ld, staged, chunk->staged_ld, piece->rows, chunk->width,
                        belt->pipe->call->beta);
    else
        xg_stage_pack(staged, chunk->staged_ld, host, chunk->host_ld, piece->rows, chunk->width,
                      block->cached);
    bool commit = block->commit;
    unsigned char *done = chunk->done;
    /* The last one's: after this the block is the pilot's, which may put it to use again. */
    if (atomic_fetch_sub(&block->pieces_left, 1) == 1 && commit)
        *done = 1;
}

/*
 * Waits a little. The driver's own sleeping wait comes back a tenth of a millisecond late, which
 * tripled the time of a 1024^3 product; its spinning one holds a core for as long as a large
 * product computes. So: spin for 0.15 ms, longer than a block takes on its way, then sleep in short
 * steps. A pilot who sleeps between two blocks leaves the link without work for as long.
 */
enum { SPINNING_TURNS = 1000 };

static void pause_for(int turns)
{
    enum { SPINS = 100 };
    static const struct timespec nap = {.tv_nsec = 20000};
    if (turns > SPINNING_TURNS) {
        nanosleep(&nap, NULL);
        return;
    }
    for (volatile int spin = 0; spin < SPINS; spin++)
        ;
}

/* --- The pilot ----------------------------------------------------------------------------- */

/* Gives the block's rows to the workers. */
static void open_block(struct xg_belt *belt, int index, bool commit)
{
    struct xg_belt_block *block = &belt->blocks[index];
    block->commit = commit;
    block->pieces_left = XG_BELT_PIECES;
    push(commit ? &belt->emptying : &belt->filling, index);
    struct xg_belt_work *work = commit ? &belt->to_commit : &belt->to_pack;
    int64_t given = atomic_load_explicit(&work->given, memory_order_relaxed);
    work->block[given / XG_BELT_PIECES % XG_BELT_BLOCKS] = (unsigned char)index;
    atomic_store_explicit(&work->given, given + XG_BELT_PIECES, memory_order_release);
}

static bool copied(struct xg_belt *belt, const struct xg_belt_block *block)
{
    const struct xg_drv *drv = &belt->pipe->dev->drv;
    CUresult result = drv->cuEventQuery(block->copied);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        xg_pipe_fail(belt->pipe, xg_drv_status(drv, result, "cuEventQuery"));
    return result == CUDA_SUCCESS;
}

/* Takes back blocks whose rows are in the caller's memory, or on the device. */
static void reclaim(struct xg_belt *belt)
{
    struct xg_belt_block *block;
    while ((block = first(belt, &belt->emptying)) && block->pieces_left == 0)
        push(free_blocks(belt, true), pop(&belt->emptying));
    while ((block = first(belt, &belt->up)) && copied(belt, block))
        push(free_blocks(belt, false), pop(&belt->up));
}

/* The next block to fill, with its rows; NULL when there is none, or enough are ahead of it. */
static struct xg_belt_block *next_load(struct xg_belt *belt)
{
    struct xg_pipe *pipe = belt->pipe;
    struct xg_belt_block *block = first(belt, free_blocks(belt, false));
    int ahead = count(&belt->up) + count(&belt->filling);
    if (!block || count(&belt->filling) == FILLING_MAX || ahead >= belt->manner.ahead ||
        !xg_pipe_take_load(pipe, &block->chunk))
        return NULL;
    block->cached = belt->manner.caches && (size_t)ahead * pipe->load_bytes >= CACHED_AHEAD_BYTES &&
                    pipe->load_bytes_left >= CACHED_LEFT_BYTES;
    return block;
}

/* The copy of the block's rows begins. */
static void send(struct xg_belt *belt, struct xg_belt_block *block)
{
    xg_pipe_load(belt->pipe, &block->chunk, block->host, block->copied);
    belt->begun = true;
}

/* The block's rows have come down. */
static void receive(struct xg_belt *belt, struct xg_belt_block *block)
{
    int index = pop(&belt->down);
    bool refused = xg_pipe_refused(belt->pipe, &block->chunk);
    if (!refused && !block->chunk.direct) {
        open_block(belt, index, true);
        return;
    }
    if (!refused)
        *block->chunk.done = 1;
    push(free_blocks(belt, true), index);
}

/* Lets blocks change sides. True when one did. */
static bool pump(struct xg_belt *belt)
{
    struct xg_pipe *pipe = belt->pipe;
    struct xg_belt_block *block;
    bool moved = false;
    reclaim(belt);
    while ((block = first(belt, &belt->filling)) && block->pieces_left == 0) {
        send(belt, block);
        push(&belt->up, pop(&belt->filling));
        moved = true;
    }
    while ((block = first(belt, &belt->down)) && copied(belt, block)) {
        receive(belt, block);
        moved = true;
    }
    while (count(&belt->down) + count(&belt->emptying) < DOWN_MAX && xg_pipe_has_store(pipe) &&
           (block = first(belt, free_blocks(belt, true))) &&
           xg_pipe_take_store(pipe, &block->chunk, block->host, block->copied)) {
        push(&belt->down, pop(free_blocks(belt, true)));
        moved = true;
    }
    while ((block = next_load(belt))) {
        int index = pop(free_blocks(belt, false));
        if (block->chunk.direct) {
            send(belt, block);
            push(&belt->up, index);
        } else {
            open_block(belt, index, false);
        }
        moved = true;
    }
    return moved;
}

/*
 * Gives the device up that has got nothing done for too long. Only where nobody else is waited for:
 * workers may take any time to read the caller's memory; and not while rows come down to where the
 * caller has them, from where they could not be kept later. Each look counts for little, so that a
 * process that was stopped in between finds no time gone by.
 */
struct stall {
    double last_s, waited_s;
};

static void count_stall(struct xg_belt *belt, struct stall *stall)
{
    static const double step_max_s = 0.01;
    double now_s = xg_clock_s();
    bool device = (count(&belt->up) || count(&belt->down)) && !count(&belt->filling) &&
                  !count(&belt->emptying) && !(belt->pipe->direct.c && count(&belt->down));
    stall->waited_s = device ? stall->waited_s + fmin(now_s - stall->last_s, step_max_s) : 0;
    stall->last_s = now_s;
    if (stall->waited_s > belt->pipe->dev->timeout_s) {
        xg_log(XG_LOG_INFO, "the device got nothing done for %g s", stall->waited_s);
        xg_pipe_fail(belt->pipe, XG_ERR_HUNG);
    }
}

/*
 * Until the first block has gone up there is no driver call to be in time for, and the others may
 * still be waking: the pilot copies as well.
 */
static void fly(struct xg_belt *belt)
{
    struct piece piece;
    struct stall stall = {0};
    bool copies = belt->manner.workers < PILOT_ALONE_MIN;
    for (int turns = 0; !belt->failed && !belt->ended; turns++) {
        if (pump(belt))
            turns = 0;
        else if ((copies || !belt->begun) && take_piece(belt, &piece))
            copy_piece(belt, &piece);
        else
            pause_for(turns);
        if (turns == 0)
            stall.waited_s = 0;
        else if (turns > SPINNING_TURNS)
            count_stall(belt, &stall);
        if (belt->pipe->status != XG_OK)
            belt->failed = true;
        if (xg_pipe_exhausted(belt->pipe) && !count(&belt->down))
            belt->ended = !xg_pipe_again(belt->pipe);
    }
}

/* --- The others ---------------------------------------------------------------------------- */

static bool over(const struct xg_belt *belt)
{
    return belt->failed || belt->ended;
}

/*
 * Whoever is to commit rows that nobody has begun to populate does so first, whole pieces: were
 * each to begin with its own rows, all would zero the same huge page. Nobody waits for who has
 * begun.
 */
static void populate_to(struct xg_belt *belt, const struct piece *piece)
{
    const struct xg_pipe_chunk *chunk = &piece->block->chunk;
    const float *host = chunk->host + piece->row * chunk->host_ld;
    while (piece->block->commit && xg_populate_awaits(&belt->populate, host)) {
        struct xg_populate_range part = {0, 0};
        while (xg_populate_step(&belt->populate, &part) && part.begin != part.end)
            ;
    }
}

/*
 * The last manner.populate of the workers do so before anything else, while the others begin to
 * upload; those beyond the copiers do nothing else.
 */
static void populate_first(struct xg_belt *belt, int worker)
{
    struct xg_populate_range part = {0, 0};
    int all = belt->manner.workers + belt->manner.joining;
    if (worker >= all - belt->manner.populate)
        while (!over(belt) && xg_populate_step(&belt->populate, &part))
            ;
}

static void copy_pieces(struct xg_belt *belt)
{
    struct piece piece;
    for (int turns = 0;;) {
        bool last = over(belt); /* read before the last look for pieces */
        if (take_piece(belt, &piece)) {
            populate_to(belt, &piece);
            copy_piece(belt, &piece);
            turns = 0;
        } else if (last) {
            break;
        } else {
            pause_for(turns++);
        }
    }
}

void xg_belt_work(struct xg_belt *belt, int worker)
{
    if (worker == 0)
        fly(belt);
    else
        fesetenv(&belt->env);
    if (worker > 0)
        populate_first(belt, worker);
    if (worker < belt->manner.workers)
        copy_pieces(belt);
}
