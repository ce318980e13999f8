/* SPDX-License-Identifier: MIT */
/* No writer changes an operand whose copy is then taken for equal: each writer alone, random
 * programs of all of them, and the memory that may not be tracked at all. */
/*
 * usage: tests/unit/writers [OPERATIONS]
 * With a number it runs only that many random operations, or with 0 only the other tests. Needs a
 * kernel that tracks pages (Linux 6.7) and permits it.
 */
#include "tests/support/writers.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/resident/uffd.h"
#include "tests/support/kept.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

static struct kept kept;
static struct xg_uffd uffd;

static bool open_kept(enum xg_pages_way way)
{
    bool good = kept_open(&kept, &xg_uffd_system, &uffd);
    XT_CHECK(good, "%s", kept.pages.why);
    if (way == XG_PAGES_PROVE)
        kept.pages.way = way;
    return good;
}

/* Most of the ground, from the middle of its first page on; rows of 5000 bytes, 5200 apart. */
static struct xg_table_key most_of(const struct ground *ground)
{
    const int64_t rows = (int64_t)(ground->pages * ground->page_bytes / 5200) - 1;
    return (struct xg_table_key){ground->at + 2000, rows, 1250, 1300, .type = XG_TYPE_S};
}

/* --- Each writer --------------------------------------------------------------------------------
 */

static bool skipped[64];

/* holes: only every third page exists. */
static void check_writer(const struct writer *writer, enum xg_pages_way way, bool huge, bool holes)
{
    struct ground ground;
    if (!open_kept(way))
        return;
    ground_init(&ground, huge ? 1024 : 64, huge);
    for (size_t i = 0; i < ground.pages; i += holes ? 3 : 1)
        memset(ground.at + i * ground.page_bytes, (int)i + 1, ground.page_bytes);
    struct xg_table_key key = most_of(&ground);
    kept_use(&kept, &key);
    kept_use(&kept, &key);
    XT_CHECK(kept.armed == 1 && kept.clean == 1, "%s: %ld armed, %ld clean", writer->name,
             kept.armed, kept.clean);
    for (int round = 0; round < 3; round++) {
        const size_t first = 20 + ground_draw(&ground, 20), count = 1 + ground_draw(&ground, 10);
        if (!writer->run(&ground, first, count))
            writers_skip(&skipped[writer - writers], writer->name);
        kept_use(&kept, &key);
        kept_use(&kept, &key);
    }
    XT_CHECK(kept.stale == 0, "%s, way %d, huge %d, holes %d: %ld stale rows", writer->name,
             (int)way, huge, holes, kept.stale);
    ground_fini(&ground);
    kept_close(&kept);
}

static void test_writers(void)
{
    for (int w = 0; w < writer_count; w++)
        for (int i = 0; i < 8; i++)
            check_writer(&writers[w], i & 1 ? XG_PAGES_PROVE : XG_PAGES_REPORT, i & 2, i & 4);
}

/* --- Random programs ----------------------------------------------------------------------------
 */

enum { KEYS = 20, BLOCKS = 8 };

struct program {
    struct ground grounds[2]; /* small; with huge pages */
    struct xg_table_key keys[2][KEYS];
    char *blocks[BLOCKS]; /* of the heap */
    size_t block_bytes[BLOCKS];
};

static struct xg_table_key random_key(struct ground *g)
{
    static const int64_t shares[] = {1, 2, 4, 8, 16};
    const size_t elem_bytes[] = {4, 8, 8, 16};
    const size_t all = g->pages * g->page_bytes,
                 bytes = all / (size_t)shares[ground_draw(g, 5)] - 8192;
    struct xg_table_key key = {.type = (unsigned char)ground_draw(g, 4)};
    const size_t elem = elem_bytes[key.type];
    key.at = g->at + ground_draw(g, (all - bytes) / 16) * 16;
    key.columns = 1 + (int64_t)ground_draw(g, bytes / elem / 2);
    key.ld =
        key.columns + (int64_t)ground_draw(g, ground_draw(g, 3) ? 8 : 2 * g->page_bytes / elem);
    key.rows = (int64_t)(bytes / elem) / key.ld;
    key.rows += key.rows == 0;
    return key;
}

static void begin_program(struct program *program)
{
    memset(program, 0, sizeof *program);
    for (int i = 0; i < 2; i++) {
        ground_init(&program->grounds[i], i ? 1024 : 96, i);
        for (int k = 0; k < KEYS; k++)
            program->keys[i][k] = random_key(&program->grounds[i]);
    }
}

