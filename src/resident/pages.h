/* SPDX-License-Identifier: MIT */
/* Tells which pages of the program's memory were written since they were last asked about. */
/*
 * The kernel protects pages against writes ("arms" them) and notes each first write to an armed
 * page by removing the protection, without the program's notice (userfaultfd, asynchronous). A copy
 * that was read after its pages were armed equals them as long as they are armed: a store that is
 * visible before the read is in the copy, and a store after arming is noted before it happens.
 * doc/explanation/residency.md says what this does not cover.
 *
 * A fetch returns what was noted, and arms those pages again. It consumes what it returns, so every
 * copy of a page must be told in the same lock; xg_table_mark does that.
 *
 * Pages wholly inside an operand are tracked: the caller sends the bytes before and after them each
 * time. It also asks CUDA whether it knows the memory, to which devices then may write.
 */
#ifndef XG_PAGES_H
#define XG_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses; of whole pages unless a comment says otherwise. begin == end: none. */
struct xg_pages_range {
    uintptr_t begin, end;
};

/* --- The system underneath ------------------------------------------------------------------- */

/* Categories of pages, as PAGEMAP_SCAN numbers them. */
enum {
    XG_PAGES_TRACKED = 1 << 0, /* in a mapping whose writes are noted */
    XG_PAGES_WRITTEN = 1 << 1, /* not armed */
    XG_PAGES_FILE = 1 << 2,
    XG_PAGES_PRESENT = 1 << 3,
    XG_PAGES_SWAPPED = 1 << 4, /* also a mark in the place of a page that does not exist */
    XG_PAGES_HUGE = 1 << 6,
};

struct xg_pages_scan {
    struct xg_pages_range range;
    uint64_t wanted;   /* only pages with these categories are returned */
    uint64_t returned; /* the categories that are returned of them */
    bool arm;          /* arms what it returns, in one step; fails in a mapping without tracking */
    uintptr_t walked;  /* set: where the scan ended, because the spans were full or at the end */
    size_t room;       /* of spans */
    struct xg_pages_span { /* set, ascending: neighbouring pages of equal categories */
        uint64_t begin, end, categories;
    } * spans;
};

struct xg_pages_mapping {
    struct xg_pages_range range;
    bool plain; /* private, readable, writable and anonymous, and not the first thread's stack */
};

/* What the self-test does to pages of its own: a write to each, MADV_DONTNEED, mremap to another
 * place (the mapping stays, without the pages). */
enum xg_pages_change { XG_PAGES_WRITE, XG_PAGES_FREE, XG_PAGES_MOVE };

/*
 * The system calls that pages.c makes, each as a function: uffd.c has the kernel's, and the tests
 * have one that keeps pages in arrays. `self` is the system's own data. Functions that return bool
 * return false if the system refuses. errno may change.
 */
struct xg_pages_system {
    const char *(*open)(void *self); /* NULL, or why not (a constant); then nothing is open */
    bool (*ours)(void *self);        /* the descriptors are those that open() opened */
    void (*close)(void *self);       /* descriptors that are not ours stay open */
    /* The mapping that holds `at`, or the next one above. False: there is none, or no answer. */
    bool (*find)(void *self, uintptr_t at, struct xg_pages_mapping *found);
    bool (*track)(void *self, struct xg_pages_range mapping, bool on);
    bool (*protect)(void *self, struct xg_pages_range pages, bool on);
    int (*scan)(void *self, struct xg_pages_scan *scan); /* the number of spans, or -1 */
    int64_t (*pinned_kib)(void *self); /* of the process, for I/O; -1: not known */
    /* The self-test's own memory, in huge pages if possible; begin is a multiple of its size. 0:
     * none. */
    uintptr_t (*map)(void *self, size_t bytes, bool huge);
    void (*unmap)(void *self, struct xg_pages_range pages);
    bool (*change)(void *self, struct xg_pages_range pages, enum xg_pages_change change);
};

/* --- The tracker ----------------------------------------------------------------------------- */

