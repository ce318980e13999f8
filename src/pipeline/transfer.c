/* SPDX-License-Identifier: MIT */
/*
 * A matrix moves in chunks, rectangles of the device's matrix. Each worker has two blocks of its
 * own: it copies rows to or from one while the device copies the other. Chunks of 1 MiB are best:
 * chunks of 512 KiB or 2 MiB take 4096 x 4096 doubles at least a quarter longer (kernels/NOTES.md).
 * More than eight workers wait for each other in the driver.
 */
#include "pipeline/transfer.h"

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "pipeline/copy.h"
#include "pipeline/magnitude.h"

enum { BLOCKS_EACH = 2 };
enum { CHUNK_BYTES_LEAST = 128 << 10, CHUNK_BYTES_MOST = 1 << 20 };

/* How a matrix is cut: into chunks of row_step by column_step, `down` of them below each other. */
struct grid {
    int64_t rows, columns; /* of the device's matrix */
    int64_t row_step, column_step, down;
    int64_t first; /* number of its first chunk among those of all matrices */
};

struct job {
    struct xg_lane *lane;
    const struct xg_transfer *transfers;
    int count;
    struct grid grids[XG_SLOT_COUNT];
    int64_t chunks;
    _Alignas(64) _Atomic int64_t taken;
    _Atomic int status; /* the first failure */
    _Atomic bool infinite;
};

/* Rows [row, row + rows) and columns [column, column + columns) of the device's matrix. */
struct chunk {
    const struct xg_transfer *transfer;
    int64_t row, rows, column, columns;
};

/* --- Chunks ---------------------------------------------------------------------------------- */

static void cut(struct job *job, int workers)
{
    int64_t bytes = 0;
    for (int i = 0; i < job->count; i++)
        bytes += job->transfers[i].host.rows * job->transfers[i].host.columns *
                 (int64_t)job->transfers[i].elem_bytes;
    int64_t chunk_bytes = xg_max_i64(CHUNK_BYTES_LEAST,
                                     xg_min_i64(CHUNK_BYTES_MOST, bytes / (BLOCKS_EACH * workers)));
    job->chunks = 0;
    for (int i = 0; i < job->count; i++) {
        const struct xg_transfer *transfer = &job->transfers[i];
        const struct xg_matrix *host = &transfer->host;
        struct grid *grid = &job->grids[i];
        int64_t elem_bytes = (int64_t)transfer->elem_bytes;
        grid->rows = transfer->conjugate ? host->columns : host->rows;
        grid->columns = transfer->conjugate ? host->rows : host->columns;
        grid->row_step = xg_min_i64(grid->rows, CHUNK_BYTES_MOST / elem_bytes);
        grid->column_step = xg_max_i64(1, chunk_bytes / (grid->row_step * elem_bytes));
        grid->down = xg_ceil_div(grid->rows, grid->row_step);
        grid->first = job->chunks;
        job->chunks += grid->down * xg_ceil_div(grid->columns, grid->column_step);
    }
}

static struct chunk chunk_of(const struct job *job, int64_t number)
{
    int i = job->count - 1;
    while (number < job->grids[i].first)
        i--;
    const struct grid *grid = &job->grids[i];
    int64_t at = number - grid->first;
    struct chunk chunk = {.transfer = &job->transfers[i],
                          .row = at % grid->down * grid->row_step,
                          .column = at / grid->down * grid->column_step};
    int64_t end = xg_min_i64(grid->rows, chunk.row + grid->row_step);
    chunk.columns = xg_min_i64(grid->column_step, grid->columns - chunk.column);
    if (chunk.transfer->part == XG_LOWER)
        chunk.row = xg_max_i64(chunk.row, chunk.column);
    if (chunk.transfer->part == XG_UPPER)
        end = xg_min_i64(end, chunk.column + chunk.columns);
    chunk.rows = end - chunk.row;
    return chunk;
}

/* False if no chunk is left, or a worker has failed. */
static bool take(struct job *job, struct chunk *chunk)
{
    for (;;) {
        int64_t number = atomic_fetch_add(&job->taken, 1);
        if (number >= job->chunks || atomic_load(&job->status) != XG_OK ||
            atomic_load(&job->infinite))
            return false;
        *chunk = chunk_of(job, number);
        if (chunk->rows > 0)
            return true;
    }
}

/* --- Between the host's matrix and a block ---------------------------------------------------- */

/* to[j * to_ld + i] = conj(from[i * from_ld + j]), in squares that stay in the nearest cache. */
#define DEFINE_TRANSPOSE(name, number, parts)                                                      \
    static void name(void *target, int64_t to_ld, const void *source, int64_t from_ld,             \
                     int64_t rows, int64_t columns)                                                \
    {                                                                                              \
        enum { SIDE = 16 };                                                                        \
        const number *from = source;                                                               \
        number *to = target;                                                                       \
        for (int64_t row = 0; row < rows; row += SIDE)                                             \
            for (int64_t j = 0; j < columns; j++)                                                  \
                for (int64_t i = row; i < rows && i < row + SIDE; i++) {                           \
                    const number *x = from + (i * from_ld + j) * (parts);                          \
                    number *y = to + (j * to_ld + i) * (parts);                                    \
                    y[0] = x[0];                                                                   \
                    if ((parts) == 2)                                                              \
                        y[(parts)-1] = -x[(parts)-1];                                              \
                }                                                                                  \
    }
