/* SPDX-License-Identifier: MIT */
/* Workers take stripes of blocks and fill them for the device, or empty them into C. */
#include "pipeline/queue.h"

#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/stage.h"

/* Most blocks open for filling: the one that is being finished, and the next ones. */
enum { FILLING_MAX = 3 };

/*
 * While fewer blocks are on their way up, threads that populate C pack instead. A thread cannot
 * interrupt the zeroing of a huge page, which takes up to 0.4 ms if memory is busy; the link moves
 * five blocks in that time.
 */
enum { UP_RESERVE = 5 };

/* In a smaller team the submitter copies too. In a larger team the link would wait for it. */
enum { SUBMITTER_ALONE_MIN = 4 };

/*
 * Rows that are packed into the caches cost memory one transfer, streamed rows three: they are
 * read, written, and read again by the device. But the device reads slowly (28 GB/s) from a core's
 * own cache. So packing into the caches pays only if enough rows are packed ahead that the oldest
 * have moved to the shared cache. It does not pay at the very end, when no later rows push them out
 * (4096^3: 3.15 ms; 3.39 when the last 48 MiB were streamed).
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
 * Free blocks for write-backs (down), or for loads. Blocks that the device writes stay apart from
 * blocks that it reads, whose rows were streamed to memory past caches that need not hold them
 * (2048^3 and 100000 x 64 x 64: 5 % less). If packed rows stay in the caches, both kinds share all
 * blocks, which gives a row time to leave a core's own cache.
 */
static struct xg_queue_list *free_blocks(struct xg_queue *queue, bool down)
{
    return down && !queue->staging.caches ? &queue->free_down : &queue->free_up;
}

int xg_queue_init(struct xg_queue *queue, struct xg_pipe *pipe, struct xg_queue_block *blocks,
                  int block_count, const struct xg_staging *staging)
{
    *queue = (struct xg_queue){.pipe = pipe,
                               .drv = &pipe->dev->drv,
                               .call = pipe->call,
                               .elem_bytes = (int64_t)xg_problem_elem_bytes(pipe->call),
                               .staging = *staging,
                               .blocks = blocks,
                               .down_most = block_count / 2};
    fegetenv(&queue->env);
    for (int i = 0; i < block_count; i++)
        push(free_blocks(queue, i < queue->down_most), i);
    const struct xg_populate_lines c = {
        .at = pipe->call->c,
        .count = pipe->call->m,
        .bytes = (size_t)(pipe->call->n * queue->elem_bytes),
        .ld_bytes = (size_t)(pipe->call->ldc * queue->elem_bytes),
    };
    if (staging->populate)
        xg_populate_init(&queue->populate, &c);
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
    /* Neither the block nor its place in the list is reused until this stripe is done. */
    struct xg_queue_block *block =
        &queue->blocks[work->block[at / XG_QUEUE_STRIPES % XG_QUEUE_BLOCKS]];
    int64_t part = at % XG_QUEUE_STRIPES, rows = block->chunk.rows;
    int64_t row = rows * part / XG_QUEUE_STRIPES, end = rows * (part + 1) / XG_QUEUE_STRIPES;
    *stripe = (struct stripe){.block = block, .row = row, .rows = end - row};
    return true;
}

/*
 * Rows that have arrived go before rows to pack. After a failure only commits that have begun are
 * finished: with beta, each row of C must be all old or all new.
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
    if (block->commit)
        xg_stage_commit(queue->call, row, chunk->column, &from);
    else if (queue->call->batch)
        xg_stage_pack_batch(queue->call, chunk->b, row, staged, &from, block->cached);
    else if (chunk->structured)
        xg_stage_pack_triangle(queue->call, row, chunk->column, staged, &from);
    else
        xg_stage_pack(staged, chunk->staged_ld,
                      chunk->host + stripe->row * chunk->host_ld * elem_bytes, chunk->host_ld,
                      stripe->rows, chunk->width, (size_t)elem_bytes, block->cached);
    bool commit = block->commit;
    unsigned char *done = chunk->done;
    /* The last stripe sets the flag. After this the submitter may reuse the block. */
    if (atomic_fetch_sub(&block->stripes_left, 1) == 1 && commit)
        *done = 1;
}

