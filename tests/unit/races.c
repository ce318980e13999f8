/* SPDX-License-Identifier: MIT */
/* A thread writes while an operand's pages are armed, read and fetched. Once it is quiet, no copy
 * differs. */
/*
 * usage: tests/unit/races [ROUNDS]
 * Writers that looked a page up before it was armed and store to it after it was read are lost by
 * nature (doc/explanation/residency.md): they write only to the neighbour that shares the operand's
 * pages here, which loses nothing, because its copy is marked as well.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "src/resident/uffd.h"
#include "tests/support/kept.h"
#include "tests/support/threads.h"
#include "tests/support/writers.h"

/* Two matrices side by side: each has the half of every row of 4800 bytes. */
enum { HALF_ROW = 2400, ROW = 2 * HALF_ROW };

static struct kept kept;
static struct xg_uffd uffd;
static struct ground ground, writers_ground; /* one memory; each thread draws from its own */
static struct xg_table_key operand, neighbour;

/* A place in one of the two. */
static char *place(bool neighbours, size_t bytes)
{
    const size_t row = ground_draw(&writers_ground, (size_t)operand.rows);
    return (char *)operand.at + row * ROW + (neighbours ? HALF_ROW : 0) +
           ground_draw(&writers_ground, (HALF_ROW - bytes) / 16) * 16;
}

static void by_store(void)
{
    *(volatile char *)place(ground_draw(&writers_ground, 2), 16) += 1;
}

/* Past the caches. */
static void by_stream(void)
{
    char *at = place(ground_draw(&writers_ground, 2), 64);
#if defined(__SSE2__)
    const __m128i value = _mm_set1_epi8((char)ground_draw(&writers_ground, 256));
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)(void *)(at + 16 * i), value);
    _mm_sfence();
#else
    memset(at, (int)ground_draw(&writers_ground, 256), 64);
#endif
}

static void by_rows(void)
{
    memset((char *)operand.at + ground_draw(&writers_ground, (size_t)operand.rows - 8) * ROW,
           (int)ground_draw(&writers_ground, 256), 8 * ROW);
}

static int ends[2], memory;

static void by_read(void)
{
    const unsigned char byte = (unsigned char)ground_draw(&writers_ground, 256);
    XT_CHECK(write(ends[1], &byte, 1) == 1 &&
             read(ends[0], place(ground_draw(&writers_ground, 2), 16), 1) == 1);
}

static void by_vm_writev(void)
{
    unsigned char bytes[64];
    memset(bytes, (int)ground_draw(&writers_ground, 256), sizeof bytes);
    const struct iovec from = {bytes, sizeof bytes}, to = {place(true, 64), sizeof bytes};
    XT_CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == sizeof bytes);
}

static void by_mem_file(void)
{
    const unsigned char byte = (unsigned char)ground_draw(&writers_ground, 256);
    XT_CHECK(pwrite(memory, &byte, 1, (off_t)(uintptr_t)place(true, 16)) == 1);
}

static const struct kind {
    const char *name;
    void (*write)(void);
} kinds[] = {{"stores", by_store},
             {"streaming stores", by_stream},
             {"rows", by_rows},
             {"read", by_read},
             {"process_vm_writev beside it", by_vm_writev},
             {"/proc/self/mem beside it", by_mem_file}};

static atomic_int writing; /* the thread writes while it is 1, and answers 2 with 0 */

static void *write_on(void *kind)
{
    int state;
    while ((state = atomic_load(&writing)) >= 0)
        if (state == 1)
            ((const struct kind *)kind)->write();
        else if (state == 2)
            atomic_store(&writing, 0);
        else
            sched_yield();
    return NULL;
}

/* After this the thread writes no more. */
static void quieten(void)
{
    atomic_store(&writing, 2);
    while (atomic_load(&writing) != 0)
        sched_yield();
}

static void spin(size_t most)
{
    for (volatile size_t i = ground_draw(&ground, most); i > 0; i--)
        ;
}

/* Returns the number of rows that differ. The neighbour is armed before. */
static long run_rounds(const struct kind *kind, enum xg_pages_way way, bool huge, bool copy_first,
                       int rounds)
{
    if (!kept_open(&kept, &xg_uffd_system, &uffd))
        exit(XT_HARD);
    if (way == XG_PAGES_PROVE)
        kept.pages.way = way;
    ground_init(&ground, huge ? 512 : 64, huge);
    memset(ground.at, 1, ground.pages * ground.page_bytes);
    writers_ground = ground;
    writers_ground.seed = 2;
    operand = (struct xg_table_key){ground.at + 1600,
                                    (int64_t)(ground.pages * ground.page_bytes / ROW) - 1,
                                    HALF_ROW / 4, ROW / 4, .type = XG_TYPE_S};
    neighbour = operand;
    neighbour.at = (char *)operand.at + HALF_ROW;
    kept.copy_first = copy_first;
    atomic_store(&writing, 0);
    pthread_t thread = xt_thread_start(write_on, (void *)kind);
    for (int i = 0; i < rounds; i++) {
        kept_use(&kept, &neighbour);
        atomic_store(&writing, 1);
        spin(2000);
        for (size_t sends = 1 + ground_draw(&ground, 4); sends > 0; sends--) {
            kept_send(&kept, &operand);
            spin(300);
        }
        quieten();
        kept_use(&kept, &operand);
        kept_use(&kept, &neighbour);
        if (i % 3 == 0)
            kept_drop_all(&kept);
    }
    atomic_store(&writing, -1);
    pthread_join(thread, NULL);
    const long stale = kept.stale;
    XT_CHECK(kept.results[XG_PAGES_DONE] == kept.uses, "%s: %ld of %ld", kind->name,
             kept.results[XG_PAGES_DONE], kept.uses);
    kept_close(&kept);
    ground_fini(&ground);
    return stale;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    if (!kept_open(&kept, &xg_uffd_system, &uffd)) {
        printf("skipped: %s\n", kept.pages.why);
        return XT_SKIP;
    }
    kept_close(&kept);
    memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (pipe(ends) || memory < 0)
        return XT_HARD;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int i = 0; i < 4; i++) {
            const enum xg_pages_way way = i & 1 ? XG_PAGES_PROVE : XG_PAGES_REPORT;
            long stale = run_rounds(&kinds[k], way, i & 2, false, i & 2 ? rounds / 8 + 1 : rounds);
            XT_CHECK(stale == 0, "%s, way %d, huge %d: %ld rows", kinds[k].name, (int)way, i / 2,
                     stale);
        }
    /* The races can be seen: an operand that is read before it is armed is lost. */
    long stale = 0;
    for (int i = 0; i < 20 && !stale; i++)
        stale = run_rounds(&kinds[2], XG_PAGES_REPORT, true, true, rounds);
    XT_CHECK(stale > 0, "no race in all these rounds");
    return xt_done();
}
