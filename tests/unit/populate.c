/* SPDX-License-Identifier: MIT */
/* Populating C creates exactly the pages of its rows, and only those that the program may write to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/pipeline/populate.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096, HUGE = 2 << 20 };

static int advice_refused; /* the errno of a kernel that cannot populate; 0: the kernel can */
static long advices;

/* Replaces the C library's function, to imitate an older kernel. */
int madvise(void *address, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE) {
        __atomic_add_fetch(&advices, 1, __ATOMIC_RELAXED);
        if (advice_refused) {
            errno = advice_refused;
            return -1;
        }
    }
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

static struct xg_problem product(uintptr_t c, int64_t m, int64_t n, int64_t pad)
{
    struct xg_problem call = {.m = m, .n = n, .k = 1, .alpha = 1, .ldc = n + pad};
    call.c = (float *)c; /* NOLINT: an address that is never read */
    return call;
}

static struct xg_populate_lines rows_of(const struct xg_problem *call)
{
    return (struct xg_populate_lines){call->c, call->m, (size_t)call->n * sizeof(float),
                                      (size_t)call->ldc * sizeof(float)};
}

static void look(struct xg_populate *populate, const struct xg_problem *call)
{
    const struct xg_populate_lines rows = rows_of(call);
    xg_populate_init(populate, &rows);
}

/* --- Pure ---------------------------------------------------------------------------------- */

/* Marks the pages that have a byte of C, row by row. */
static void mark_rows(const struct xg_problem *call, uintptr_t base, unsigned char *pages)
{
    for (int64_t i = 0; i < call->m; i++) {
        uintptr_t first = (uintptr_t)xg_problem_at(call, call->c, i * call->ldc);
        uintptr_t last = first + (size_t)call->n * sizeof(float) - 1;
        for (uintptr_t page = first / PAGE; page <= last / PAGE; page++)
            pages[page - base / PAGE] = 1;
    }
}

static void check_extent(int64_t m, int64_t n, int64_t pad, size_t offset)
{
    enum { PAGES = 1 << 15 };
    static unsigned char rows[PAGES], segments[PAGES];
    const uintptr_t base = (uintptr_t)7 << 40;
    struct xg_problem call = product(base + PAGE + offset, m, n, pad);
    memset(rows, 0, sizeof rows);
    memset(segments, 0, sizeof segments);
    mark_rows(&call, base, rows);
    const struct xg_populate_lines lines = rows_of(&call);
    struct xg_populate_extent extent = xg_populate_extent_of(&lines, PAGE);
    bool gaps = m > 1 && pad * 4 >= PAGE;
    XT_CHECK(extent.runs == (!gaps            ? 1
                             : n * 4 >= 65536 ? m
                                              : 0),
             "%ld,%ld pad %ld: %ld runs", (long)m, (long)n, (long)pad, (long)extent.runs);
    uintptr_t begin = 0;
    struct xg_populate populate = {.extent = extent, .segments = xg_populate_count(&extent)};
    for (int64_t p = 0; p < populate.segments; p++) {
        struct xg_populate_range range = xg_populate_segment(&extent, p);
        XT_CHECK(range.begin % PAGE == 0 || range.begin == range.end);
        if (range.begin == range.end)
            continue;
        XT_CHECK(range.begin < range.end && range.begin >= begin, "segment %ld", (long)p);
        XT_CHECK(range.begin / extent.block_bytes == (range.end - 1) / extent.block_bytes,
                 "segment %ld is of two huge pages", (long)p);
        /* A part that is not a whole huge page is small, so that several threads share the work. */
        size_t size = range.end - range.begin;
        XT_CHECK(size <= extent.part_bytes || size == extent.block_bytes, "%zu bytes", size);
        begin = range.begin;
        for (uintptr_t page = range.begin; page < range.end; page += PAGE)
            segments[(page - base) / PAGE] = 1;
        /* Bytes of a segment are awaited until a thread takes the segment. */
        uintptr_t byte = range.begin > (uintptr_t)call.c ? range.begin : (uintptr_t)call.c;
        if (extent.runs == 1) {
            populate.taken = p;
            XT_CHECK(xg_populate_at(&populate, (void *)byte) == XG_POPULATE_AWAITED, "segment %ld",
                     (long)p);
            populate.taken = p + 1;
            XT_CHECK(xg_populate_at(&populate, (void *)byte) != XG_POPULATE_AWAITED, "segment %ld",
                     (long)p);
        }
    }
    XT_CHECK(!extent.runs || !memcmp(rows, segments, sizeof rows), "%ld,%ld pad %ld offset %zu",
             (long)m, (long)n, (long)pad, offset);
}

