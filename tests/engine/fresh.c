/* SPDX-License-Identifier: MIT */
/*
 * Products into a C without pages, and routines into outputs without pages: results are right,
 * their pages are populated, and no other page is. Contract 3.2 (doc/contract.md).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "lane.h"
#include "src/pipeline/factor.h"
#include "src/pipeline/pipeline.h"
#include "tests/support/routines.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096, WORKERS = 6 };

static struct fakecuda fake;
static struct xg_dev *dev;
static struct xg_lane *lane;

/* Calls that populate pages, and the range in which they may. */
static atomic_long populated;
static _Atomic uintptr_t map_begin, map_end;

/* Calls that ask the system about one page of C; absent: it answers that no page is there. */
static atomic_long asked;
static atomic_bool absent;

/* Pages that a thread has populated; the duration of a step while it populates. */
static unsigned char *advised;
static long step_ns;
static atomic_bool stalls; /* the next step waits until other threads have asked for a while */

static void stall(void)
{
    static const struct timespec a_while = {.tv_nsec = 500000000};
    for (int whiles = 0; whiles < 40 && asked <= 3; whiles++)
        nanosleep(&a_while, NULL);
    nanosleep(&a_while, NULL);
}

/* These two functions replace the C library's. */
int mincore(void *address, size_t bytes, unsigned char *there)
{
    if (bytes == PAGE) {
        asked++;
        if ((uintptr_t)address < map_begin || (uintptr_t)address >= map_end)
            abort();
    }
    int result = (int)syscall(SYS_mincore, address, bytes, there);
    if (bytes == PAGE && absent)
        *there = 0;
    return result;
}

int madvise(void *address, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE && bytes) {
        populated++;
        if ((uintptr_t)address < map_begin || (uintptr_t)address + bytes > map_end)
            abort();
        nanosleep(&(struct timespec){.tv_nsec = step_ns}, NULL);
        if (atomic_exchange(&stalls, false))
            stall();
        if (advised)
            memset(advised + ((uintptr_t)address - map_begin) / PAGE, 1, bytes / PAGE);
    }
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

/* A product whose C is mapped without pages; its guards and padding are zeros. */
struct fresh {
    struct fx_product product;
    size_t bytes;
};

static struct fresh fresh_create(const struct fx_shape *shape)
{
    struct fresh fresh = {.product = fx_product_create(shape, 3)};
    struct fx_product *p = &fresh.product;
    fresh.bytes = (p->c_elems * sizeof(float) + PAGE) / PAGE * PAGE;
    free(p->c_all);
    p->c_all = mmap(NULL, fresh.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->c_all == MAP_FAILED)
        exit(XT_HARD);
    madvise(p->c_all, fresh.bytes, MADV_NOHUGEPAGE);
    memset(p->c_before, 0, p->c_elems * sizeof(float));
    p->call.c = p->c_all + FX_GUARD;
    map_begin = (uintptr_t)p->c_all;
    map_end = map_begin + fresh.bytes;
    populated = 0;
    return fresh;
}

static void fresh_destroy(struct fresh *fresh)
{
    munmap(fresh->product.c_all, fresh->bytes);
    fresh->product.c_all = NULL;
    fx_product_destroy(&fresh->product);
}

/* Returns the number of pages that exist and hold no element of C. */
static int pages_beyond(const struct fresh *fresh)
{
    const struct xg_problem *call = &fresh->product.call;
    size_t pages = fresh->bytes / PAGE;
    unsigned char *there = xt_alloc(pages, 1), *rows = xt_alloc(pages, 1);
    if (mincore(fresh->product.c_all, fresh->bytes, there))
        exit(XT_HARD);
    for (int64_t i = 0; i < call->m; i++) {
        uintptr_t first = (uintptr_t)((float *)call->c + i * call->ldc) - map_begin;
        for (size_t page = first / PAGE;
             page <= (first + (size_t)call->n * sizeof(float) - 1) / PAGE; page++)
            rows[page] = 1;
    }
    int beyond = 0;
    for (size_t page = 0; page < pages; page++)
        beyond += (there[page] & 1) && !rows[page];
    free(there);
    free(rows);
    return beyond;
}

static enum xg_status compute(struct fresh *fresh)
{
    struct xg_result result;
    struct xg_cpu cpu = fx_product_cpu(&fresh->product);
    return xg_pipeline_run(lane, &fresh->product.call, XG_MATH_STRICT, NULL, &cpu, &result);
}