DEFINE_TRANSPOSE(transpose_s, float, 1)
DEFINE_TRANSPOSE(transpose_d, double, 1)
DEFINE_TRANSPOSE(transpose_c, float, 2)
DEFINE_TRANSPOSE(transpose_z, double, 2)

static void (*const transpose[XG_TYPE_COUNT])(void *to, int64_t to_ld, const void *from,
                                              int64_t from_ld, int64_t rows, int64_t columns) = {
    [XG_TYPE_S] = transpose_s,
    [XG_TYPE_D] = transpose_d,
    [XG_TYPE_C] = transpose_c,
    [XG_TYPE_Z] = transpose_z,
};

static char *host_at(const struct xg_transfer *transfer, int64_t row, int64_t column)
{
    return (char *)transfer->host.at +
           (row + column * transfer->host.ld) * (int64_t)transfer->elem_bytes;
}

static bool is_wide(const struct xg_transfer *transfer)
{
    return xg_type_is_double(transfer->type);
}

static void raise_to(uint64_t *largest, uint64_t magnitude)
{
    *largest = magnitude > *largest ? magnitude : *largest;
}

/* The stored rows [*begin, *end) of a column of the chunk. */
static void stored(const struct chunk *chunk, int64_t column, int64_t *begin, int64_t *end)
{
    xg_matrix_column(&chunk->transfer->host, chunk->transfer->part, column, begin, end);
    *begin = xg_min_i64(xg_max_i64(*begin, chunk->row), chunk->row + chunk->rows);
    *end = xg_max_i64(xg_min_i64(*end, chunk->row + chunk->rows), *begin);
}

/* Copies numbers in pieces that stay in the nearest cache, and raises *largest to their largest
 * magnitude. */
static void copy_numbers(const struct xg_transfer *t, xg_copy *copy, void *to, const void *from,
                         size_t bytes, uint64_t *largest)
{
    enum { PIECE_BYTES = 4096 };
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        const size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        copy((char *)to + at, (const char *)from + at, piece);
        raise_to(largest, xg_magnitude_largest((const char *)from + at, piece, is_wide(t)));
    }
}

static size_t block_bytes(const struct chunk *chunk)
{
    return (size_t)(chunk->rows * chunk->columns) * chunk->transfer->elem_bytes;
}

/* Both return the largest magnitude of what they copy. */

static uint64_t pack(const struct chunk *chunk, char *block)
{
    const struct xg_transfer *t = chunk->transfer;
    uint64_t largest = 0;
    if (t->conjugate) {
        transpose[t->type](block, chunk->rows, host_at(t, chunk->column, chunk->row), t->host.ld,
                           chunk->rows, chunk->columns);
        return xg_magnitude_largest(block, block_bytes(chunk), is_wide(t));
    }
    for (int64_t i = 0; i < chunk->columns; i++) {
        int64_t begin, end;
        char *to = block + i * chunk->rows * (int64_t)t->elem_bytes;
        stored(chunk, chunk->column + i, &begin, &end);
        size_t before = (size_t)(begin - chunk->row) * t->elem_bytes;
        size_t bytes = (size_t)(end - begin) * t->elem_bytes;
        size_t behind = (size_t)(chunk->row + chunk->rows - end) * t->elem_bytes;
        memset(to, 0, before);
        copy_numbers(t, xg_copy_keep, to + before, host_at(t, begin, chunk->column + i), bytes,
                     &largest);
        memset(to + before + bytes, 0, behind);
    }
    return largest;
}

static uint64_t unpack(const struct chunk *chunk, const char *block)
{
    const struct xg_transfer *t = chunk->transfer;
    uint64_t largest = 0;
    if (t->conjugate) {
        transpose[t->type](host_at(t, chunk->column, chunk->row), t->host.ld, block, chunk->rows,
                           chunk->columns, chunk->rows);
        return xg_magnitude_largest(block, block_bytes(chunk), is_wide(t));
    }
    for (int64_t i = 0; i < chunk->columns; i++) {
        int64_t begin, end;
        stored(chunk, chunk->column + i, &begin, &end);
        copy_numbers(t, xg_copy_drain, host_at(t, begin, chunk->column + i),
                     block + (i * chunk->rows + begin - chunk->row) * (int64_t)t->elem_bytes,
                     (size_t)(end - begin) * t->elem_bytes, &largest);
    }
    return largest;
}

