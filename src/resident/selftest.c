/* SPDX-License-Identifier: MIT */
/* Changes pages of its own in every way, and times arming and writing. */
#include "resident/selftest.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

/*
 * The pages of one page table, because a whole table can be freed or moved with its pages. Its
 * first pages exist; the others never did.
 */
enum { TABLE_MOST = 8192, EXISTING = 64, TIMED = 512, TIMES = 2 };

struct test {
    struct xg_pages *pages;
    struct xg_pages_range table;
    size_t count;                   /* pages of the table */
    unsigned char seen[TABLE_MOST]; /* marked since the last arming or fetch */
};

static struct xg_pages_range pages_of(const struct test *test, size_t first, size_t count)
{
    const size_t page = test->pages->page_bytes;
    return (struct xg_pages_range){test->table.begin + first * page,
                                   test->table.begin + (first + count) * page};
}

static void see(void *of, struct xg_pages_range range)
{
    struct test *test = of;
    const size_t page = test->pages->page_bytes;
    memset(&test->seen[(range.begin - test->table.begin) / page], 1,
           (range.end - range.begin) / page);
}

static void ignore(void *of, struct xg_pages_range range)
{
    (void)of, (void)range;
}

/* True if a fetch returns these pages at least. first == count == 0: none at all. */
static bool finds(struct test *test, size_t first, size_t count)
{
    memset(test->seen, 0, test->count);
    if (xg_pages_fetch(test->pages, test->table, see, test) != XG_PAGES_DONE)
        return false;
    const size_t past = count ? first + count : test->count;
    for (size_t i = first; i < past; i++)
        if (test->seen[i] != (count != 0))
            return false;
    return true;
}

/* Pages that are changed, in this order, all of them armed before. The last rows free and move
 * those of the whole table; count 0 stands for its size. */
static const struct {
    size_t first, count;
    enum xg_pages_change change;
} changes[] = {
    {1, 1, XG_PAGES_WRITE}, {EXISTING + 8, 1, XG_PAGES_WRITE},
    {2, 1, XG_PAGES_FREE},  {EXISTING + 16, 2, XG_PAGES_FREE},
    {4, 1, XG_PAGES_MOVE},  {EXISTING + 24, 1, XG_PAGES_MOVE},
    {6, 3, XG_PAGES_WRITE}, {0, 0, XG_PAGES_FREE},
    {0, 0, XG_PAGES_MOVE},
};

static bool proves(struct test *test, enum xg_pages_way way)
{
    const struct xg_pages_system *system = test->pages->system;
    void *self = test->pages->self;
    const struct xg_pages_range existing = pages_of(test, 0, EXISTING);
    test->pages->way = way;
    bool good = system->change(self, existing, XG_PAGES_WRITE) &&
                xg_pages_arm(test->pages, test->table, ignore, NULL) == XG_PAGES_DONE;
    for (size_t i = 0; good && i < sizeof changes / sizeof changes[0]; i++) {
        const size_t count = changes[i].count ? changes[i].count : test->count;
        const struct xg_pages_range changed = pages_of(test, changes[i].first, count);
        good = finds(test, 0, 0) && system->change(self, changed, changes[i].change) &&
               finds(test, changes[i].first, count);
    }
    return good;
}

/* The least of some times: other threads and interrupts only add to it. */
static void least(double *cost, double begin_s)
{
    const double page_s = (xg_clock_s() - begin_s) / TIMED;
    *cost = fmin(*cost, page_s);
}

static bool measure(struct xg_pages *pages, bool huge)
{
    const struct xg_pages_system *system = pages->system;
    struct xg_pages_costs costs = {INFINITY, INFINITY, INFINITY};
    bool good = true;
    for (int i = 0; i < TIMES && good; i++) {
        const size_t bytes = TIMED * pages->page_bytes;
        const uintptr_t begin = system->map(pages->self, bytes, huge);
        const struct xg_pages_range range = {begin, begin + bytes};
        if (!begin)
            return false;
        good = system->change(pages->self, range, XG_PAGES_WRITE);
        good = good && xg_pages_arm(pages, range, ignore, NULL) == XG_PAGES_DONE;
        double begin_s = xg_clock_s();
        good = good && system->protect(pages->self, range, false);
        least(&costs.disarm_s, begin_s);
        begin_s = xg_clock_s();
        good = good && system->protect(pages->self, range, true);
        least(&costs.arm_s, begin_s);
        begin_s = xg_clock_s();
        good = good && system->change(pages->self, range, XG_PAGES_WRITE);
        least(&costs.write_s, begin_s);
        system->unmap(pages->self, range);
    }
    pages->costs[huge] = costs;
    return good;
}

bool xg_selftest_open(struct xg_pages *pages, const struct xg_pages_system *system, void *self)
{
    static const enum xg_pages_way ways[] = {XG_PAGES_REPORT, XG_PAGES_PROVE};
    struct test test = {.pages = pages};
    bool good = false;
    if (!xg_pages_open(pages, system, self))
        return false;
    test.count = pages->page_bytes / sizeof(uint64_t);
    const size_t bytes = test.count * pages->page_bytes;
    for (size_t i = 0; i < 2 && !good && test.count <= TABLE_MOST; i++) {
        const uintptr_t begin = system->map(self, bytes, false);
        test.table = (struct xg_pages_range){begin, begin + bytes};
        good = begin && proves(&test, ways[i]);
        if (begin)
            system->unmap(self, test.table);
    }
    good = good && measure(pages, false) && measure(pages, true);
    if (!good)
        xg_pages_close(pages, "the kernel does not report every change");
    return good;
}