/* populates: a thread must populate pages; an old kernel may refuse to. */
static void check(const struct fx_shape *shape, bool populates)
{
    struct fresh fresh = fresh_create(shape);
    XT_CHECK(compute(&fresh) == XG_OK && !fresh.product.count.wholes && !fresh.product.count.parts);
    XT_CHECK((populated > 0) == populates, "%ld,%ld pad %ld: %ld populated", (long)shape->m,
             (long)shape->n, (long)shape->pad, (long)populated);
    int beyond = pages_beyond(&fresh);
    XT_CHECK(beyond == 0, "%d pages beyond the rows of C", beyond);
    fx_product_check(&fresh.product, 11, "fresh");
    populated = 0;
    XT_CHECK(compute(&fresh) == XG_OK && populated == 0, "an old C is populated");
    if (shape->beta == 0)
        fx_product_check(&fresh.product, 101, "old");
    fresh_destroy(&fresh);
}

static void test_shapes(bool known)
{
    check(&(struct fx_shape){700, 900, 30, false, false, 1, 0, 0}, known);
    check(&(struct fx_shape){2001, 1027, 17, true, true, 1.5f, 0, 3}, known);
    check(&(struct fx_shape){20, 20000, 9, false, true, 1, 0, 5000}, known);
    check(&(struct fx_shape){500, 1000, 9, false, false, 1, 0, 2000}, false); /* short rows */
    check(&(struct fx_shape){100, 900, 30, false, false, 1, 0, 0}, false);    /* too few pages */
    check(&(struct fx_shape){700, 900, 30, false, false, 1, 0.5f, 0}, false); /* C is read */
}

/* C is populated although a driver call fails; the CPU's results are right. */
static void test_faults(void)
{
    struct fx_shape shape = {1100, 1000, 40, false, false, 1, 0, 0};
    for (int nth = 1; nth <= 40; nth += fx_short() ? 7 : 2) {
        struct fresh fresh = fresh_create(&shape);
        fake.reset((unsigned long)nth);
        fake.fail(NULL, nth, FX_CODE_NOMEM, FAKECUDA_ONCE);
        compute(&fresh);
        fake.reset((unsigned long)nth);
        XT_CHECK(pages_beyond(&fresh) == 0);
        fx_product_check(&fresh.product, 11, "faults");
        fresh_destroy(&fresh);
    }
}

/* A program protects its pages until they are written to. */
static atomic_long faults;

static void unprotect(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (address < map_begin || address >= map_end)
        _exit(XT_FAIL);
    faults++;
    mprotect((void *)(address - address % PAGE), PAGE, PROT_READ | PROT_WRITE);
}

static void test_protected(int protection)
{
    struct fresh fresh = fresh_create(&(struct fx_shape){700, 900, 30, false, false, 1, 0, 0});
    struct sigaction action = {.sa_sigaction = unprotect, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGSEGV, &action, &before);
    mprotect(fresh.product.c_all, fresh.bytes, protection);
    faults = 0;
    XT_CHECK(compute(&fresh) == XG_OK);
    XT_CHECK(faults >= 700 * 900 * 4 / PAGE, "%ld faults", (long)faults);
    sigaction(SIGSEGV, &before, NULL);
    mprotect(fresh.product.c_all, fresh.bytes, PROT_READ | PROT_WRITE);
    fx_product_check(&fresh.product, 11, "protected");
    fresh_destroy(&fresh);
}

/*
 * Pages never appear, because the system takes them away again or a thread has lost its core. The
 * product waits for them once, not in every stripe (which asked 400,000 times).
 */
static void test_absent(void)
{
    enum { ASKED_MOST = 60000 };
    struct fresh fresh = fresh_create(&(struct fx_shape){2001, 4000, 9, false, false, 1, 0, 0});
    asked = 0;
    absent = true;
    stalls = true; /* all segments are taken, and one is not finished */
    XT_CHECK(compute(&fresh) == XG_OK && !fresh.product.count.wholes && !fresh.product.count.parts);
    absent = false;
    XT_CHECK(asked > 3 && asked < ASKED_MOST, "asked %ld times", (long)asked);
    fx_product_check(&fresh.product, 11, "absent");
    fresh_destroy(&fresh);
}

