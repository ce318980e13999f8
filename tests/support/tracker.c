/* SPDX-License-Identifier: MIT */
#include "tracker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xt.h"

/* One memory for all trackers: 16 MiB take a while to clear. */
void tracker_init(struct tracker *t)
{
    static char *memory;
    memset(t, 0, sizeof *t);
    t->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = TRACKER_PAGES * t->page_bytes;
    if (!memory && posix_memalign((void **)&memory, bytes / 8, bytes))
        exit(XT_HARD);
    t->memory = memory;
}

struct xg_pages_range tracker_range(const struct tracker *t, int first, int count)
{
    const uintptr_t begin = (uintptr_t)t->memory + (size_t)first * t->page_bytes;
    return (struct xg_pages_range){begin, begin + (size_t)count * t->page_bytes};
}

static int page_of(const struct tracker *t, uintptr_t at)
{
    return (int)((at - (uintptr_t)t->memory) / t->page_bytes);
}

/* --- The program
 * -------------------------------------------------------------------------------------------------
 */

void tracker_map(struct tracker *t, int first, int count, bool plain)
{
    tracker_unmap(t, first, count);
    t->mappings++;
    for (int i = first; i < first + count; i++)
        t->pages[i] = (struct tracker_page){.mapping = t->mappings, .plain = plain, .file = !plain};
}

void tracker_unmap(struct tracker *t, int first, int count)
{
    memset(&t->pages[first], 0, (size_t)count * sizeof t->pages[0]);
    memset(t->memory + (size_t)first * t->page_bytes, 0, (size_t)count * t->page_bytes);
}

void tracker_free(struct tracker *t, int first, int count)
{
    for (int i = first; i < first + count; i++)
        t->pages[i].exists = t->pages[i].armed = false;
    memset(t->memory + (size_t)first * t->page_bytes, 0, (size_t)count * t->page_bytes);
}

void tracker_write(struct tracker *t, int page, size_t offset, char value)
{
    t->pages[page].exists = true;
    t->pages[page].armed = t->pages[page].armed && (t->armed_forgets || !t->pages[page].tracked);
    t->memory[(size_t)page * t->page_bytes + offset] = value;
}

/* --- The kernel
 * --------------------------------------------------------------------------------------------------
 */

/* False: this call fails. */
static bool enter(struct tracker *t, enum tracker_call call)
{
    t->calls[call]++;
    if (t->before)
        t->before(t, call);
    return !(t->fails == call && t->fails_in && --t->fails_in == 0);
}

static const char *tracker_open(void *self)
{
    struct tracker *t = self;
    t->open = enter(t, TRACKER_OPEN);
    return t->open ? NULL : "no such call";
}

static bool tracker_ours(void *self)
{
    struct tracker *t = self;
    return enter(t, TRACKER_OURS) && t->open && !t->closed;
}

static void tracker_close(void *self)
{
    ((struct tracker *)self)->open = false;
}

static bool tracker_find(void *self, uintptr_t at, struct xg_pages_mapping *found)
{
    struct tracker *t = self;
    int first = at < (uintptr_t)t->memory ? 0 : page_of(t, at);
    if (!enter(t, TRACKER_FIND))
        return false;
    while (first < TRACKER_PAGES && !t->pages[first].mapping)
        first++;
    if (first >= TRACKER_PAGES)
        return false;
    int end = first;
    while (first > 0 && t->pages[first - 1].mapping == t->pages[end].mapping)
        first--;
    while (end < TRACKER_PAGES && t->pages[end].mapping == t->pages[first].mapping)
        end++;
    *found = (struct xg_pages_mapping){tracker_range(t, first, end - first), t->pages[first].plain};
    return true;
}

static bool tracker_track(void *self, struct xg_pages_range mapping, bool on)
{
    struct tracker *t = self;
    if (!enter(t, TRACKER_TRACK))
        return false;
    for (int i = page_of(t, mapping.begin); i < page_of(t, mapping.end); i++)
        if (t->pages[i].mapping) {
            t->pages[i].tracked = on;
            t->pages[i].armed = t->pages[i].armed && on;
        }
    return true;
}

