/* SPDX-License-Identifier: MIT */
/* The page tracker on a system that keeps pages in arrays: every answer and failure of a kernel. */
#include "src/resident/selftest.h"

#include <math.h>

#include "tests/support/kept.h"
#include "tests/support/tracker.h"
#include "tests/support/xt.h"

enum { HALF = TRACKER_PAGES / 2 };

static struct tracker tracker;
static struct xg_pages pages;
static unsigned char marked[TRACKER_PAGES];

static void mark(void *of, struct xg_pages_range range)
{
    struct tracker *t = of;
    for (uintptr_t at = range.begin; at < range.end; at += t->page_bytes)
        marked[(at - (uintptr_t)t->memory) / t->page_bytes]++;
}

static int count_marked(void)
{
    int count = 0;
    for (int i = 0; i < TRACKER_PAGES; i++)
        count += marked[i] != 0;
    memset(marked, 0, sizeof marked);
    return count;
}

static enum xg_pages_result arm(int first, int count)
{
    return xg_pages_arm(&pages, tracker_range(&tracker, first, count), mark, &tracker);
}

static enum xg_pages_result fetch(int first, int count)
{
    return xg_pages_fetch(&pages, tracker_range(&tracker, first, count), mark, &tracker);
}

static bool open_tracker(enum xg_pages_way way)
{
    tracker_init(&tracker);
    tracker.holes_unreported = way == XG_PAGES_PROVE;
    bool good = xg_selftest_open(&pages, &tracker_system, &tracker);
    XT_CHECK(good && pages.way == way && !pages.why, "way %d: %s", (int)pages.way, pages.why);
    memset(tracker.calls, 0, sizeof tracker.calls);
    memset(marked, 0, sizeof marked);
    return good;
}

static void close_tracker(void)
{
    xg_pages_close(&pages, "the test is over");
    XT_CHECK(!tracker.open && pages.way == XG_PAGES_OFF && pages.why);
}

/* --- The self-test ------------------------------------------------------------------------------
 */

/* What a kernel does with pages that no longer exist, and the way that is then allowed. */
static void test_ways(void)
{
    static const struct {
        bool holes_unreported, gaps, armed_forgets;
        enum xg_pages_way way;
    } kernels[] = {{false, false, false, XG_PAGES_REPORT},
                   {true, false, false, XG_PAGES_PROVE},
                   {true, true, false, XG_PAGES_PROVE},
                   {false, true, false, XG_PAGES_PROVE},
                   {false, false, true, XG_PAGES_OFF}};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        tracker_init(&tracker);
        tracker.holes_unreported = kernels[i].holes_unreported;
        tracker.gaps = kernels[i].gaps;
        tracker.armed_forgets = kernels[i].armed_forgets;
        bool good = xg_selftest_open(&pages, &tracker_system, &tracker);
        XT_CHECK(pages.way == kernels[i].way, "kernel %zu: way %d", i, (int)pages.way);
        XT_CHECK(good == (pages.way != XG_PAGES_OFF) && good == !pages.why && tracker.open == good);
        for (int huge = 0; huge < 2 && good; huge++) {
            const struct xg_pages_costs *costs = &pages.costs[huge];
            XT_CHECK(costs->arm_s >= 0.0 && costs->disarm_s >= 0.0 && costs->write_s >= 0.0);
            XT_CHECK(costs->arm_s < 1.0 && costs->disarm_s < 1.0 && costs->write_s < 1.0);
        }
        for (int page = 0; page < TRACKER_PAGES; page++)
            XT_CHECK(!tracker.pages[page].mapping, "page %d is left", page);
        close_tracker();
    }
}

