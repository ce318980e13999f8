/* SPDX-License-Identifier: MIT */
/* Asks the kernel which pages of a matrix are missing, and has it populate them. */
#define _GNU_SOURCE
#include "pipeline/populate.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/*
 * A block is a huge page. In a small matrix, which an allocator hardly ever backs with huge pages,
 * a block is smaller. A step, or a segment before or behind the blocks, takes one thread 50 us in
 * pages of 4 KiB; after each a thread of a product checks whether the product has failed. A huge
 * page takes 150 to 400 us, however few bytes are asked for. Meanwhile other threads of the program
 * can take page faults, but cannot map memory.
 */
static const size_t BLOCK_BYTES = 2 << 20, STEP_BYTES = 256 << 10, SMALL_BYTES = 4 << 20;

/* Lines with whole pages of padding between them are populated one by one, a system call each. */
static const size_t RUN_BYTES_MIN = 64 << 10;

/* --- Which pages --------------------------------------------------------------------------- */

struct xg_populate_extent xg_populate_extent_of(const struct xg_populate_lines *lines,
                                                size_t page_bytes)
{
    size_t all_bytes = (size_t)(lines->count - 1) * lines->ld_bytes + lines->bytes;
    struct xg_populate_extent extent = {
        .begin = (uintptr_t)lines->at,
        .runs = 1,
        .run_bytes = all_bytes,
        .ld_bytes = lines->ld_bytes,
        .page_bytes = page_bytes,
        .block_bytes = all_bytes < SMALL_BYTES ? STEP_BYTES : BLOCK_BYTES,
        .part_bytes = STEP_BYTES,
    };
    /* Padding of less than a page holds no whole page. */
    if (lines->count > 1 && lines->ld_bytes - lines->bytes >= page_bytes) {
        extent.runs = lines->bytes >= RUN_BYTES_MIN ? lines->count : 0;
        extent.run_bytes = lines->bytes;
    }
    extent.run_blocks = (int64_t)(extent.run_bytes / extent.block_bytes);
    extent.end_parts = (int64_t)(extent.block_bytes / extent.part_bytes);
    return extent;
}

/* A run's bytes; the bytes from body to tail are whole blocks. */
struct run {
    uintptr_t begin, body, tail, end;
};

static uintptr_t down_to(uintptr_t address, size_t multiple)
{
    return address - address % multiple;
}

static uintptr_t up_to(uintptr_t address, size_t multiple)
{
    return down_to(address + multiple - 1, multiple);
}

static uintptr_t least(uintptr_t a, uintptr_t b)
{
    return a < b ? a : b;
}

static uintptr_t most(uintptr_t a, uintptr_t b)
{
    return a > b ? a : b;
}

static struct run find_run(const struct xg_populate_extent *extent, int64_t index)
{
    struct run run = {.begin = extent->begin + (size_t)index * extent->ld_bytes};
    run.end = run.begin + extent->run_bytes;
    run.body = least(up_to(run.begin, extent->block_bytes), run.end);
    run.tail = most(down_to(run.end, extent->block_bytes), run.body);
    return run;
}

static int64_t run_pieces(const struct xg_populate_extent *extent)
{
    return extent->run_blocks + 2 * extent->end_parts;
}

int64_t xg_populate_count(const struct xg_populate_extent *extent)
{
    return extent->runs * run_pieces(extent);
}

struct xg_populate_range xg_populate_segment(const struct xg_populate_extent *extent,
                                             int64_t segment)
{
    struct run run = find_run(extent, segment / run_pieces(extent));
    int64_t head = segment % run_pieces(extent), block = head - extent->end_parts,
            tail = block - extent->run_blocks;
    uintptr_t from, begin, end;
    if (block < 0) {
        from = down_to(run.begin, extent->block_bytes) + (size_t)head * extent->part_bytes;
        begin = most(from, run.begin);
        end = least(from + extent->part_bytes, run.body);
    } else if (tail < 0) {
        begin = run.body + (size_t)block * extent->block_bytes;
        end = least(begin + extent->block_bytes, run.tail);
    } else {
        begin = run.tail + (size_t)tail * extent->part_bytes;
        end = least(begin + extent->part_bytes, run.end);
    }
    if (begin >= end)
        return (struct xg_populate_range){begin, begin};
    return (struct xg_populate_range){down_to(begin, extent->page_bytes),
                                      up_to(end, extent->page_bytes)};
}

/* The segment of a byte of the matrix. */
static int64_t piece_of(const struct xg_populate_extent *extent, uintptr_t byte)
{
    int64_t index = extent->runs > 1 ? (int64_t)((byte - extent->begin) / extent->ld_bytes) : 0;
    struct run run = find_run(extent, index);
    int64_t segment = index * run_pieces(extent);
    if (byte < run.body)
        return segment +
               (int64_t)((byte - down_to(run.begin, extent->block_bytes)) / extent->part_bytes);
    segment += extent->end_parts;
    if (byte < run.tail)
        return segment + (int64_t)((byte - run.body) / extent->block_bytes);
    return segment + extent->run_blocks + (int64_t)((byte - run.tail) / extent->part_bytes);
}

