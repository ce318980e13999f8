/* SPDX-License-Identifier: MIT */
/* Workers take stripes of blocks: filling them for the device, or emptying them into C. */
#include "pipeline/queue.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/batch.h"
#include "pipeline/stage.h"
#include "pipeline/triangle.h"

/* Blocks that write-backs may hold, so that loads are never without one. */
enum { DOWN_MAX = XG_QUEUE_BLOCKS / 2 };

/* Blocks open for filling: one that is being finished, and others to go on with. */
enum { FILLING_MAX = 3 };

/*
 * Blocks on their way up below which those who populate C pack instead. A thread that zeroes a huge
 * page cannot be called away from it, for up to 0.4 ms where memory is busy; the link moves five
 * blocks in that time.
 */
enum { UP_RESERVE = 5 };

/* In a smaller team than this the submitter copies too; in a larger one the link would wait for it.
 */
enum { SUBMITTER_ALONE_MIN = 4 };

/*
 * Rows packed into the caches cost memory one transfer, streamed ones three: the rows are read,
 * written, and read again by the device. But the device reads slowly (28 GB/s) what still lies in a
 * core's own cache, so that it pays only where enough is packed ahead to have gone from there to
 * the shared cache, and not at the very end, where nothing follows that would push it out (4096^3:
 * 3.15 ms; 3.39 when the last 48 MiB were streamed).
 */
static const size_t CACHED_AHEAD_BYTES = 12 << 20, CACHED_LEFT_BYTES = 6 << 20;

struct stripe {
    struct xg_queue_block *block;
    int64_t row, rows;
};

/* --- Queues -------------------------------------------------------------------------------- */

static void push(struct xg_queue_list *list, int block)
{
    list->block[list->tail++ % XG_QUEUE_BLOCKS] = (unsigned char)block;
}

static int pop(struct xg_queue_list *list)
{
    return list->block[list->head++ % XG_QUEUE_BLOCKS];
}

static int count(const struct xg_queue_list *list)
{
    return (int)(list->tail - list->head);
}

/* The first block of the list, or NULL. */
static struct xg_queue_block *first(const struct xg_queue *queue, const struct xg_queue_list *list)
{
    return count(list) ? &queue->blocks[list->block[list->head % XG_QUEUE_BLOCKS]] : NULL;
}

/*
 * Free blocks to move rows down, or up. Those that the device writes stay apart from those that it
 * reads, whose rows were streamed to memory past caches that need not hold them (2048^3 and 100000
 * x 64 x 64: 5 % less). Rows that are to stay in the caches take turns in as many blocks as there
 * are, which gives them time to leave a core's own.
 */
static struct xg_queue_list *free_blocks(struct xg_queue *queue, bool down)
{
    return down && !queue->staging.caches ? &queue->free_down : &queue->free_up;
}

int xg_queue_init(struct xg_queue *queue, struct xg_pipe *pipe, struct xg_queue_block *blocks,
                  const struct xg_staging *staging)
{
    *queue = (struct xg_queue){.pipe = pipe,
                               .drv = &pipe->dev->drv,
                               .call = pipe->call,
                               .elem_bytes = (int64_t)xg_problem_elem_bytes(pipe->call),
                               .staging = *staging,
                               .blocks = blocks};
    fegetenv(&queue->env);
    for (int i = 0; i < XG_QUEUE_BLOCKS; i++)
        push(free_blocks(queue, i < DOWN_MAX), i);
    if (staging->populate)
        xg_populate_init(&queue->populate, pipe->call);
    return staging->workers + (queue->populate.segments ? staging->joining : 0);
}

/* --- Stripes ------------------------------------------------------------------------------- */

static bool take_from(struct xg_queue *queue, struct xg_queue_work *work, struct stripe *stripe)
{
    int64_t at = atomic_load_explicit(&work->taken, memory_order_relaxed);
    do {
        if (at >= atomic_load_explicit(&work->given, memory_order_acquire))
            return false;
    } while (!atomic_compare_exchange_weak(&work->taken, &at, at + 1));
    /* Until this stripe is done the block is not put to use again, nor is its place in the list. */
    struct xg_queue_block *block =
        &queue->blocks[work->block[at / XG_QUEUE_STRIPES % XG_QUEUE_BLOCKS]];
    int64_t part = at % XG_QUEUE_STRIPES, rows = block->chunk.rows;
    int64_t row = rows * part / XG_QUEUE_STRIPES, end = rows * (part + 1) / XG_QUEUE_STRIPES;
    *stripe = (struct stripe){.block = block, .row = row, .rows = end - row};
    return true;
}