static void test_extents(void)
{
    static const int64_t shapes[][3] = {{1, 1, 0},          {1, 5000, 9000},    {2, 3, 1},
                                        {1024, 1024, 0},    {4096, 1000, 24},   {1000, 777, 1023},
                                        {100, 64, 1024},    {60, 16384, 1024},  {60, 16385, 5003},
                                        {3, 1 << 20, 4096}, {3, 700001, 300000}};
    static const size_t offsets[] = {0, 16, 64, 4092, HUGE - PAGE, HUGE - PAGE + 16, HUGE + 40};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; o++)
            check_extent(shapes[s][0], shapes[s][1], shapes[s][2], offsets[o]);
}

/* --- On this system's pages ---------------------------------------------------------------- */

static char *map(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(XT_HARD);
    return memory;
}

static bool there(const char *page)
{
    unsigned char answer;
    if (mincore((void *)(uintptr_t)page, PAGE, &answer))
        exit(XT_HARD);
    return answer & 1;
}

static int count_there(const char *memory, size_t bytes)
{
    int count = 0;
    for (size_t at = 0; at < bytes; at += PAGE)
        count += there(memory + at);
    return count;
}

/* Makes all steps on one thread. Returns their number. */
static int steps(struct xg_populate *populate)
{
    struct xg_populate_range part = {0, 0};
    int count = 0;
    while (xg_populate_step(populate, &part))
        count++;
    return count;
}

static void *take_steps(void *populate)
{
    steps(populate);
    return NULL;
}

/* Several threads populate exactly the pages of the rows, and a second look finds all of them. */
static void check_populated(int64_t m, int64_t n, int64_t pad, bool small)
{
    size_t bytes = (size_t)(m * (n + pad)) * sizeof(float) + 4 * PAGE;
    bytes -= bytes % PAGE;
    char *memory = map(bytes);
    if (small)
        madvise(memory, bytes, MADV_NOHUGEPAGE);
    struct xg_problem call = product((uintptr_t)memory + PAGE + 16, m, n, pad);
    unsigned char *rows = calloc(bytes / PAGE, 1);
    mark_rows(&call, (uintptr_t)memory, rows);

    struct xg_populate populate;
    look(&populate, &call);
    XT_CHECK(populate.segments > 0);
    XT_CHECK(count_there(memory, bytes) == 0, "looking made pages");
    xt_threads_run(3, take_steps, &populate, 0);
    int wrong = 0;
    for (size_t page = 0; page < bytes / PAGE; page++)
        wrong += there(memory + page * PAGE) != rows[page];
    XT_CHECK(wrong == 0, "%ld,%ld pad %ld: %d pages", (long)m, (long)n, (long)pad, wrong);
    look(&populate, &call);
    XT_CHECK(populate.segments == 0 && steps(&populate) == 0, "all is there");
    free(rows);
    munmap(memory, bytes);
}

/* Whether the system gives huge pages without a request. */
static bool huge_pages_always(void)
{
    char line[80] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file) {
        if (!fgets(line, sizeof line, file))
            line[0] = '\0';
        fclose(file);
    }
    return strstr(line, "[always]");
}