/*
 * Pages appear slowly, and the submitter has finished the product: a thread finishes the segment
 * that it has begun, and every page of the rows is populated.
 */
static void test_slow(void)
{
    struct fresh fresh = fresh_create(&(struct fx_shape){2001, 4000, 9, false, false, 1, 0, 0});
    const struct xg_problem *call = &fresh.product.call;
    size_t first = ((uintptr_t)call->c - map_begin) / PAGE, left_out = 0;
    size_t last = ((uintptr_t)((float *)call->c + call->m * call->ldc) - 1 - map_begin) / PAGE;
    advised = xt_alloc(fresh.bytes / PAGE, 1);
    step_ns = 4000000;
    XT_CHECK(compute(&fresh) == XG_OK && !fresh.product.count.wholes && !fresh.product.count.parts);
    step_ns = 0;
    for (size_t page = first; page <= last; page++)
        left_out += !advised[page];
    XT_CHECK(left_out == 0, "%zu pages of %zu", left_out, last - first + 1);
    free(advised);
    advised = NULL;
    fx_product_check(&fresh.product, 11, "slow");
    fresh_destroy(&fresh);
}

/* A lane's only thread populates no pages. */
static void test_limit(void)
{
    for (int workers = 1; workers <= WORKERS; workers++) {
        xg_lane_limit(lane, workers);
        check(&(struct fx_shape){700, 900, 30, false, false, 1, 0, 0}, workers > 1);
    }
}

/* --- Routines -------------------------------------------------------------------------------- */

/* GESDD with U and V in one mapping without pages; an unused page follows each. */
static enum xg_status run_fresh(const struct xg_routine *routine)
{
    static const enum xg_slot outputs[] = {XG_SLOT_U, XG_SLOT_V};
    struct xg_routine call = *routine;
    struct xg_result result;
    size_t bytes[2], pages[2];
    for (int i = 0; i < 2; i++) {
        bytes[i] = xg_routine_span_bytes(routine, outputs[i]);
        pages[i] = (bytes[i] + PAGE - 1) / PAGE;
    }
    const size_t all = pages[0] + pages[1] + 2;
    char *memory =
        mmap(NULL, all * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *there = xt_alloc(all, 1);
    advised = xt_alloc(all, 1);
    if (memory == MAP_FAILED)
        exit(XT_HARD);
    madvise(memory, all * PAGE, MADV_NOHUGEPAGE);
    map_begin = (uintptr_t)memory;
    map_end = map_begin + all * PAGE;
    for (int i = 0; i < 2; i++)
        call.operand[outputs[i]].at = memory + (i ? pages[0] + 1 : 0) * PAGE;
    enum xg_status status = xg_routine_run(lane, &call, &result);
    XT_CHECK(status == XG_OK, "%s", xg_status_name(status));
    if (mincore(memory, all * PAGE, there))
        exit(XT_HARD);
    for (size_t page = 0; page < all; page++) {
        const bool beyond = page == pages[0] || page == all - 1;
        XT_CHECK(advised[page] == !beyond && (there[page] & 1) == !beyond, "page %zu of %zu", page,
                 all);
    }
    populated = 0;
    for (int i = 0; i < 2; i++)
        memcpy(routine->operand[outputs[i]].at, call.operand[outputs[i]].at, bytes[i]);
    free(advised);
    free(there);
    advised = NULL;
    munmap(memory, all * PAGE);
    return status;
}

static void test_routine(void)
{
    rx_singular(run_fresh, XG_TYPE_D, 400, 420, 0, XG_VECTORS_ALL, RX_RANDOM);
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    fake = fx_fake();
    bool known = syscall(SYS_madvise, PAGE, 0, MADV_POPULATE_WRITE) == 0;
    if (sysconf(_SC_PAGESIZE) != PAGE)
        return xt_skip("pages are not of 4 KiB");
    lane = fx_lane_open(&conf, WORKERS, &dev);
    test_shapes(known);
    if (known) {
        test_limit();
        test_absent();
        for (int i = 0; i < 3; i++)
            test_slow();
        test_routine();
    }
    test_faults();
    test_protected(PROT_READ);
    test_protected(PROT_NONE);
    fx_lane_close(lane, dev);
    xg_conf_fini(&conf);
    return xt_done();
}