/*
 * What has arrived goes before what is to leave. After a failure only what has begun is ended: with
 * beta, rows of C must be all old or all new.
 */
static bool take_stripe(struct xg_queue *queue, struct stripe *stripe)
{
    return take_from(queue, &queue->to_commit, stripe) ||
           (!queue->failed && take_from(queue, &queue->to_pack, stripe));
}

static void copy_stripe(struct xg_queue *queue, const struct stripe *stripe)
{
    struct xg_queue_block *block = stripe->block;
    const struct xg_pipe_chunk *chunk = &block->chunk;
    const int64_t elem_bytes = queue->elem_bytes;
    char *staged = block->host + stripe->row * chunk->staged_ld * elem_bytes;
    const int64_t row = chunk->row + stripe->row;
    const struct xg_stage_rows from = {staged, chunk->staged_ld, stripe->rows, chunk->width};
    if (queue->call->batch && block->commit)
        xg_batch_commit(queue->call, row, &from);
    else if (queue->call->batch)
        xg_batch_pack(queue->call, chunk->b, row, staged, &from, block->cached);
    else if (block->commit)
        xg_stage_commit(queue->call, row, chunk->column, &from);
    else if (chunk->structured)
        xg_triangle_pack(queue->call, row, chunk->column, staged, &from);
    else
        xg_stage_pack(staged, chunk->staged_ld,
                      chunk->host + stripe->row * chunk->host_ld * elem_bytes, chunk->host_ld,
                      stripe->rows, chunk->width, (size_t)elem_bytes, block->cached);
    bool commit = block->commit;
    unsigned char *done = chunk->done;
    /* The last one's: after this the block is the submitter's, which may put it to use again. */
    if (atomic_fetch_sub(&block->stripes_left, 1) == 1 && commit)
        *done = 1;
}

/*
 * Waits a little. The driver's own sleeping wait comes back a tenth of a millisecond late, which
 * tripled the time of a 1024^3 product; its spinning one holds a core for as long as a large
 * product computes. So: spin for 0.15 ms, longer than a block takes on its way, then sleep in short
 * steps. A submitter who sleeps between two blocks leaves the link without work for as long.
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

/* --- The submitter -------------------------------------------------------------------------- */

/* Gives the block's rows to the workers. */
static void open_block(struct xg_queue *queue, int index, bool commit)
{
    struct xg_queue_block *block = &queue->blocks[index];
    block->commit = commit;
    block->stripes_left = XG_QUEUE_STRIPES;
    push(commit ? &queue->emptying : &queue->filling, index);
    struct xg_queue_work *work = commit ? &queue->to_commit : &queue->to_pack;
    int64_t given = atomic_load_explicit(&work->given, memory_order_relaxed);
    work->block[given / XG_QUEUE_STRIPES % XG_QUEUE_BLOCKS] = (unsigned char)index;
    atomic_store_explicit(&work->given, given + XG_QUEUE_STRIPES, memory_order_release);
}

static bool copied(struct xg_queue *queue, const struct xg_queue_block *block)
{
    CUresult result = XG_DRV_CALL(queue->drv, cuEventQuery, block->copied);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        xg_pipe_fail(queue->pipe, xg_drv_status(queue->drv, result, "cuEventQuery"));
    return result == CUDA_SUCCESS;
}

/* Takes back blocks whose rows are in the caller's memory, or on the device. */
static void reclaim(struct xg_queue *queue)
{
    struct xg_queue_block *block;
    while ((block = first(queue, &queue->emptying)) && block->stripes_left == 0)
        push(free_blocks(queue, true), pop(&queue->emptying));
    while ((block = first(queue, &queue->up)) && copied(queue, block))
        push(free_blocks(queue, false), pop(&queue->up));
}