/* Each call of the self-test fails once: the tracker is off, or it works. */
static void test_failed_open(void)
{
    for (enum tracker_call call = TRACKER_OPEN; call < TRACKER_CALLS; call++)
        for (long at = 1; at < 12; at++) {
            tracker_init(&tracker);
            tracker.fails = call;
            tracker.fails_in = at;
            bool good = xg_selftest_open(&pages, &tracker_system, &tracker);
            XT_CHECK(good == !pages.why && good == tracker.open &&
                         good == (pages.way != XG_PAGES_OFF),
                     "call %d, the %ldth", (int)call, at);
            /* A failure while one way is tested leaves the other. */
            XT_CHECK(!good || tracker.fails_in || call == TRACKER_OPEN ||
                     pages.way != XG_PAGES_OFF);
            tracker_map(&tracker, 0, 8, true);
            XT_CHECK(good || arm(0, 8) == XG_PAGES_GONE);
            XT_CHECK(good || fetch(0, 8) == XG_PAGES_GONE);
            xg_pages_disarm(&pages, tracker_range(&tracker, 0, 8));
            close_tracker();
        }
    tracker_init(&tracker);
    tracker.pinned_kib = 4;
    XT_CHECK(!xg_selftest_open(&pages, &tracker_system, &tracker) &&
             !strcmp(pages.why, xg_pages_result_text(XG_PAGES_PINNED)));
    tracker_init(&tracker);
    tracker.fails = TRACKER_OPEN;
    tracker.fails_in = 1;
    XT_CHECK(!xg_selftest_open(&pages, &tracker_system, &tracker) &&
             !strcmp(pages.why, "no such call"));
    XT_CHECK(tracker.calls[TRACKER_MAP] == 0);
    xg_pages_close(&pages, "later");
    XT_CHECK(!strcmp(pages.why, "no such call"), "the first reason stays");
}

/* --- Arming and fetching ------------------------------------------------------------------------
 */

static void test_marks(enum xg_pages_way way)
{
    if (!open_tracker(way))
        return;
    tracker_map(&tracker, 0, 1000, true);
    for (int i = 0; i < 900; i += 3)
        tracker_write(&tracker, i, 0, 1);
    XT_CHECK(arm(0, 1000) == XG_PAGES_DONE && count_marked() == 1000);
    XT_CHECK(fetch(0, 1000) == XG_PAGES_DONE && count_marked() == 0);
    /* More spans than one scan returns. */
    for (int i = 0; i < 1000; i += 2)
        tracker_write(&tracker, i, 0, 2);
    XT_CHECK(fetch(0, 1000) == XG_PAGES_DONE && count_marked() == 500);
    XT_CHECK(fetch(0, 1000) == XG_PAGES_DONE && count_marked() == 0);
    tracker_free(&tracker, 10, 5);
    tracker_write(&tracker, 999, 7, 7);
    XT_CHECK(fetch(0, 1000) == XG_PAGES_DONE);
    for (int i = 0; i < 1000; i++)
        XT_CHECK(marked[i] == ((i >= 10 && i < 15) || i == 999), "page %d", i);
    count_marked();
    /* Armed pages are not returned again, neither by arming them nor by a part of the range. */
    tracker_write(&tracker, 20, 0, 1);
    tracker_write(&tracker, 40, 0, 1);
    XT_CHECK(fetch(30, 20) == XG_PAGES_DONE && marked[40] == 1 && count_marked() == 1);
    XT_CHECK(arm(0, 1000) == XG_PAGES_DONE && marked[20] == 1 && count_marked() == 1);
    xg_pages_disarm(&pages, tracker_range(&tracker, 100, 100));
    XT_CHECK(fetch(0, 1000) == XG_PAGES_DONE && count_marked() == 100);
    XT_CHECK(arm(5, 0) == XG_PAGES_DONE && fetch(5, 0) == XG_PAGES_DONE && count_marked() == 0);
    close_tracker();
}