/* How pages are proved unchanged. */
enum xg_pages_way {
    XG_PAGES_OFF,
    XG_PAGES_PROVE,  /* each page is proved: it is tracked, exists, is armed and not a file's */
    XG_PAGES_REPORT, /* the kernel reports written pages and arms them in one step; allowed only if
                      * it also reports pages that were freed or moved away */
};

/* One per process. Not locked: the caller calls one function at a time. */
struct xg_pages {
    const struct xg_pages_system *system;
    void *self;
    size_t page_bytes;
    enum xg_pages_way way;
    const char *why; /* the way is OFF: why; a constant */
    /* Seconds per page, by the self-test; [1]: of huge pages, per ordinary page. */
    struct xg_pages_costs {
        double arm_s, disarm_s, write_s; /* write: the first one to an armed page */
    } costs[2];
};

enum xg_pages_result {
    XG_PAGES_DONE,
    XG_PAGES_FOREIGN, /* arming only: memory that cannot be tracked; nothing else changed */
    XG_PAGES_CHANGED, /* another mapping, or the kernel refused: forget all copies of these pages */
    XG_PAGES_PINNED,  /* devices may write to pinned memory: forget all copies of all pages; nothing
                       * can be armed until it is unpinned */
    XG_PAGES_GONE,    /* off, or the program closed the descriptors: forget all copies, for ever */
};

/* Words for a result, for messages; never NULL. */
const char *xg_pages_result_text(enum xg_pages_result result);

/* Called with pages that may differ from every copy that was read before this call. */
typedef void xg_pages_mark(void *of, struct xg_pages_range pages);

/* The pages wholly inside some bytes. */
static inline struct xg_pages_range xg_pages_inside(const void *at, size_t bytes, size_t page_bytes)
{
    const uintptr_t begin = ((uintptr_t)at + page_bytes - 1) / page_bytes * page_bytes;
    const uintptr_t end = ((uintptr_t)at + bytes) / page_bytes * page_bytes;
    return (struct xg_pages_range){begin, end > begin ? end : begin};
}

/*
 * Opens the system; selftest.h chooses the way, which is OFF until then. False: pages->why says
 * why; every function below may still be called, and does nothing. Once per process, which must be
 * open (base/sandbox.h).
 */
bool xg_pages_open(struct xg_pages *pages, const struct xg_pages_system *system, void *self);

/*
 * Arms pages: what is read of them from now on is a copy that a later fetch may prove equal. Calls
 * mark(of, ...) for all that were not armed already. Returns DONE, FOREIGN, CHANGED, PINNED or
 * GONE; unless DONE, the pages are not armed. 10 us a MiB, of huge pages 0.2; it sleeps between
 * parts of 64 MiB, so that other threads can map memory meanwhile.
 */
enum xg_pages_result xg_pages_arm(struct xg_pages *pages, struct xg_pages_range range,
                                  xg_pages_mark *mark, void *of);

/*
 * Calls mark(of, ...) for all pages of an armed range that may have been written since the last
 * call that returned them, and arms them again. Returns DONE, CHANGED, PINNED or GONE. Without
 * writes it takes 1.4 us and 0.33 us a MiB; by proof five times as long.
 */
enum xg_pages_result xg_pages_fetch(struct xg_pages *pages, struct xg_pages_range range,
                                    xg_pages_mark *mark, void *of);

/* Writes to these pages cost nothing any more; a fetch of any of them returns it as written. */
void xg_pages_disarm(struct xg_pages *pages, struct xg_pages_range range);

/* True if most of these pages, or of the first of them, are in huge pages. */
bool xg_pages_are_huge(struct xg_pages *pages, struct xg_pages_range range);

/* Ends all tracking, also if a child holds the descriptors, and closes them. why: a constant. */
void xg_pages_close(struct xg_pages *pages, const char *why);

/* The same in a forked child, whose descriptors are of its parent's memory: it only closes them. */
void xg_pages_close_in_child(struct xg_pages *pages);

#endif
