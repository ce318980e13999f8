/* SPDX-License-Identifier: MIT */
/* Pages of C that are not there yet, made present by several threads before rows are committed. */
#ifndef XG_POPULATE_H
#define XG_POPULATE_H

#include <stdatomic.h>

#include "base/xg.h"

/*
 * A C that was just allocated has no pages: whoever commits rows to it takes a page fault every 4
 * KiB, or has a whole huge page zeroed first, which every thread that arrives meanwhile does too
 * (4096^3 took 8.0 ms into a C from NumPy's allocator, 3.2 into an old one). MADV_POPULATE_WRITE
 * does what those writes would do, at twice the speed, and segments at multiples of a huge page
 * keep two threads from zeroing the same one.
 *
 * Only pages that the product writes to are populated: with the same protection, memory policy and
 * charge as if they were written to, only earlier. Where that is refused nothing is lost: the write
 * then meets what it would have met.
 */

/* --- Which pages, pure ----------------------------------------------------------------------- */

/* Whole pages, as addresses. begin == end: none. */
struct xg_populate_range {
    uintptr_t begin, end;
};

/*
 * C as runs of bytes whose every page is written to: one run, or one a row where the padding
 * between rows may hold whole pages. Runs are cut into segments: blocks, which begin and end at
 * multiples of block_bytes, and their ends before and behind these, which no huge page backs where
 * C is mapped alone, into parts of part_bytes.
 */
struct xg_populate_extent {
    uintptr_t begin; /* of the first run */
    int64_t runs;
    size_t run_bytes, ld_bytes; /* of a run; from one to the next */
    size_t page_bytes, block_bytes, part_bytes;
    int64_t run_blocks, end_parts; /* of a run, and of each of its ends, at most */
};

/* For a product with m, n >= 1. Without runs where they are too short to gain anything. */
struct xg_populate_extent xg_populate_extent_of(const struct xg_problem *call, size_t page_bytes);

/* How many segments there are, those that turn out to be empty included. */
int64_t xg_populate_count(const struct xg_populate_extent *extent);

/* Piece 0..count - 1, in the order of addresses, which is the order in which rows are
 * finished; may be empty. Together they hold all pages of all runs. */
struct xg_populate_range xg_populate_segment(const struct xg_populate_extent *extent,
                                             int64_t segment);

/* --- One product's C ------------------------------------------------------------------------- */

struct xg_populate {
    struct xg_populate_extent extent;
    int64_t segments;                   /* 0: nothing is to be done */
    atomic_bool unawaited;              /* the system refused, or a page took too long */
    _Alignas(64) _Atomic int64_t taken; /* segments */
    _Atomic int64_t finished;           /* of these, also those that were empty */
};

/*
 * Looks at two pages of C (three microseconds) and readies *populate: segments stays 0 where both
 * are there, where the system does not tell, or cannot populate. m, n >= 1. errno is kept.
 */
void xg_populate_init(struct xg_populate *populate, const struct xg_problem *call);

/*
 * Populates the next pages of *part, some 256 KiB (or the huge page that they are on), after taking
 * the next segment where it is empty, as it is at first. False when nothing is left to take, which
 * it is also after a failure. From any number of threads, each with a part of its own. errno is
 * kept.
 */
bool xg_populate_step(struct xg_populate *populate, struct xg_populate_range *part);

/* How far the segment with a byte of C is: nobody has taken it, somebody has but the byte's page is
 * not there yet (so says the system, in a microsecond), or nothing is to be waited for. */
enum xg_populate_state { XG_POPULATE_AWAITED, XG_POPULATE_BEGUN, XG_POPULATE_DONE };

/* errno is kept. */
enum xg_populate_state xg_populate_at(const struct xg_populate *populate, const void *byte);

/* From now on nothing is to be waited for: who has begun may have lost its core. */
void xg_populate_wait_no_more(struct xg_populate *populate);

#endif