/* Armed in parts, with a mapping that ends in each of them. */
static void test_mappings(enum xg_pages_way way)
{
    if (!open_tracker(way))
        return;
    tracker_map(&tracker, 0, 100, true);
    tracker_map(&tracker, 100, 100, true);
    tracker_map(&tracker, 200, 100, false);
    XT_CHECK(arm(50, 100) == XG_PAGES_DONE && count_marked() == 100);
    XT_CHECK(tracker.pages[0].tracked && tracker.pages[199].tracked, "whole mappings");
    XT_CHECK(arm(150, 100) == XG_PAGES_FOREIGN && count_marked() == 0, "a shared mapping");
    XT_CHECK(arm(290, 20) == XG_PAGES_FOREIGN && count_marked() == 0, "no mapping behind");
    XT_CHECK(arm(300, 20) == XG_PAGES_FOREIGN && count_marked() == 0, "no mapping at all");
    XT_CHECK(!tracker.pages[200].tracked);
    tracker_map(&tracker, 400, 10, true);
    tracker_map(&tracker, 410, 10, false);
    tracker_map(&tracker, 430, 10, true);
    tracker_map(&tracker, 450, 10, true);
    XT_CHECK(arm(405, 10) == XG_PAGES_FOREIGN && !tracker.pages[400].tracked,
             "the second one is shared");
    XT_CHECK(arm(425, 10) == XG_PAGES_FOREIGN && arm(435, 20) == XG_PAGES_FOREIGN, "gaps");
    XT_CHECK(!tracker.pages[430].tracked && count_marked() == 0);
    /* Another mapping in its place is noticed. */
    tracker_map(&tracker, 120, 5, true);
    XT_CHECK(fetch(50, 100) == XG_PAGES_CHANGED);
    count_marked();
    XT_CHECK(arm(50, 100) == XG_PAGES_DONE && marked[122]);
    count_marked();
    XT_CHECK(fetch(50, 100) == XG_PAGES_DONE && count_marked() == 0);
    /* One that is tracked, but not plain: its pages are written by others without notice. */
    tracker_map(&tracker, 120, 5, false);
    for (int i = 120; i < 125; i++)
        tracker.pages[i].tracked = true;
    XT_CHECK(fetch(50, 100) == XG_PAGES_CHANGED);
    close_tracker();
    for (int i = 0; i < HALF; i++)
        XT_CHECK(!tracker.pages[i].tracked || i >= 120, "page %d is still tracked", i);
}

static void test_pinned(enum xg_pages_way way)
{
    if (!open_tracker(way))
        return;
    tracker_map(&tracker, 0, 100, true);
    tracker.pinned_kib = 4;
    XT_CHECK(arm(0, 100) == XG_PAGES_PINNED && count_marked() == 0);
    tracker.pinned_kib = -1;
    XT_CHECK(arm(0, 100) == XG_PAGES_PINNED, "not known");
    tracker.pinned_kib = 0;
    count_marked();
    XT_CHECK(arm(0, 100) == XG_PAGES_DONE && count_marked() == 100);
    /* Memory pinned elsewhere concerns no page of ours; a pin of one of them writes to it first. */
    tracker.pinned_kib = 8;
    XT_CHECK(fetch(0, 100) == XG_PAGES_DONE && count_marked() == 0);
    tracker_write(&tracker, 3, 0, 1);
    XT_CHECK(fetch(0, 100) == XG_PAGES_PINNED);
    close_tracker();
}

/* By proof, each category counts. */
static void test_categories(void)
{
    if (!open_tracker(XG_PAGES_PROVE))
        return;
    tracker_map(&tracker, 0, 100, true);
    XT_CHECK(arm(0, 100) == XG_PAGES_DONE && count_marked() == 100);
    tracker.pages[7].file = true;
    tracker.pages[8].exists = true;
    XT_CHECK(fetch(0, 100) == XG_PAGES_DONE && marked[7] && count_marked() == 1);
    tracker.pages[9].tracked = false;
    XT_CHECK(fetch(0, 100) == XG_PAGES_CHANGED && marked[9]);
    close_tracker();
}

static void test_closed(enum xg_pages_way way)
{
    if (!open_tracker(way))
        return;
    tracker_map(&tracker, 0, 100, true);
    XT_CHECK(arm(0, 100) == XG_PAGES_DONE);
    tracker.closed = true;
    memset(tracker.calls, 0, sizeof tracker.calls);
    XT_CHECK(arm(0, 100) == XG_PAGES_GONE && fetch(0, 100) == XG_PAGES_GONE);
    xg_pages_disarm(&pages, tracker_range(&tracker, 0, 100));
    XT_CHECK(!xg_pages_are_huge(&pages, tracker_range(&tracker, 0, 100)));
    for (enum tracker_call call = TRACKER_FIND; call < TRACKER_CALLS; call++)
        XT_CHECK(tracker.calls[call] == 0, "call %d with another file's descriptor", (int)call);
    close_tracker();
    if (!open_tracker(way))
        return;
    xg_pages_close_in_child(&pages);
    XT_CHECK(fetch(0, 100) == XG_PAGES_GONE && tracker.calls[TRACKER_TRACK] == 0 && !tracker.open);
}

