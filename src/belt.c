/* SPDX-License-Identifier: MIT */
/* Workers take pieces of blocks: filling them for the device, or emptying them into C. */
#include "belt.h"

#include <time.h>

#include "stage.h"

/* Blocks that write-backs may hold, so that loads are never without one. */
enum { DOWN_MAX = XG_BELT_BLOCKS / 2 };

/* Blocks open for filling: one that is being finished, and others to go on with. */
enum { FILLING_MAX = 3 };

/* In a smaller team than this the pilot copies too; in a larger one the link would wait for it. */
enum { PILOT_ALONE_MIN = 4 };

/*
 * What one worker copies at a time: long enough for its rate, and so short that a block is shared
 * out among all: the last one of a product would else be emptied by two while the others look on.
 */
enum { PIECES_PER_BLOCK = 8, PIECE_BYTES_MIN = 32 << 10, PIECE_BYTES_MAX = 256 << 10 };

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

void xg_belt_init(struct xg_belt *belt, struct xg_pipe *pipe, struct xg_belt_block *blocks,
                  int workers)
{
    *belt = (struct xg_belt){.pipe = pipe, .workers = workers, .blocks = blocks};
    fegetenv(&belt->env);
    pthread_mutex_init(&belt->lock, NULL);
    for (int i = 0; i < XG_BELT_BLOCKS; i++)
        push(&belt->free, i);
}

void xg_belt_fini(struct xg_belt *belt)
{
    pthread_mutex_destroy(&belt->lock);
}

/* --- Pieces -------------------------------------------------------------------------------- */

/* The lock is held for a tenth of a microsecond: sleeping on it costs a hundred times as much. */
static void lock(struct xg_belt *belt)
{
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES; i++)
        if (pthread_mutex_trylock(&belt->lock) == 0)
            return;
    pthread_mutex_lock(&belt->lock);
}

static int64_t piece_rows(const struct xg_pipe_chunk *chunk)
{
    int64_t row_bytes = chunk->staged_ld * (int64_t)sizeof(float);
    int64_t bytes = chunk->rows * row_bytes / PIECES_PER_BLOCK;
    bytes = xg_max_i64(PIECE_BYTES_MIN, xg_min_i64(bytes, PIECE_BYTES_MAX));
    return xg_max_i64(1, bytes / row_bytes);
}

/*
 * What has arrived goes before what is to leave. After a failure only what has begun is ended: with
 * beta, rows of C must be all old or all new.
 */
static bool take_piece(struct xg_belt *belt, struct piece *piece)
{
    if (belt->open == 0)
        return false;
    lock(belt);
    struct xg_belt_queue *queue = &belt->to_commit;
    struct xg_belt_block *block = first(belt, queue);
    if (!block && !belt->failed) {
        queue = &belt->to_pack;
        block = first(belt, queue);
    }
    if (block) {
        int64_t rows = xg_min_i64(piece_rows(&block->chunk), block->chunk.rows - block->row_next);
        *piece = (struct piece){.block = block, .row = block->row_next, .rows = rows};
        block->row_next += rows;
        if (block->row_next == block->chunk.rows) {
            pop(queue);
            belt->open--;
        }
    }
    pthread_mutex_unlock(&belt->lock);
    return block;
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
        xg_stage_pack(staged, chunk->staged_ld, host, chunk->host_ld, piece->rows, chunk->width);
    bool commit = block->commit;
    unsigned char *done = chunk->done;
    /* The last one's: after this the block is the pilot's, which may put it to use again. */
    if (atomic_fetch_sub(&block->rows_left, piece->rows) == piece->rows && commit)
        *done = 1;
}

/*
 * Waits a little. The driver's own sleeping wait comes back a tenth of a millisecond late, which
 * tripled the time of a 1024^3 product; its spinning one holds a core for as long as a large
 * product computes. So: spin as long as a copy takes, then sleep in short steps.
 */
static void pause_for(int turns)
{
    enum { SPINNING_TURNS = 300, SPINS = 100 };
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
    block->row_next = 0;
    block->rows_left = block->chunk.rows;
    push(commit ? &belt->emptying : &belt->filling, index);
    lock(belt);
    push(commit ? &belt->to_commit : &belt->to_pack, index);
    belt->open++;
    pthread_mutex_unlock(&belt->lock);
}

static bool copied(struct xg_belt *belt, const struct xg_belt_block *block)
{
    const struct xg_drv *drv = &belt->pipe->dev->drv;
    CUresult result = drv->cuEventQuery(block->copied);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        xg_pipe_fail(belt->pipe, xg_drv_status(drv, result, "cuEventQuery"));
    return result == CUDA_SUCCESS;
}

/* A block to put to use, which stays in the queue until then; NULL when there is none. */
static struct xg_belt_block *free_block(struct xg_belt *belt)
{
    struct xg_belt_block *block;
    while ((block = first(belt, &belt->emptying)) && block->rows_left == 0)
        push(&belt->free, pop(&belt->emptying));
    if (!count(&belt->free) && (block = first(belt, &belt->up)) && copied(belt, block))
        push(&belt->free, pop(&belt->up));
    return first(belt, &belt->free);
}

/* Lets blocks change sides. True when one did. */
static bool pump(struct xg_belt *belt)
{
    struct xg_pipe *pipe = belt->pipe;
    struct xg_belt_block *block;
    bool moved = false;
    while ((block = first(belt, &belt->filling)) && block->rows_left == 0) {
        xg_pipe_load(pipe, &block->chunk, block->host, block->copied);
        push(&belt->up, pop(&belt->filling));
        belt->begun = moved = true;
    }
    while ((block = first(belt, &belt->down)) && copied(belt, block)) {
        open_block(belt, pop(&belt->down), true);
        moved = true;
    }
    while (count(&belt->down) + count(&belt->emptying) < DOWN_MAX && xg_pipe_has_store(pipe) &&
           (block = free_block(belt)) &&
           xg_pipe_take_store(pipe, &block->chunk, block->host, block->copied)) {
        push(&belt->down, pop(&belt->free));
        moved = true;
    }
    while (count(&belt->filling) < FILLING_MAX && (block = free_block(belt)) &&
           xg_pipe_take_load(pipe, &block->chunk)) {
        open_block(belt, pop(&belt->free), false);
        moved = true;
    }
    return moved;
}

/*
 * Until the first block has gone up there is no driver call to be in time for, and the others may
 * still be waking: the pilot copies as well.
 */
static void fly(struct xg_belt *belt)
{
    struct piece piece;
    bool copies = belt->workers < PILOT_ALONE_MIN;
    for (int turns = 0; !belt->failed && !belt->ended; turns++) {
        if (pump(belt))
            turns = 0;
        else if ((copies || !belt->begun) && take_piece(belt, &piece))
            copy_piece(belt, &piece);
        else
            pause_for(turns);
        if (belt->pipe->status != XG_OK)
            belt->failed = true;
        if (xg_pipe_exhausted(belt->pipe) && !count(&belt->down))
            belt->ended = true;
    }
}

/* --- The others ---------------------------------------------------------------------------- */

void xg_belt_work(struct xg_belt *belt, int worker)
{
    if (worker == 0)
        fly(belt);
    else
        fesetenv(&belt->env);
    struct piece piece;
    for (int turns = 0;;) {
        bool over = belt->failed || belt->ended; /* read before the last look for pieces */
        if (take_piece(belt, &piece)) {
            copy_piece(belt, &piece);
            turns = 0;
        } else if (over) {
            break;
        } else {
            pause_for(turns++);
        }
    }
}