/* Notes the largest magnitude of a chunk. False: it is not finite. */
static bool note(struct job *job, const struct xg_transfer *t, uint64_t largest)
{
    if (!xg_magnitude_is_finite(largest, is_wide(t))) {
        atomic_store(&job->infinite, true);
        return false;
    }
    uint64_t noted = t->largest ? atomic_load(t->largest) : largest;
    while (noted < largest && !atomic_compare_exchange_weak(t->largest, &noted, largest))
        ;
    return true;
}

/* --- Between a block and the device ----------------------------------------------------------- */

static void fail(struct job *job, enum xg_status status)
{
    int none = XG_OK;
    atomic_compare_exchange_strong(&job->status, &none, (int)status);
}

/* Enqueues the copy of the chunk between the block and the device. */
static bool send(struct job *job, struct xg_queue_block *block, const struct chunk *chunk,
                 bool down)
{
    const struct xg_transfer *t = chunk->transfer;
    const struct xg_dev *dev = job->lane->dev;
    const CUstream stream = job->lane->streams[0];
    size_t width = (size_t)chunk->rows * t->elem_bytes;
    CUdeviceptr device =
        t->device + (CUdeviceptr)(chunk->row + chunk->column * t->device_ld) * t->elem_bytes;
    enum xg_status status =
        xg_mem_host_copy(dev, !down, device, (size_t)t->device_ld * t->elem_bytes, block->host,
                         width, width, (size_t)chunk->columns, stream);
    if (status == XG_OK)
        status = XG_DRV(&dev->drv, cuEventRecord, block->copied, stream);
    if (status != XG_OK)
        fail(job, status);
    return status == XG_OK;
}

/* Waits for the block's copy. False after a failure. */
static bool await(struct job *job, const struct xg_queue_block *block)
{
    enum { SPINS = 1000 };
    const struct xg_dev *dev = job->lane->dev;
    enum xg_status status = xg_dev_await(dev, block->copied, SPINS, dev->timeout_s);
    if (status != XG_OK)
        fail(job, status);
    return status == XG_OK;
}

/* --- Workers --------------------------------------------------------------------------------- */

static void load(struct job *job, struct xg_queue_block *blocks)
{
    struct chunk chunk;
    bool sent[BLOCKS_EACH] = {false};
    for (int turn = 0; take(job, &chunk); turn = (turn + 1) % BLOCKS_EACH) {
        if (sent[turn] && !await(job, &blocks[turn]))
            return;
        if (!note(job, chunk.transfer, pack(&chunk, blocks[turn].host)))
            break;
        xg_copy_fence();
        if (!(sent[turn] = send(job, &blocks[turn], &chunk, false)))
            break;
    }
    for (int i = 0; i < BLOCKS_EACH; i++)
        if (sent[i] && !await(job, &blocks[i]))
            return;
}

static void store(struct job *job, struct xg_queue_block *blocks)
{
    struct chunk chunks[BLOCKS_EACH];
    bool sent[BLOCKS_EACH] = {false};
    bool more = true;
    for (int turn = 0; more; turn = (turn + 1) % BLOCKS_EACH) {
        int other = (turn + 1) % BLOCKS_EACH;
        more = take(job, &chunks[turn]);
        sent[turn] = more && send(job, &blocks[turn], &chunks[turn], true);
        if (sent[other]) {
            if (!await(job, &blocks[other]))
                return;
            sent[other] = false;
            note(job, chunks[other].transfer, unpack(&chunks[other], blocks[other].host));
            xg_copy_fence();
        }
    }
}

static void work(struct job *job, int worker, void (*move)(struct job *, struct xg_queue_block *))
{
    struct xg_lane *lane = job->lane;
    int before;
    enum xg_status status = xg_dev_begin(lane->dev, &before);
    if (status == XG_OK) {
        move(job, &lane->blocks[worker * BLOCKS_EACH]);
        xg_dev_end(lane->dev, before);
    } else {
        fail(job, status);
    }
}

static void load_worker(void *job, int worker)
{
    work(job, worker, load);
}

static void store_worker(void *job, int worker)
{
    work(job, worker, store);
}

static enum xg_status run(struct job *job, void (*worker)(void *, int))
{
    int workers = (int)xg_min_i64(job->lane->workers, job->lane->block_count / BLOCKS_EACH);
    cut(job, workers);
    xg_team_run(job->lane->team, (int)xg_max_i64(1, xg_min_i64(workers, job->chunks)), worker, job);
    return (enum xg_status)atomic_load(&job->status);
}

enum xg_status xg_transfer_up(struct xg_lane *lane, const struct xg_transfer *transfers, int count,
                              bool *finite)
{
    struct job job = {.lane = lane, .transfers = transfers, .count = count};
    enum xg_status status = run(&job, load_worker);
    *finite = !atomic_load(&job.infinite);
    return status;
}

enum xg_status xg_transfer_down(struct xg_lane *lane, const struct xg_transfer *transfers,
                                int count, bool *finite)
{
    struct job job = {.lane = lane, .transfers = transfers, .count = count};
    enum xg_status status = run(&job, store_worker);
    *finite = !atomic_load(&job.infinite);
    return status;
}