/* The first page may exist already; a missing page at the end tells that others are missing. */
static void test_first_look(void)
{
    size_t bytes = 8 << 20;
    char *memory = map(bytes);
    struct xg_problem call = product((uintptr_t)memory + 16, 1024, 2000, 0);
    struct xg_populate populate;
    memory[0] = 1;
    look(&populate, &call);
    XT_CHECK(populate.segments > 0);
    memset(memory, 1, 8192000 / 2);
    look(&populate, &call);
    XT_CHECK(populate.segments > 0);
    memset(memory, 1, bytes);
    look(&populate, &call);
    XT_CHECK(populate.segments == 0);
    munmap(memory, bytes);
    errno = ENOTTY;
    look(&populate, &call); /* mincore fails: nothing is mapped there */
    XT_CHECK(populate.segments == 0 && errno == ENOTTY);
}

/* Pages without permission to write do not change, no page after them is touched, and no signal
 * comes. protection -1: unmapped pages. */
static void check_refused(int protection)
{
    size_t bytes = 16 << 20, at = 6 << 20, length = 64 << 10;
    char *memory = map(bytes);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memory[at] = 42;
    memory[0] = 7;
    if (protection < 0)
        munmap(memory + at, length);
    else
        mprotect(memory + at, length, protection);
    struct xg_problem call = product((uintptr_t)memory, 1024, 4096, 0);
    struct xg_populate populate;
    look(&populate, &call);
    XT_CHECK(populate.segments > 0);
    errno = ENOTTY;
    int made = steps(&populate);
    XT_CHECK(errno == ENOTTY, "errno %d", errno);
    XT_CHECK(made > 0 && made <= (int)(bytes / (256 << 10)), "%d steps", made);
    XT_CHECK(steps(&populate) == 0 &&
                 xg_populate_at(&populate, memory + bytes - 1) == XG_POPULATE_DONE,
             "it goes on");
    XT_CHECK(memory[0] == 7 && there(memory + at - PAGE - (256 << 10)));
    XT_CHECK(count_there(memory + at + length, bytes - at - length) == 0, "pages behind");
    if (protection >= 0) {
        mprotect(memory + at, length, PROT_READ | PROT_WRITE);
        XT_CHECK(memory[at] == 42 && count_there(memory + at, length) == 1);
    }
    munmap(memory, bytes);
    check_populated(100, 20000, 0, true); /* a refusal does not affect another C */
}

/* A C in pages of 4 KiB, of which a thread has made the first of several steps of a segment. */
struct begun {
    struct xg_problem call;
    struct xg_populate populate;
    struct xg_populate_range part; /* the rest of the segment */
    char *memory;
    size_t bytes;
};

static void begin(struct begun *begun)
{
    *begun = (struct begun){.bytes = 8 << 20};
    begun->memory = map(begun->bytes);
    madvise(begun->memory, begun->bytes, MADV_NOHUGEPAGE);
    begun->call = product((uintptr_t)begun->memory, 1024, 2048, 0);
    look(&begun->populate, &begun->call);
    XT_CHECK(xg_populate_at(&begun->populate, begun->memory) == XG_POPULATE_AWAITED);
    while (begun->part.begin == begun->part.end)
        XT_CHECK(xg_populate_step(&begun->populate, &begun->part));
}

/* A page of a segment that a thread has taken is in state BEGUN until it exists. */
static void test_begun(void)
{
    struct begun begun;
    begin(&begun);
    struct xg_populate *populate = &begun.populate;
    const char *made = (const char *)begun.part.begin - 1, *left = (const char *)begun.part.end - 1;
    const char *last = begun.memory + begun.bytes - 1;
    errno = ENOTTY;
    XT_CHECK(xg_populate_at(populate, made) == XG_POPULATE_DONE);
    XT_CHECK(xg_populate_at(populate, left) == XG_POPULATE_BEGUN && errno == ENOTTY);
    XT_CHECK(xg_populate_at(populate, last) == XG_POPULATE_AWAITED);
    while (xg_populate_step(populate, &begun.part))
        ;
    XT_CHECK(xg_populate_at(populate, left) == XG_POPULATE_DONE);
    XT_CHECK(xg_populate_at(populate, last) == XG_POPULATE_DONE);
    madvise(begun.memory, begun.bytes, MADV_DONTNEED);
    XT_CHECK(xg_populate_at(populate, left) == XG_POPULATE_DONE, "asked when all is finished");
    munmap(begun.memory, begun.bytes);
}