/*
 * Waits a little. The driver's sleeping wait returns a tenth of a millisecond late, which tripled
 * the time of a 1024^3 product; its spinning wait holds a core for as long as a large product
 * computes. So this function spins for 0.15 ms, longer than a block is on its way, and then sleeps
 * in short steps. While the submitter sleeps between two blocks, the link has no work.
 */
enum { SPINNING_TURNS = 1000 };

static void pause_for(int turns)
{
    enum { SPINS = 100 };
    if (turns > SPINNING_TURNS) {
        xg_clock_nap_us(20);
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

/* The next block to fill, with its rows; NULL when no block is free, or enough are ahead. */
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

/* Starts the copy of the block's rows to the device. */
static void send(struct xg_queue *queue, struct xg_queue_block *block)
{
    xg_pipe_load(queue->pipe, &block->chunk, block->host, block->copied);
    queue->begun = true;
}

/* Handles a block whose rows have arrived from the device. */
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

/* Moves blocks from list to list. True when one moved. */
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
    while (count(&queue->down) + count(&queue->emptying) < queue->down_most &&
           xg_pipe_has_store(pipe) && (block = first(queue, free_blocks(queue, true))) &&
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
 * Fails the product when the device makes no progress for too long. Time counts only while the
 * queue waits for nothing but the device, because workers may take any time to read the caller's
 * memory. It does not count while rows come down into a page-locked C, because nothing could stop
 * those rows from arriving later. Each look counts for step_max_s at most, so that time in which
 * the process is stopped does not count.
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

/* Tells the threads that populate whether the link could run out of blocks. */
static void watch_link(struct xg_queue *queue)
{
    bool scarce = queue->begun && count(&queue->up) < UP_RESERVE;
    if (scarce != atomic_load_explicit(&queue->scarce, memory_order_relaxed))
        atomic_store_explicit(&queue->scarce, scarce, memory_order_relaxed);
}

/*
 * The submitter copies as well until the first block has gone up: no driver call is due before
 * that, and the other workers may still be waking.
 */
static void submit(struct xg_queue *queue)
{
    struct stripe stripe;
    struct stall stall = {0};
    bool copies = queue->staging.workers < SUBMITTER_ALONE_MIN;
    xg_pipe_begin(queue->pipe);
    queue->begun = xg_pipe_is_loaded(queue->pipe);
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

/* Populates one segment that no thread has taken. False: there is none. */
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
 * Returns when the page of a byte of C is there. While another thread populates it, the caller
 * populates the next segments: if the caller wrote, both threads would zero the same huge page. The
 * caller waits little longer than zeroing takes, because the other thread may have lost its core;
 * after that no thread waits for pages of this product any more.
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
 * Called before the stripe's rows are committed. Segments are taken in the order of addresses, and
 * their pages are populated in that order: once the last page is there, most pages before it are.
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

/* A thread that has begun a segment packs nothing before the segment's end, because others wait for
 * its pages. */
static bool pack_instead(struct xg_queue *queue, const struct xg_populate_range *part)
{
    struct stripe stripe;
    if (part->begin != part->end || !atomic_load_explicit(&queue->scarce, memory_order_relaxed) ||
        !take_from(queue, &queue->to_pack, &stripe))
        return false;
    copy_stripe(queue, &stripe);
    return true;
}

/* The submitter may end the product before a segment is finished that other threads wait for. */
static bool is_over_for(const struct xg_queue *queue, const struct xg_populate_range *part)
{
    return queue->failed || (queue->ended && part->begin == part->end);
}

/*
 * The last staging.populate workers populate C while the others upload. They pack instead when the
 * link could run out of blocks: both kinds of work need memory bandwidth, and the product waits for
 * the upload. When all of C is taken, the workers beyond staging.workers leave.
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