static void test_huge(void)
{
    if (!open_tracker(XG_PAGES_REPORT))
        return;
    tracker_map(&tracker, 0, 100, true);
    for (int i = 0; i < 60; i++)
        tracker.pages[i].huge = true;
    XT_CHECK(xg_pages_are_huge(&pages, tracker_range(&tracker, 0, 100)));
    XT_CHECK(!xg_pages_are_huge(&pages, tracker_range(&tracker, 20, 80)));
    XT_CHECK(!xg_pages_are_huge(&pages, tracker_range(&tracker, 20, 0)));
    close_tracker();
}

/* --- Between two calls --------------------------------------------------------------------------
 */

static int between; /* what happens, before which call of which kind */
static enum tracker_call between_call;
static long between_in;

static void happen(struct tracker *t, enum tracker_call call)
{
    if (call != between_call || --between_in != 0)
        return;
    switch (between) {
    case 0: /* another mapping, not tracked */
        tracker_map(t, 40, 20, true);
        break;
    case 1: /* a shared one */
        tracker_map(t, 40, 20, false);
        break;
    case 2: /* memory is pinned, which writes to it */
        tracker_write(t, 50, 0, 9);
        t->pinned_kib = 4;
        break;
    case 3:
        t->closed = true;
        break;
    default: /* another thread writes to a neighbour's page */
        tracker_write(t, 50, 1, 9);
    }
}

/* After DONE all pages are armed, tracked and plain, and nothing was pinned; what was written
 * before they were armed was marked. */
static void check_between(enum xg_pages_way way, bool arming)
{
    if (!open_tracker(way))
        return;
    tracker_map(&tracker, 0, 100, true);
    if (!arming)
        XT_CHECK(arm(0, 100) == XG_PAGES_DONE);
    for (int i = 0; i < 100; i += 7)
        tracker_write(&tracker, i, 0, 1);
    count_marked();
    tracker.before = happen;
    enum xg_pages_result result = arming ? arm(0, 100) : fetch(0, 100);
    tracker.before = NULL;
    if (result == XG_PAGES_DONE) {
        enum xg_pages_result next = fetch(0, 100);
        if (next == XG_PAGES_DONE)
            for (int i = 0; i < 100; i++) {
                XT_CHECK(tracker.pages[i].plain && tracker.pages[i].tracked &&
                             tracker.pages[i].armed,
                         "event %d, page %d", between, i);
                XT_CHECK(marked[i] || !(i % 7 == 0 || (arming && tracker.pages[i].exists)),
                         "event %d: page %d was not marked", between, i);
            }
        XT_CHECK(next != XG_PAGES_DONE || between != 4 || between_in > 0 || marked[50],
                 "a neighbour's page was not marked");
    }
    XT_CHECK(result != XG_PAGES_DONE || !arming || tracker.pinned_kib == 0, "pinned");
    for (int i = 0; i < 100 && arming && (result == XG_PAGES_CHANGED || result == XG_PAGES_PINNED);
         i++)
        XT_CHECK(!tracker.pages[i].tracked, "event %d: page %d is left tracked", between, i);
    close_tracker();
}

static void test_between(enum xg_pages_way way)
{
    for (between = 0; between <= 4; between++)
        for (between_call = TRACKER_OURS; between_call <= TRACKER_PINNED; between_call++)
            for (long at = 1; at <= 4; at++)
                for (int arming = 0; arming < 2; arming++) {
                    between_in = at;
                    check_between(way, arming);
                }
}

/* --- Random programs ----------------------------------------------------------------------------
 */

static uint64_t seed = 1;

