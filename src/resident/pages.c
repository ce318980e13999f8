/* SPDX-License-Identifier: MIT */
/* Arms, fetches and disarms pages by the calls of a struct xg_pages_system. */
#include "resident/pages.h"

#include <unistd.h>

#include "base/clock.h"
#include "host/stack.h"

/* While pages are armed, another thread that maps memory waits: for all of them, if there is no
 * pause, however small the parts are. */
static const size_t PART_BYTES = (size_t)64 << 20;
enum { PAUSE_US = 30, SPANS = 128 };

/* One walk over a range. */
struct walk {
    struct xg_pages *pages;
    xg_pages_mark *mark;
    void *of;
    bool found; /* some page was not proved */
    struct xg_pages_range part;
};

const char *xg_pages_result_text(enum xg_pages_result result)
{
    static const char *const texts[] = {"done", "memory that cannot be tracked",
                                        "another mapping in its place",
                                        "memory is pinned for devices", "tracking is off"};
    return texts[result];
}

/* --- Mappings -------------------------------------------------------------------------------- */

/* Visits each mapping of the range; visit may be NULL. True if they leave no gap, each is plain,
 * and each visit returned true. */
static bool each_mapping(struct xg_pages *pages, struct xg_pages_range range,
                         bool (*visit)(struct xg_pages *, struct xg_pages_mapping))
{
    struct xg_pages_mapping found;
    bool good = true;
    for (uintptr_t at = range.begin; at < range.end; at = found.range.end) {
        if (!pages->system->find(pages->self, at, &found) || found.range.end <= at)
            return false;
        good = good && found.range.begin <= at && found.plain;
        if (visit && found.range.begin < range.end)
            good = visit(pages, found) && good;
    }
    return good;
}

static bool is_trackable(struct xg_pages *pages, struct xg_pages_range range)
{
    return !xg_stack_holds((const void *)range.begin) &&
           !xg_stack_holds((const void *)(range.end - 1)) && each_mapping(pages, range, NULL);
}

/* The whole mapping: the kernel refuses to extend one that is tracked in part. */
static bool track(struct xg_pages *pages, struct xg_pages_mapping mapping)
{
    return mapping.plain && pages->system->track(pages->self, mapping.range, true);
}

static bool release(struct xg_pages *pages, struct xg_pages_mapping mapping)
{
    return pages->system->track(pages->self, mapping.range, false);
}

/* Tracking it once more fails if it is another userfaultfd's, which some kernels would end. */
static bool release_ours(struct xg_pages *pages, struct xg_pages_mapping mapping)
{
    return track(pages, mapping) && release(pages, mapping);
}

/* --- Walks ----------------------------------------------------------------------------------- */

static void tell(struct walk *walk, struct xg_pages_range range)
{
    walk->found = true;
    walk->mark(walk->of, range);
}

/* False: the scan failed. */
static bool scan_from(struct walk *walk, struct xg_pages_scan *scan, uintptr_t at, int *count)
{
    scan->range = (struct xg_pages_range){at, walk->part.end};
    scan->room = SPANS;
    *count = walk->pages->system->scan(walk->pages->self, scan);
    return *count >= 0 && scan->walked > at;
}

/* The kernel returns what was written, and arms it in the same step. */
static bool report(struct walk *walk)
{
    struct xg_pages_span spans[SPANS];
    struct xg_pages_scan scan = {
        .wanted = XG_PAGES_WRITTEN, .returned = XG_PAGES_WRITTEN, .arm = true, .spans = spans};
    int count;
    for (uintptr_t at = walk->part.begin; at < walk->part.end; at = scan.walked) {
        if (!scan_from(walk, &scan, at, &count))
            return false;
        for (int i = 0; i < count; i++)
            tell(walk, (struct xg_pages_range){spans[i].begin, spans[i].end});
    }
    return true;
}

/* Marks pages that are not proved, and only then arms them. */
static bool doubt(struct walk *walk, uintptr_t begin, uintptr_t end)
{
    const struct xg_pages_range range = {begin, end};
    if (begin >= end)
        return true;
    tell(walk, range);
    return walk->pages->system->protect(walk->pages->self, range, true);
}

static bool is_proof(uint64_t categories)
{
    return categories & XG_PAGES_TRACKED && !(categories & (XG_PAGES_WRITTEN | XG_PAGES_FILE)) &&
           categories & (XG_PAGES_PRESENT | XG_PAGES_SWAPPED);
}

/* Every page must be returned as tracked, existing and armed; those between the spans are not. */
static bool prove(struct walk *walk)
{
    struct xg_pages_span spans[SPANS];
    struct xg_pages_scan scan = {.returned = XG_PAGES_TRACKED | XG_PAGES_WRITTEN | XG_PAGES_FILE |
                                             XG_PAGES_PRESENT | XG_PAGES_SWAPPED,
                                 .spans = spans};
    int count;
    for (uintptr_t at = walk->part.begin; at < walk->part.end; at = scan.walked) {
        if (!scan_from(walk, &scan, at, &count))
            return false;
        for (int i = 0; i < count; at = spans[i++].end)
            if (!doubt(walk, at, is_proof(spans[i].categories) ? spans[i].begin : spans[i].end))
                return false;
        if (!doubt(walk, at, scan.walked))
            return false;
    }
    return true;
}