static void end_program(struct program *program)
{
    for (int i = 0; i < BLOCKS; i++)
        free(program->blocks[i]);
    for (int i = 0; i < 2; i++)
        ground_fini(&program->grounds[i]);
}

/* An array of the heap is used, written, freed, or allocated where others were. */
static void use_heap(struct program *program)
{
    struct ground *g = &program->grounds[0];
    const size_t i = ground_draw(g, BLOCKS), what = ground_draw(g, 8);
    char **block = &program->blocks[i];
    if (!*block || what < 2) {
        free(*block);
        program->block_bytes[i] = 16384 + ground_draw(g, ground_draw(g, 4) ? 60000 : 500000);
        *block = what % 2 ? malloc(program->block_bytes[i]) : calloc(1, program->block_bytes[i]);
        if (*block && what % 2)
            memset(*block, (int)ground_draw(g, 256), program->block_bytes[i]);
    } else if (what == 2) {
        const size_t bytes = program->block_bytes[i] * 5 / 4;
        *block = realloc(*block, bytes);
        memset(*block + program->block_bytes[i], 1, bytes - program->block_bytes[i]);
        program->block_bytes[i] = bytes < 1000000 ? bytes : 16384;
    } else if (what < 5) {
        (*block)[ground_draw(g, program->block_bytes[i])] ^= 1;
    }
    const int64_t columns = 500;
    kept_use(&kept, &(struct xg_table_key){*block, (int64_t)(program->block_bytes[i] / 4) / columns,
                                           columns, columns, .type = XG_TYPE_S});
}

/* The library writes a result over a part of an operand. */
static void commit(struct ground *g, const struct xg_table_key *key)
{
    struct xg_table_key part = *key;
    const size_t elem_bytes = xg_type_bytes(key->type);
    part.rows = 1 + (int64_t)ground_draw(g, (size_t)key->rows);
    kept_written(&kept, &part);
    for (int64_t row = 0; row < part.rows; row++)
        memset((char *)part.at + (size_t)(row * part.ld) * elem_bytes, (int)ground_draw(g, 256),
               (size_t)part.columns * elem_bytes);
}

static const struct writer *draw_writer(struct ground *g)
{
    int sum = 0, w = 0;
    for (int i = 0; i < writer_count; i++)
        sum += writers[i].weight;
    for (int at = (int)ground_draw(g, (size_t)sum); at >= writers[w].weight; w++)
        at -= writers[w].weight;
    return &writers[w];
}

static void step(struct program *program)
{
    const int which = ground_draw(&program->grounds[0], 40) == 0;
    struct ground *g = &program->grounds[which];
    const struct xg_table_key *key = &program->keys[which][ground_draw(g, KEYS)];
    const size_t what = ground_draw(g, 1000), first = ground_draw(g, g->pages - 12);
    if (what < 5) {
        ground_renew(g);
    } else if (what < 6) {
        kept_drop_all(&kept);
    } else if (what < 30) {
        commit(g, key);
    } else if (what < 100) {
        use_heap(program);
    } else if (what < 450) {
        draw_writer(g)->run(g, first, 1 + ground_draw(g, 12));
    } else {
        kept_use(&kept, key);
    }
}

static void test_fuzz(long operations)
{
    static struct program program;
    double begin_s = xg_clock_s();
    if (!open_kept(XG_PAGES_REPORT))
        return;
    const enum xg_pages_way way = kept.pages.way;
    begin_program(&program);
    for (long i = 0; i < operations && !kept.stale; i++) {
        kept.pages.way = i / 1000 % 2 ? XG_PAGES_PROVE : way;
        step(&program);
    }
    printf("%ld operations, %.0f a second: %ld uses, %ld armed, %ld clean, %ld rows sent again; "
           "changed %ld, foreign "
           "%ld, pinned %ld\n",
           operations, (double)operations / (xg_clock_s() - begin_s), kept.uses, kept.armed,
           kept.clean, kept.sent_rows, kept.results[XG_PAGES_CHANGED],
           kept.results[XG_PAGES_FOREIGN], kept.results[XG_PAGES_PINNED]);
    XT_CHECK(kept.stale == 0, "%ld stale rows after %ld uses", kept.stale, kept.uses);
    XT_CHECK(kept.clean >= operations / 20 && kept.sent_rows >= operations / 20);
    XT_CHECK(kept.results[XG_PAGES_CHANGED] > 0 && kept.results[XG_PAGES_FOREIGN] > 0);
    XT_CHECK(kept.results[XG_PAGES_GONE] == 0);
    end_program(&program);
    kept_close(&kept);
}