static bool tracker_protect(void *self, struct xg_pages_range pages, bool on)
{
    struct tracker *t = self;
    if (!enter(t, TRACKER_PROTECT))
        return false;
    for (int i = page_of(t, pages.begin); i < page_of(t, pages.end); i++) {
        if (!t->pages[i].tracked)
            return false;
        t->pages[i].armed = on;
    }
    return true;
}

static uint64_t categories_of(const struct tracker *t, const struct tracker_page *page)
{
    uint64_t categories = (page->tracked ? XG_PAGES_TRACKED : 0) |
                          (page->file ? XG_PAGES_FILE : 0) | (page->huge ? XG_PAGES_HUGE : 0);
    if (page->exists)
        categories |= XG_PAGES_PRESENT;
    else if (page->armed)
        categories |= XG_PAGES_SWAPPED;
    if (!page->armed && (page->exists || !t->holes_unreported))
        categories |= XG_PAGES_WRITTEN;
    return categories;
}

/* Returns the page, if it is wanted. False: there is no room for it. */
static bool return_page(struct tracker *t, struct xg_pages_scan *scan, int page, int *count)
{
    struct tracker_page *at = &t->pages[page];
    const uint64_t categories = categories_of(t, at), returned = categories & scan->returned;
    const struct xg_pages_range range = tracker_range(t, page, 1);
    struct xg_pages_span *last = *count ? &scan->spans[*count - 1] : NULL;
    bool hole = !at->exists && !at->armed;
    if (!at->mapping || (t->gaps && hole) || (categories & scan->wanted) != scan->wanted)
        return true;
    if (last && last->end == range.begin && last->categories == returned) {
        last->end = range.end;
    } else {
        if ((size_t)*count == scan->room)
            return false;
        scan->spans[(*count)++] = (struct xg_pages_span){range.begin, range.end, returned};
    }
    at->armed = at->armed || scan->arm;
    return true;
}

static int tracker_scan(void *self, struct xg_pages_scan *scan)
{
    struct tracker *t = self;
    const int end = page_of(t, scan->range.end);
    int count = 0, page = page_of(t, scan->range.begin);
    if (!enter(t, TRACKER_SCAN))
        return -1;
    for (; page < end; page++) {
        if (scan->arm && t->pages[page].mapping && !t->pages[page].tracked)
            return -1;
        if (!return_page(t, scan, page, &count))
            break;
    }
    scan->walked = tracker_range(t, page, 0).begin;
    return count;
}

static int64_t tracker_pinned_kib(void *self)
{
    struct tracker *t = self;
    return enter(t, TRACKER_PINNED) ? t->pinned_kib : -1;
}

static uintptr_t tracker_map_own(void *self, size_t bytes, bool huge)
{
    struct tracker *t = self;
    const int first = TRACKER_PAGES / 2;
    if (!enter(t, TRACKER_MAP) || bytes / t->page_bytes > TRACKER_PAGES / 2)
        return 0;
    tracker_map(t, first, (int)(bytes / t->page_bytes), true);
    for (int i = first; i < TRACKER_PAGES; i++)
        t->pages[i].huge = huge;
    return tracker_range(t, first, 0).begin;
}

static void tracker_unmap_own(void *self, struct xg_pages_range pages)
{
    tracker_unmap(self, page_of(self, pages.begin),
                  page_of(self, pages.end) - page_of(self, pages.begin));
}

static bool tracker_change(void *self, struct xg_pages_range pages, enum xg_pages_change change)
{
    struct tracker *t = self;
    const int first = page_of(t, pages.begin), end = page_of(t, pages.end);
    if (!enter(t, TRACKER_CHANGE))
        return false;
    if (change != XG_PAGES_WRITE)
        tracker_free(t, first, end - first);
    for (int i = first; change == XG_PAGES_WRITE && i < end; i++)
        tracker_write(t, i, 0, 1);
    return true;
}

const struct xg_pages_system tracker_system = {
    .open = tracker_open,
    .ours = tracker_ours,
    .close = tracker_close,
    .find = tracker_find,
    .track = tracker_track,
    .protect = tracker_protect,
    .scan = tracker_scan,
    .pinned_kib = tracker_pinned_kib,
    .map = tracker_map_own,
    .unmap = tracker_unmap_own,
    .change = tracker_change,
};