/* After xg_populate_wait_no_more threads can still take segments. */
static void test_wait_no_more(void)
{
    struct begun begun;
    begin(&begun);
    const char *left = (const char *)begun.part.end - 1, *last = begun.memory + begun.bytes - 1;
    XT_CHECK(xg_populate_at(&begun.populate, left) == XG_POPULATE_BEGUN);
    xg_populate_wait_no_more(&begun.populate);
    XT_CHECK(xg_populate_at(&begun.populate, left) == XG_POPULATE_DONE);
    XT_CHECK(xg_populate_at(&begun.populate, last) == XG_POPULATE_AWAITED);
    munmap(begun.memory, begun.bytes);
}

/* C lies on a part of a stack that does not exist yet: only a write by its own thread makes the
 * stack grow. */
static void test_stack(void)
{
    size_t bytes = 16 << 20, grown = bytes / 2;
    char *memory = map(bytes);
    munmap(memory, bytes);
    if (mmap(memory + bytes - grown, grown, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0) == MAP_FAILED)
        exit(XT_HARD);
    struct xg_problem call = product((uintptr_t)memory, 1024, 4096, 0);
    struct xg_populate populate;
    unsigned char answer;
    look(&populate, &call);
    XT_CHECK(populate.segments > 0 && steps(&populate) == 0);
    XT_CHECK(mincore(memory + bytes - grown - PAGE, PAGE, &answer) != 0, "it has grown");
    munmap(memory, bytes);
}

/* Populating pages beyond the end of a mapped file must not raise SIGBUS. */
static void test_file(void)
{
    size_t bytes = 4 << 20;
    FILE *file = tmpfile();
    if (!file || ftruncate(fileno(file), (off_t)bytes / 2))
        exit(XT_HARD);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (memory == MAP_FAILED)
        exit(XT_HARD);
    struct xg_problem call = product((uintptr_t)memory, 1024, 1024, 0);
    struct xg_populate populate;
    look(&populate, &call);
    steps(&populate);
    XT_CHECK(steps(&populate) == 0);
    memory[0] = 1;
    munmap(memory, bytes);
    fclose(file);
}

/* A kernel that does not know the advice is asked once. Runs in a new process, because the answer
 * is remembered. */
static void test_old_kernel(void)
{
    char *memory = map(8 << 20);
    struct xg_problem call = product((uintptr_t)memory, 1024, 2000, 0);
    struct xg_populate populate;
    advice_refused = EINVAL;
    for (int i = 0; i < 3; i++) {
        look(&populate, &call);
        XT_CHECK(populate.segments == 0 && steps(&populate) == 0);
    }
    XT_CHECK(advices == 1, "%ld advices", advices);
    XT_CHECK(count_there(memory, 8 << 20) == 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "old")) {
        test_old_kernel();
        return xt_done();
    }
    char command[4200];
    snprintf(command, sizeof command, "'%s' old", argv[0]);
    XT_CHECK(system(command) == 0, "on an old kernel");
    test_extents();
    if (sysconf(_SC_PAGESIZE) != PAGE || syscall(SYS_madvise, PAGE, 0, MADV_POPULATE_WRITE)) {
        printf(
            "pages are not of 4 KiB, or this kernel does not populate them: only the pure part\n");
        return xt_done();
    }
    check_populated(1024, 1024, 0, true);
    check_populated(3000, 1001, 7, true);
    check_populated(40, 20000, 5000, true);
    if (!huge_pages_always())
        check_populated(1024, 2048, 0, false);
    test_first_look();
    test_begun();
    test_wait_no_more();
    check_refused(PROT_READ);
    check_refused(PROT_NONE);
    check_refused(-1);
    test_stack();
    test_file();
    return xt_done();
}