/* --- Asking the kernel --------------------------------------------------------------------- */

/*
 * The kernel also returns EINVAL for a page that cannot be written to. So this function asks for 0
 * bytes: a kernel that knows the advice then returns no error.
 */
static bool supported(size_t page_bytes)
{
    static _Atomic int known; /* 0: not asked, 1: yes, -1: no; any thread may ask first */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (!answer) {
        answer = madvise((void *)page_bytes, 0, MADV_POPULATE_WRITE) == 0 ? 1 : -1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer > 0;
}

/* True if the system reports the page as missing. */
static bool missing(uintptr_t address, size_t page_bytes)
{
    unsigned char there;
    return mincore((void *)down_to(address, page_bytes), page_bytes, &there) == 0 && !(there & 1);
}

/*
 * Looks at a page in the middle and at the last page, which an allocator's bookkeeping does not
 * touch. A matrix that lacks only other pages has not been allocated for this call. A look
 * takes 1.4 us; the smallest cube for which it is made is 512^3, which takes 120 us.
 */
static bool any_missing(const struct xg_populate_extent *extent)
{
    for (size_t half = 1; half <= 2; half++) {
        size_t run = (size_t)(extent->runs - 1) * half / 2;
        size_t byte = (extent->run_bytes - 1) / 2 * half;
        if (missing(extent->begin + run * extent->ld_bytes + byte, extent->page_bytes))
            return true;
    }
    return false;
}

void xg_populate_init(struct xg_populate *populate, const struct xg_populate_lines *lines)
{
    int saved_errno = errno;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    *populate = (struct xg_populate){.extent = xg_populate_extent_of(lines, page_bytes)};
    const struct xg_populate_extent *extent = &populate->extent;
    if (extent->runs && supported(page_bytes) && any_missing(extent))
        populate->segments = xg_populate_count(extent);
    errno = saved_errno;
}

/* --- The work ------------------------------------------------------------------------------ */

static bool all_taken(const struct xg_populate *populate)
{
    return atomic_load_explicit(&populate->taken, memory_order_relaxed) >= populate->segments;
}

static void finish(struct xg_populate *populate)
{
    atomic_fetch_add_explicit(&populate->finished, 1, memory_order_relaxed);
}

/* Takes segments until one is not empty. */
static bool take(struct xg_populate *populate, struct xg_populate_range *part)
{
    while (part->begin == part->end) {
        if (all_taken(populate))
            return false;
        int64_t segment = atomic_fetch_add_explicit(&populate->taken, 1, memory_order_relaxed);
        if (segment >= populate->segments)
            return false;
        *part = xg_populate_segment(&populate->extent, segment);
        if (part->begin == part->end)
            finish(populate);
    }
    return true;
}

bool xg_populate_step(struct xg_populate *populate, struct xg_populate_range *part)
{
    int saved_errno = errno;
    if (!take(populate, part))
        return false;
    size_t bytes = (size_t)xg_min_i64((int64_t)STEP_BYTES, (int64_t)(part->end - part->begin));
    bool done = madvise((void *)part->begin, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINTR;
    errno = saved_errno;
    part->begin += bytes;
    if (part->begin == part->end)
        finish(populate);
    if (!done) {
        /* The page is protected or guarded, or memory has run out: the program's own write meets
         * that. */
        xg_populate_wait_no_more(populate);
        atomic_store_explicit(&populate->taken, populate->segments, memory_order_relaxed);
        part->begin = part->end;
    }
    return done;
}

enum xg_populate_state xg_populate_at(const struct xg_populate *populate, const void *byte)
{
    if (atomic_load_explicit(&populate->finished, memory_order_relaxed) >= populate->segments)
        return XG_POPULATE_DONE;
    if (!all_taken(populate) && piece_of(&populate->extent, (uintptr_t)byte) >=
                                    atomic_load_explicit(&populate->taken, memory_order_relaxed))
        return XG_POPULATE_AWAITED;
    if (atomic_load_explicit(&populate->unawaited, memory_order_relaxed))
        return XG_POPULATE_DONE;
    int saved_errno = errno;
    bool begun = missing((uintptr_t)byte, populate->extent.page_bytes);
    errno = saved_errno;
    return begun ? XG_POPULATE_BEGUN : XG_POPULATE_DONE;
}

void xg_populate_wait_no_more(struct xg_populate *populate)
{
    atomic_store_explicit(&populate->unawaited, true, memory_order_relaxed);
}