/* The next block to fill, with its rows; NULL when there is none, or enough are ahead of it. */
static struct xg_queue_block *next_load(struct xg_queue *queue)
{
    struct xg_pipe *pipe = queue->pipe;
    struct xg_queue_block *block = first(queue, free_blocks(queue, false));
    int ahead = count(&queue->up) + count(&queue->filling);
    if (!block || count(&queue->filling) == FILLING_MAX || ahead >= queue->staging.ahead ||
        !xg_pipe_take_load(pipe, &block->chunk))
        return NULL;
    block->cached = queue->staging.caches &&
                    (size_t)ahead * pipe->load_bytes >= CACHED_AHEAD_BYTES &&
                    pipe->load_bytes_left >= CACHED_LEFT_BYTES;
    return block;
}

/* The copy of the block's rows begins. */
static void send(struct xg_queue *queue, struct xg_queue_block *block)
{
    xg_pipe_load(queue->pipe, &block->chunk, block->host, block->copied);
    queue->begun = true;
}

/* The block's rows have come down. */
static void receive(struct xg_queue *queue, struct xg_queue_block *block)
{
    int index = pop(&queue->down);
    bool refused = xg_pipe_refused(queue->pipe, &block->chunk);
    if (!refused && !block->chunk.direct) {
        open_block(queue, index, true);
        return;
    }
    if (!refused)
        *block->chunk.done = 1;
    push(free_blocks(queue, true), index);
}