/* --- Memory that is not tracked -----------------------------------------------------------------
 */

static enum xg_pages_result arm(char *at, size_t bytes)
{
    const struct xg_pages_range range = xg_pages_inside(at, bytes, kept.pages.page_bytes);
    return xg_pages_arm(&kept.pages, range, xg_table_mark, &kept.table);
}

static void check_foreign(const char *what, int protection, int flags, int file)
{
    static bool said;
    enum { BYTES = 4 << 20 };
    char *at = mmap(NULL, BYTES, protection, flags, file, 0);
    if (at == MAP_FAILED) {
        writers_skip(&said, what);
        return;
    }
    enum xg_pages_result result = arm(at, BYTES);
    XT_CHECK(result == XG_PAGES_FOREIGN, "%s: %s", what, xg_pages_result_text(result));
    munmap(at, BYTES);
}

static void *arm_here(void *stack)
{
    XT_CHECK(arm(stack, 65536) == XG_PAGES_FOREIGN, "another thread's stack");
    return NULL;
}

static void test_foreign(void)
{
    enum { RW = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS, DROPPABLE = 8 };
    struct ground ground;
    char *stack = alloca(65536);
    if (!open_kept(XG_PAGES_REPORT))
        return;
    ground_init(&ground, 1024, false);
    check_foreign("shared memory", RW, MAP_SHARED | MAP_ANONYMOUS, -1);
    check_foreign("a shared file", RW, MAP_SHARED, ground.file);
    check_foreign("a private file", RW, MAP_PRIVATE, ground.file);
    check_foreign("memory that is only read", PROT_READ, ANONYMOUS, -1);
    check_foreign("memory without permissions", PROT_NONE, ANONYMOUS, -1);
    check_foreign("hugetlb", RW, ANONYMOUS | MAP_HUGETLB, -1);
    check_foreign("MAP_DROPPABLE", RW, DROPPABLE | MAP_ANONYMOUS, -1);
    memset(stack, 1, 65536);
    XT_CHECK(arm(stack, 65536) == XG_PAGES_FOREIGN, "the stack");
    pthread_join(xt_thread_start(arm_here, stack), NULL);
    XT_CHECK(arm(ground.at, 65536) == XG_PAGES_DONE);
    /* Another userfaultfd has it. */
    static struct xg_uffd another;
    struct xg_pages_mapping found;
    const struct xg_pages_system *system = &xg_uffd_system;
    char *theirs = mmap(NULL, 65536, RW, ANONYMOUS, -1, 0);
    mprotect(theirs, 4096, PROT_NONE); /* not united with a neighbour */
    XT_CHECK(
        !system->open(&another) && system->find(&another, (uintptr_t)theirs + 4096, &found) &&
        system->track(&another,
                      (struct xg_pages_range){(uintptr_t)theirs + 4096, (uintptr_t)theirs + 65536},
                      true));
    XT_CHECK(arm(theirs + 4096, 61440) == XG_PAGES_FOREIGN, "another userfaultfd's memory");
    /* Ours: theirs is refused, until the tracker closes; also while a child holds the descriptors.
     */
    const struct xg_pages_range ours = {(uintptr_t)ground.at, (uintptr_t)ground.at + 65536};
    XT_CHECK(!system->track(&another, ours, true));
    int ends[2];
    if (pipe(ends))
        exit(XT_HARD);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        char byte;
        _exit(read(ends[0], &byte, 1) != 1);
    }
    kept_close(&kept);
    XT_CHECK(system->track(&another, ours, true), "still tracked beside a child");
    XT_CHECK(write(ends[1], "", 1) == 1);
    xt_child_wait(child, "a child with our descriptors");
    system->close(&another);
    close(ends[0]);
    close(ends[1]);
    ground_fini(&ground);
}

