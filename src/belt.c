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

struct piece {
    struct xg_belt_block *block;
    bool commit; /* EMPTYING: rows go to the caller; else FILLING */
    int64_t row, rows;
};

void xg_belt_init(struct xg_belt *belt, struct xg_pipe *pipe, struct xg_belt_block *blocks,
                  size_t piece_bytes, int workers)
{
    *belt = (struct xg_belt){
        .pipe = pipe, .workers = workers, .blocks = blocks, .piece_bytes = piece_bytes};
    fegetenv(&belt->env);
    pthread_mutex_init(&belt->lock, NULL);
    for (int i = 0; i < XG_BELT_BLOCKS; i++)
        blocks[i].state = XG_BLOCK_FREE;
}

void xg_belt_fini(struct xg_belt *belt)
{
    pthread_mutex_destroy(&belt->lock);
}

/* --- Pieces -------------------------------------------------------------------------------- */

/* The block that has been in the state longest (and has rows to take, if asked), or NULL. Locked.
 */
static struct xg_belt_block *oldest(const struct xg_belt *belt, int state, bool rows)
{
    struct xg_belt_block *found = NULL;
    for (int i = 0; i < XG_BELT_BLOCKS; i++) {
        struct xg_belt_block *block = &belt->blocks[i];
        if ((int)block->state != state || (rows && block->row_next == block->chunk.rows))
            continue;
        if (!found || block->turn < found->turn)
            found = block;
    }
    return found;
}

/*
 * What has arrived goes before what is to leave. After a failure only what has begun is ended: with
 * beta, rows of C must be all old or all new.
 */
static bool take_piece(struct xg_belt *belt, struct piece *piece)
{
    pthread_mutex_lock(&belt->lock);
    struct xg_belt_block *block = oldest(belt, XG_BLOCK_EMPTYING, true);
    if (!block && !belt->failed)
        block = oldest(belt, XG_BLOCK_FILLING, true);
    if (block) {
        const struct xg_pipe_chunk *chunk = &block->chunk;
        int64_t rows = (int64_t)(belt->piece_bytes / sizeof(float)) / chunk->staged_ld;
        *piece = (struct piece){
            .block = block,
            .commit = block->state == XG_BLOCK_EMPTYING,
            .row = block->row_next,
            .rows = xg_min_i64(rows > 1 ? rows : 1, chunk->rows - block->row_next),
        };
        block->row_next += piece->rows;
        belt->open -= block->row_next == chunk->rows;
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
    if (piece->commit)
        xg_stage_commit(host, chunk->host_ld, staged, chunk->staged_ld, piece->rows, chunk->width,
                        belt->pipe->call->beta);
    else
        xg_stage_pack(staged, chunk->staged_ld, host, chunk->host_ld, piece->rows, chunk->width);

    pthread_mutex_lock(&belt->lock);
    block->rows_left -= piece->rows;
    if (block->rows_left == 0 && piece->commit) {
        *chunk->done = 1;
        block->state = XG_BLOCK_FREE;
        belt->down--;
    } else if (block->rows_left == 0) {
        block->state = XG_BLOCK_FILLED;
    }
    pthread_mutex_unlock(&belt->lock);
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

static struct xg_belt_block *find(struct xg_belt *belt, int state)
{
    pthread_mutex_lock(&belt->lock);
    struct xg_belt_block *block = oldest(belt, state, false);
    pthread_mutex_unlock(&belt->lock);
    return block;
}

static void enter(struct xg_belt *belt, struct xg_belt_block *block, int state)
{
    pthread_mutex_lock(&belt->lock);
    belt->down += state == XG_BLOCK_DOWN;
    belt->open += state == XG_BLOCK_FILLING || state == XG_BLOCK_EMPTYING;
    block->state = state;
    block->turn = belt->turns++;
    block->row_next = 0;
    block->rows_left = block->chunk.rows;
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

/* Only the pilot puts a FREE block to use, so it stays free until then. */
static struct xg_belt_block *free_block(struct xg_belt *belt)
{
    struct xg_belt_block *block = find(belt, XG_BLOCK_FREE);
    if (block)
        return block;
    block = find(belt, XG_BLOCK_UP);
    return block && copied(belt, block) ? block : NULL;
}

static bool store_possible(struct xg_belt *belt)
{
    pthread_mutex_lock(&belt->lock);
    bool possible = belt->down < DOWN_MAX;
    pthread_mutex_unlock(&belt->lock);
    return possible && xg_pipe_has_store(belt->pipe);
}

static bool load_wanted(struct xg_belt *belt)
{
    int filling = 0;
    pthread_mutex_lock(&belt->lock);
    for (int i = 0; i < XG_BELT_BLOCKS; i++)
        filling += belt->blocks[i].state == XG_BLOCK_FILLING &&
                   belt->blocks[i].row_next < belt->blocks[i].chunk.rows;
    pthread_mutex_unlock(&belt->lock);
    return filling < FILLING_MAX;
}

/* Lets blocks change sides. True when one did. */
static bool pump(struct xg_belt *belt)
{
    struct xg_pipe *pipe = belt->pipe;
    struct xg_belt_block *block;
    bool moved = false;
    while ((block = find(belt, XG_BLOCK_FILLED))) {
        xg_pipe_load(pipe, &block->chunk, block->host, block->copied);
        enter(belt, block, XG_BLOCK_UP);
        moved = true;
    }
    while ((block = find(belt, XG_BLOCK_DOWN)) && copied(belt, block)) {
        enter(belt, block, XG_BLOCK_EMPTYING);
        moved = true;
    }
    while (store_possible(belt) && (block = free_block(belt)) &&
           xg_pipe_take_store(pipe, &block->chunk, block->host, block->copied)) {
        enter(belt, block, XG_BLOCK_DOWN);
        moved = true;
    }
    while (load_wanted(belt) && (block = free_block(belt)) &&
           xg_pipe_take_load(pipe, &block->chunk)) {
        enter(belt, block, XG_BLOCK_FILLING);
        moved = true;
    }
    return moved;
}

static void fly(struct xg_belt *belt)
{
    struct piece piece;
    bool copies = belt->workers < PILOT_ALONE_MIN;
    for (int turns = 0; !belt->failed && !belt->ended; turns++) {
        if (pump(belt))
            turns = 0;
        else if (!copies || !take_piece(belt, &piece))
            pause_for(turns);
        else
            copy_piece(belt, &piece);
        bool ended = xg_pipe_exhausted(belt->pipe) && !find(belt, XG_BLOCK_DOWN);
        pthread_mutex_lock(&belt->lock);
        belt->failed = belt->pipe->status != XG_OK;
        belt->ended = ended;
        pthread_mutex_unlock(&belt->lock);
    }
}

/* --- The others ---------------------------------------------------------------------------- */

static bool over(struct xg_belt *belt)
{
    pthread_mutex_lock(&belt->lock);
    bool over = belt->failed || belt->ended;
    pthread_mutex_unlock(&belt->lock);
    return over;
}

void xg_belt_work(struct xg_belt *belt, int worker)
{
    if (worker == 0)
        fly(belt);
    else
        fesetenv(&belt->env);
    struct piece piece;
    for (int turns = 0;;) {
        if (belt->open > 0 && take_piece(belt, &piece)) {
            copy_piece(belt, &piece);
            turns = 0;
        } else if (over(belt)) {
            break;
        } else {
            pause_for(turns++);
        }
    }
    /* A block may have been opened between the last look and the end. */
    while (take_piece(belt, &piece))
        copy_piece(belt, &piece);
}