/* Lets blocks change sides. True when one did. */
static bool pump(struct xg_queue *queue)
{
    struct xg_pipe *pipe = queue->pipe;
    struct xg_queue_block *block;
    bool moved = false;
    reclaim(queue);
    while ((block = first(queue, &queue->filling)) && block->stripes_left == 0) {
        send(queue, block);
        push(&queue->up, pop(&queue->filling));
        moved = true;
    }
    while ((block = first(queue, &queue->down)) && copied(queue, block)) {
        receive(queue, block);
        moved = true;
    }
    while (count(&queue->down) + count(&queue->emptying) < DOWN_MAX && xg_pipe_has_store(pipe) &&
           (block = first(queue, free_blocks(queue, true))) &&
           xg_pipe_take_store(pipe, &block->chunk, block->host, block->copied)) {
        push(&queue->down, pop(free_blocks(queue, true)));
        moved = true;
    }
    while ((block = next_load(queue))) {
        int index = pop(free_blocks(queue, false));
        if (block->chunk.direct) {
            send(queue, block);
            push(&queue->up, index);
        } else {
            open_block(queue, index, false);
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

static void count_stall(struct xg_queue *queue, struct stall *stall)
{
    static const double step_max_s = 0.01;
    double now_s = xg_clock_s();
    bool device = (count(&queue->up) || count(&queue->down)) && !count(&queue->filling) &&
                  !count(&queue->emptying) && !(queue->pipe->direct.c && count(&queue->down));
    stall->waited_s = device ? stall->waited_s + fmin(now_s - stall->last_s, step_max_s) : 0;
    stall->last_s = now_s;
    if (stall->waited_s > queue->pipe->dev->timeout_s) {
        xg_log(XG_LOG_INFO, "the device got nothing done for %g s", stall->waited_s);
        xg_pipe_fail(queue->pipe, XG_ERR_HUNG);
    }
}

/* Tells those who populate whether the link could run out of blocks. */
static void watch_link(struct xg_queue *queue)
{
    bool scarce = queue->begun && count(&queue->up) < UP_RESERVE;
    if (scarce != atomic_load_explicit(&queue->scarce, memory_order_relaxed))
        atomic_store_explicit(&queue->scarce, scarce, memory_order_relaxed);
}

/*
 * Until the first block has gone up there is no driver call to be in time for, and the others may
 * still be waking: the submitter copies as well.
 */
static void submit(struct xg_queue *queue)
{
    struct stripe stripe;
    struct stall stall = {0};
    bool copies = queue->staging.workers < SUBMITTER_ALONE_MIN;
    for (int turns = 0; !queue->failed && !queue->ended; turns++) {
        if (pump(queue))
            turns = 0;
        else if ((copies || !queue->begun) && take_stripe(queue, &stripe))
            copy_stripe(queue, &stripe);
        else
            pause_for(turns);
        watch_link(queue);
        if (turns == 0)
            stall.waited_s = 0;
        else if (turns > SPINNING_TURNS)
            count_stall(queue, &stall);
        if (queue->pipe->status != XG_OK)
            queue->failed = true;
        if (xg_pipe_exhausted(queue->pipe) && !count(&queue->down))
            queue->ended = !xg_pipe_again(queue->pipe);
    }
}

/* --- The others ---------------------------------------------------------------------------- */

static bool over(const struct xg_queue *queue)
{
    return queue->failed || queue->ended;
}

/* One segment that nobody has taken. False: there is none. */
static bool populate_segment(struct xg_queue *queue)
{
    struct xg_populate_range part = {0, 0};
    bool any = false;
    while (xg_populate_step(&queue->populate, &part)) {
        any = true;
        if (part.begin == part.end)
            break;
    }
    return any;
}

/*
 * Until the page of a byte of C is there. While another populates it, the caller takes the next
 * segments: were it to write, both would zero the same huge page. It waits little longer than that
 * takes, for who has begun may have lost its core; then nobody waits any more for this product.
 */
static void populate_byte(struct xg_queue *queue, const char *byte)
{
    static const double WAIT_S = 1e-3;
    double begin_s = 0;
    for (;;) {
        enum xg_populate_state state = xg_populate_at(&queue->populate, byte);
        if (state == XG_POPULATE_DONE)
            return;
        if (state == XG_POPULATE_BEGUN && begin_s > 0 && xg_clock_s() - begin_s > WAIT_S)
            xg_populate_wait_no_more(&queue->populate);
        if (state == XG_POPULATE_BEGUN && begin_s == 0)
            begin_s = xg_clock_s();
        if (!populate_segment(queue))
            pause_for(0);
    }
}

/*
 * Before its rows are committed. In a segment pages come in the order of addresses, and segments
 * are taken in that order: with the last page most of those before it are there.
 */
static void populate_to(struct xg_queue *queue, const struct stripe *stripe)
{
    const struct xg_pipe_chunk *chunk = &stripe->block->chunk;
    if (!queue->populate.segments || !stripe->block->commit || !chunk->host || stripe->rows == 0)
        return;
    const char *first = chunk->host + stripe->row * chunk->host_ld * queue->elem_bytes;
    populate_byte(queue, first);
    populate_byte(queue,
                  first + ((stripe->rows - 1) * chunk->host_ld + chunk->width) * queue->elem_bytes -
                      1);
}

/* Nobody packs between the pages of a segment that it has begun: others would wait for these. */
static bool pack_instead(struct xg_queue *queue, const struct xg_populate_range *part)
{
    struct stripe stripe;
    if (part->begin != part->end || !atomic_load_explicit(&queue->scarce, memory_order_relaxed) ||
        !take_from(queue, &queue->to_pack, &stripe))
        return false;
    copy_stripe(queue, &stripe);
    return true;
}

/* The product may end for the submitter before a segment is finished that others wait for. */
static bool is_over_for(const struct xg_queue *queue, const struct xg_populate_range *part)
{
    return queue->failed || (queue->ended && part->begin == part->end);
}

/*
 * The last staging.populate of the workers do so while the others upload, and help these where the
 * link could run out of blocks: both want memory's bandwidth, and the upload is what the product
 * waits for. When all of C is taken those beyond the copiers leave.
 */
static void populate_first(struct xg_queue *queue, int worker)
{
    struct xg_populate_range part = {0, 0};
    int all = queue->staging.workers + queue->staging.joining;
    if (worker < all - queue->staging.populate)
        return;
    while (!is_over_for(queue, &part) &&
           (pack_instead(queue, &part) || xg_populate_step(&queue->populate, &part)))
        ;
}

static void copy_stripes(struct xg_queue *queue)
{
    struct stripe stripe;
    for (int turns = 0;;) {
        bool last = over(queue); /* read before the last look for stripes */
        if (take_stripe(queue, &stripe)) {
            populate_to(queue, &stripe);
            copy_stripe(queue, &stripe);
            turns = 0;
        } else if (last) {
            break;
        } else {
            pause_for(turns++);
        }
    }
}

void xg_queue_work(struct xg_queue *queue, int worker)
{
    if (worker == 0)
        submit(queue);
    else
        fesetenv(&queue->env);
    if (worker > 0)
        populate_first(queue, worker);
    if (worker < queue->staging.workers)
        copy_stripes(queue);
}