/* --- Descriptors and children -------------------------------------------------------------------
 */

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 100; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_descriptors(void)
{
    struct ground ground;
    ground_init(&ground, 64, false);
    struct xg_table_key key = most_of(&ground);
    const int before = open_descriptors();
    for (int which = 0; which < 2; which++) {
        if (!open_kept(XG_PAGES_REPORT))
            return;
        kept_use(&kept, &key);
        /* The program closes a descriptor, and its number is then another file's. */
        int fd = which ? uffd.pagemap.fd : uffd.faults.fd;
        XT_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        if (dup2(ground.file, fd) != fd)
            exit(XT_HARD);
        ground.at[30000] ^= 1;
        kept_use(&kept, &key);
        XT_CHECK(kept.results[XG_PAGES_GONE] == 1 && kept.stale == 0);
        kept_close(&kept);
        XT_CHECK(fcntl(fd, F_GETFD) >= 0, "the program's own file was closed");
        close(fd);
    }
    XT_CHECK(open_descriptors() == before);
    if (!open_kept(XG_PAGES_REPORT))
        return;
    kept_use(&kept, &key);
    pid_t child = fork();
    if (child == 0) {
        xg_pages_close_in_child(&kept.pages);
        kept_use(&kept, &key);
        _exit(!(kept.results[XG_PAGES_GONE] == 1 && open_descriptors() == before));
    }
    xt_child_wait(child, "a forked child");
    ground.at[30000] ^= 1;
    kept_use(&kept, &key);
    XT_CHECK(kept.stale == 0 && kept.sent_rows > 0 && kept.results[XG_PAGES_DONE] == 2);
    kept_close(&kept);
    ground_fini(&ground);
}

/* A mapping of which a part is armed can still grow. */
static void test_growth(void)
{
    enum { RW = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS };
    if (!open_kept(XG_PAGES_REPORT))
        return;
    const size_t bytes = 1 << 20;
    char *at = mmap(NULL, bytes, RW, ANONYMOUS, -1, 0);
    memset(at, 1, bytes);
    struct xg_table_key key = {at + 4096, 10, 1000, 1000, .type = XG_TYPE_S};
    kept_use(&kept, &key);
    char *moved = mremap(at, bytes, 2 * bytes, MREMAP_MAYMOVE);
    XT_CHECK(moved != MAP_FAILED && moved[5000] == 1);
    key.at = moved + 4096;
    moved[bytes + 100] = 1;
    kept_use(&kept, &key);
    moved[5000] = 2;
    kept_use(&kept, &key);
    XT_CHECK(kept.stale == 0);
    kept_close(&kept);
    munmap(moved, 2 * bytes);
}

/* --- Pinned memory ------------------------------------------------------------------------------
 */

/* A ring that has pinned these bytes, or -1. */
static int pin(void *at, size_t bytes)
{
    struct io_uring_params params = {0};
    const struct iovec buffer = {at, bytes};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    if (ring >= 0 &&
        syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) != 0) {
        close(ring);
        ring = -1;
    }
    return ring;
}

static void unpin(int ring)
{
    close(ring);
    for (int i = 0; i < 1000 && xg_uffd_system.pinned_kib(&uffd) != 0; i++)
        xg_clock_nap_us(1000);
    XT_CHECK(xg_uffd_system.pinned_kib(&uffd) == 0);
}

static void test_pinned(void)
{
    static bool said;
    struct ground ground;
    if (!open_kept(XG_PAGES_REPORT))
        return;
    ground_init(&ground, 64, false);
    memset(ground.at, 1, ground.pages * ground.page_bytes);
    struct xg_table_key key = most_of(&ground);
    int ring = pin(ground.at + 8192, 16384);
    if (ring < 0) {
        writers_skip(&said, "pinned memory");
    } else {
        XT_CHECK(xg_uffd_system.pinned_kib(&uffd) == 16);
        kept_use(&kept, &key);
        XT_CHECK(kept.results[XG_PAGES_PINNED] == 1 && kept.armed == 0);
        unpin(ring);
        kept_use(&kept, &key);
        XT_CHECK(kept.armed == 1);
        ring = pin(ground.at + 8192, 16384);
        kept_use(&kept, &key);
        XT_CHECK(kept.results[XG_PAGES_PINNED] == 2 && kept.clean == 0, "pinned after arming");
        unpin(ring);
    }
    ground_fini(&ground);
    kept_close(&kept);
}

int main(int argc, char **argv)
{
    const long operations = argc > 1 ? atol(argv[1]) : 100000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!kept_open(&kept, &xg_uffd_system, &uffd)) {
        printf("skipped: %s\n", kept.pages.why);
        return XT_SKIP;
    }
    printf("pages are %s\n", kept.pages.way == XG_PAGES_REPORT ? "reported" : "proved");
    kept_close(&kept);
    if (operations)
        test_fuzz(operations);
    if (argc == 1 || !operations) {
        test_writers();
        test_foreign();
        test_descriptors();
        test_growth();
        test_pinned();
    }
    return xt_done();
}
