/* SPDX-License-Identifier: MIT */
/* Several threads populate the missing pages of a matrix before its elements are written. */
#ifndef XG_POPULATE_H
#define XG_POPULATE_H

#include <stdatomic.h>

#include "base/xg.h"

/*
 * A C that was just allocated has no pages. A thread that commits rows to it takes a page fault
 * every 4 KiB, or first zeroes a whole huge page, as does every other thread that faults on that
 * page meanwhile (4096^3 took 8.0 ms into a C from NumPy's allocator, 3.2 into an old one).
 * MADV_POPULATE_WRITE does what those writes would do, at twice the speed, and segments at
 * multiples of a huge page keep two threads from zeroing the same one.
 *
 * Only pages that the call writes to are populated, with the same protection, memory policy and
 * charge as by a write, but earlier. If the kernel refuses, the call's own write populates the page
 * as usual.
 */

/* --- Which pages, pure ----------------------------------------------------------------------- */

/* Whole pages, as addresses. begin == end: none. */
struct xg_populate_range {
    uintptr_t begin, end;
};

/* A matrix in host memory: the rows of a row-major one, or the columns of a column-major one. */
struct xg_populate_lines {
    const void *at;
    int64_t count;
    size_t bytes, ld_bytes; /* of a line; from one line to the next */
};

/*
 * The matrix as runs of bytes; the call writes to every page of a run. There is one run, or one for
 * each line if the padding between lines may hold whole pages. Runs are cut into segments: blocks,
 * which begin and end at multiples of block_bytes, and parts of part_bytes before and behind the
 * blocks. If nothing else is mapped beside the matrix, no huge page backs those parts.
 */
struct xg_populate_extent {
    uintptr_t begin; /* of the first run */
    int64_t runs;
    size_t run_bytes, ld_bytes; /* of a run; from one run to the next */
    size_t page_bytes, block_bytes, part_bytes;
    int64_t run_blocks, end_parts; /* at most: blocks of a run, and parts of each of its ends */
};

/* For one line or more. There are no runs if they would be too short to gain anything. */
struct xg_populate_extent xg_populate_extent_of(const struct xg_populate_lines *lines,
                                                size_t page_bytes);

/* The number of segments, including those that turn out to be empty. */
int64_t xg_populate_count(const struct xg_populate_extent *extent);

/* Segment 0..count - 1, in the order of addresses, which is the order in which lines are finished.
 * It may be empty. All segments together hold all pages of all runs. */
struct xg_populate_range xg_populate_segment(const struct xg_populate_extent *extent,
                                             int64_t segment);

/* --- One matrix ------------------------------------------------------------------------------ */

struct xg_populate {
    struct xg_populate_extent extent;
    int64_t segments;                   /* 0: there is nothing to do */
    atomic_bool unawaited;              /* the system refused, or a page took too long */
    _Alignas(64) _Atomic int64_t taken; /* segments taken */
    _Atomic int64_t finished;           /* segments finished, empty ones included */
};

/*
 * Looks at two pages of the matrix (three microseconds) and initializes *populate. `segments` stays
 * 0 if both pages exist, or if the system does not tell or cannot populate. errno is kept.
 */
void xg_populate_init(struct xg_populate *populate, const struct xg_populate_lines *lines);

/*
 * Populates the next pages of *part, some 256 KiB (or the huge page that holds them). If *part is
 * empty (at first it is), the function first takes the next segment. Returns false when no segment
 * is left, and after a failure. Any number of threads may call it, each with its own part. errno is
 * kept.
 */
bool xg_populate_step(struct xg_populate *populate, struct xg_populate_range *part);

/* State of the segment that holds a byte of the matrix. AWAITED: no thread has taken the segment;
 * BEGUN: a thread has taken it, but the byte's page is still missing (asking the system takes a
 * microsecond); DONE: do not wait. */
enum xg_populate_state { XG_POPULATE_AWAITED, XG_POPULATE_BEGUN, XG_POPULATE_DONE };

/* The state for `byte`. errno is kept. */
enum xg_populate_state xg_populate_at(const struct xg_populate *populate, const void *byte);

/* Makes all threads stop waiting for pages, because the thread that has begun one may have lost its
 * core. */
void xg_populate_wait_no_more(struct xg_populate *populate);

#endif