static int draw(int below)
{
    return (int)(((double)xt_random(&seed) + 1.0) / 2.0 * below) % below;
}

static void change_memory(struct kept *kept, int operands)
{
    const int first = draw(operands - 20), count = 1 + draw(20);
    switch (draw(12)) {
    case 0:
        tracker_free(&tracker, first, count);
        break;
    case 1:
        tracker_map(&tracker, first, count, true);
        break;
    case 2:
        tracker_map(&tracker, first, count, draw(4) != 0);
        break;
    case 3: /* tracking ends; a page that was armed still looks so */
        for (int i = first; i < first + count; i++)
            tracker.pages[i].tracked = false;
        break;
    case 4:
        tracker.pinned_kib = draw(3) ? 0 : 4;
        break;
    case 5:
        tracker.fails = TRACKER_FIND + (enum tracker_call)draw(TRACKER_PINNED - TRACKER_FIND + 1);
        tracker.fails_in = 1 + draw(5);
        break;
    case 6:
        kept_drop_all(kept);
        break;
    default:
        for (int i = 0; i < count; i++)
            if (tracker.pages[first + i].mapping)
                tracker_write(&tracker, first + i, (size_t)draw((int)tracker.page_bytes),
                              (char)draw(256));
    }
}

/* Operands of several shapes over one memory, at odd addresses and in pages that they share. */
static struct xg_table_key random_key(int operands)
{
    const int64_t page_elems = (int64_t)tracker.page_bytes / 4;
    const int place = draw(24), size = place % 4;
    struct xg_table_key key = {.rows = 1 + 7 * size, .type = XG_TYPE_S};
    key.at = tracker.memory + (size_t)(place * operands / 25) * tracker.page_bytes +
             (size_t)(place % 3) * 100;
    key.columns = size == 2 ? page_elems / 3 : page_elems + 100;
    key.ld = key.columns + (place % 5 == 4 ? 2 * page_elems : place % 2 * 30);
    return key;
}

/* Pages that others write without notice are lost to every tracker; here they are written only if
 * no mapping is shared. */
static void test_random(enum xg_pages_way way, bool gaps, long operations)
{
    enum { OPERANDS = 600 };
    static struct kept kept;
    tracker_init(&tracker);
    tracker.holes_unreported = way == XG_PAGES_PROVE;
    tracker.gaps = gaps;
    XT_CHECK(kept_open(&kept, &tracker_system, &tracker) && kept.pages.way == way);
    tracker_map(&tracker, 0, OPERANDS + 200, true);
    for (long i = 0; i < operations; i++) {
        struct xg_table_key key = random_key(OPERANDS);
        change_memory(&kept, OPERANDS + 100);
        kept_use(&kept, &key);
        /* A program's operand is mapped. */
        for (int page = 0; page < OPERANDS + 200; page++)
            if (!tracker.pages[page].mapping)
                tracker_map(&tracker, page, 1, true);
    }
    XT_CHECK(kept.stale == 0, "%ld stale rows in %ld uses", kept.stale, kept.uses);
    XT_CHECK(kept.clean > operations / 50, "only %ld clean uses", kept.clean);
    for (enum xg_pages_result result = XG_PAGES_DONE; result < XG_PAGES_GONE; result++)
        XT_CHECK(kept.results[result] > 0, "never %s", xg_pages_result_text(result));
    kept_close(&kept);
}

int main(void)
{
    static const enum xg_pages_way ways[] = {XG_PAGES_PROVE, XG_PAGES_REPORT};
    tracker_init(&tracker);
    if (tracker.page_bytes != 4096)
        return xt_skip("the arrays are of pages of 4 KiB");
    test_ways();
    test_failed_open();
    for (int i = 0; i < 2; i++) {
        test_marks(ways[i]);
        test_mappings(ways[i]);
        test_pinned(ways[i]);
        test_closed(ways[i]);
        test_between(ways[i]);
        test_random(ways[i], false, 8000);
    }
    test_random(XG_PAGES_PROVE, true, 8000);
    test_categories();
    test_huge();
    return xt_done();
}