static bool unprotect(struct walk *walk)
{
    walk->pages->system->protect(walk->pages->self, walk->part, false);
    return true;
}

/* Part by part. False: the kernel refused, or the mappings changed. */
static bool walk_all(struct walk *walk, struct xg_pages_range range, bool (*step)(struct walk *),
                     bool pausing)
{
    for (; range.begin < range.end; range.begin = walk->part.end) {
        const size_t left = range.end - range.begin;
        walk->part = range;
        walk->part.end = range.begin + (left < PART_BYTES ? left : PART_BYTES);
        if (!step(walk))
            return false;
        if (pausing && walk->part.end < range.end)
            xg_clock_nap_us(PAUSE_US);
    }
    return true;
}

/* Reports the pages of the range that may have been written, and arms them. */
static bool fetch(struct walk *walk, struct xg_pages_range range, bool arming)
{
    return walk_all(walk, range, walk->pages->way == XG_PAGES_REPORT ? report : prove, arming);
}

static bool is_open(struct xg_pages *pages)
{
    return pages->way != XG_PAGES_OFF && pages->system->ours(pages->self);
}

static bool is_pinned(struct xg_pages *pages)
{
    return pages->system->pinned_kib(pages->self) != 0;
}

/* --- What others call ------------------------------------------------------------------------ */

bool xg_pages_open(struct xg_pages *pages, const struct xg_pages_system *system, void *self)
{
    *pages = (struct xg_pages){.system = system, .self = self, .why = system->open(self)};
    pages->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (!pages->why && is_pinned(pages))
        xg_pages_close(pages, xg_pages_result_text(XG_PAGES_PINNED));
    return !pages->why;
}

enum xg_pages_result xg_pages_arm(struct xg_pages *pages, struct xg_pages_range range,
                                  xg_pages_mark *mark, void *of)
{
    struct walk walk = {.pages = pages, .mark = mark, .of = of};
    enum xg_pages_result result = XG_PAGES_DONE;
    if (!is_open(pages))
        return XG_PAGES_GONE;
    if (is_pinned(pages))
        return XG_PAGES_PINNED;
    if (!is_trackable(pages, range) || !each_mapping(pages, range, track))
        return XG_PAGES_FOREIGN;
    /* A mapping may have taken another's place before it was tracked. */
    if (!fetch(&walk, range, true) || !is_trackable(pages, range))
        result = XG_PAGES_CHANGED;
    else if (is_pinned(pages))
        result = XG_PAGES_PINNED;
    if (result != XG_PAGES_DONE)
        each_mapping(pages, range, release);
    return result;
}

enum xg_pages_result xg_pages_fetch(struct xg_pages *pages, struct xg_pages_range range,
                                    xg_pages_mark *mark, void *of)
{
    struct walk walk = {.pages = pages, .mark = mark, .of = of};
    if (!is_open(pages))
        return XG_PAGES_GONE;
    if (!fetch(&walk, range, false) || (walk.found && !each_mapping(pages, range, NULL)))
        return XG_PAGES_CHANGED;
    /* The kernel pins an armed page for a device only after a write fault on it. */
    return walk.found && is_pinned(pages) ? XG_PAGES_PINNED : XG_PAGES_DONE;
}

void xg_pages_disarm(struct xg_pages *pages, struct xg_pages_range range)
{
    if (is_open(pages))
        walk_all(&(struct walk){.pages = pages}, range, unprotect, true);
}

bool xg_pages_are_huge(struct xg_pages *pages, struct xg_pages_range range)
{
    struct xg_pages_span spans[SPANS];
    struct xg_pages_scan scan = {
        .wanted = XG_PAGES_HUGE, .returned = XG_PAGES_HUGE, .spans = spans};
    struct walk walk = {.pages = pages, .part = range};
    size_t huge = 0;
    int count = 0;
    if (range.begin == range.end || !is_open(pages) ||
        !scan_from(&walk, &scan, range.begin, &count))
        return false;
    while (count-- > 0)
        huge += spans[count].end - spans[count].begin;
    return huge > (scan.walked - range.begin) / 2;
}

void xg_pages_close(struct xg_pages *pages, const char *why)
{
    if (!pages->system || pages->why)
        return;
    /* If a child holds the descriptors, closing ours does not end the tracking. */
    if (is_open(pages))
        each_mapping(pages, (struct xg_pages_range){0, UINTPTR_MAX}, release_ours);
    xg_pages_close_in_child(pages);
    pages->why = why;
}

void xg_pages_close_in_child(struct xg_pages *pages)
{
    if (!pages->system || pages->why)
        return;
    pages->system->close(pages->self);
    pages->way = XG_PAGES_OFF;
    pages->why = "a forked child";
}
