/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <fcntl.h>
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "threads.h"
#include "xt.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103, KEEP_MAPPING = 4 };

size_t ground_draw(struct ground *g, size_t below)
{
    return (size_t)(((double)xt_random(&g->seed) + 1.0) / 2.0 * (double)below) % below;
}

void writers_skip(bool *said, const char *what)
{
    if (!*said)
        printf("not possible here: %s\n", what);
    *said = true;
}

static char *anonymous(void *at, size_t bytes, int fixed)
{
    char *mapped =
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (mapped == MAP_FAILED)
        exit(XT_HARD);
    return mapped;
}

void ground_init(struct ground *g, size_t pages, bool huge)
{
    *g = (struct ground){
        .pages = pages, .page_bytes = (size_t)sysconf(_SC_PAGESIZE), .huge = huge, .seed = 1};
    const size_t bytes = pages * g->page_bytes, align = (size_t)2 << 20;
    char *mapped = anonymous(NULL, bytes + align, 0);
    g->at = mapped + (align - (uintptr_t)mapped % align) % align;
    munmap(mapped, (size_t)(g->at - mapped));
    munmap(g->at + bytes, (size_t)(mapped + align - g->at));
    madvise(g->at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    g->file = memfd_create("ground", MFD_CLOEXEC);
    if (g->file < 0 || ftruncate(g->file, (off_t)bytes))
        exit(XT_HARD);
    g->alias = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, g->file, 0);
    if (g->alias == MAP_FAILED)
        exit(XT_HARD);
}

void ground_fini(struct ground *g)
{
    munmap(g->at, g->pages * g->page_bytes);
    munmap(g->alias, g->pages * g->page_bytes);
    close(g->file);
}

static char *page_at(const struct ground *g, size_t first)
{
    return g->at + first * g->page_bytes;
}

static size_t bytes_of(const struct ground *g, size_t count)
{
    return count * g->page_bytes;
}

/* A place for a few bytes in one of the pages. */
static char *place(struct ground *g, size_t first, size_t count, size_t bytes)
{
    return page_at(g, first) + ground_draw(g, bytes_of(g, count) - bytes);
}

static void fill_random(struct ground *g, unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)ground_draw(g, 256);
}

/* --- Stores
 * -----------------------------------------------------------------------------------------------------
 */

static bool store(struct ground *g, size_t first, size_t count)
{
    *(volatile char *)place(g, first, count, 1) = (char)ground_draw(g, 256);
    return true;
}

static bool store_all(struct ground *g, size_t first, size_t count)
{
    memset(page_at(g, first), (int)ground_draw(g, 256), bytes_of(g, count));
    return true;
}

static bool store_same(struct ground *g, size_t first, size_t count)
{
    volatile char *at = place(g, first, count, 1);
    *at = *at;
    return true;
}

static struct {
    sem_t begin, end;
    char *at;
    char value;
    bool started;
} other;

static void *store_for_others(void *unused)
{
    (void)unused;
    for (;;) {
        while (sem_wait(&other.begin))
            ;
        *(volatile char *)other.at = other.value;
        sem_post(&other.end);
    }
    return NULL;
}

/* By another thread. */
static bool store_thread(struct ground *g, size_t first, size_t count)
{
    if (!other.started) {
        sem_init(&other.begin, 0, 0);
        sem_init(&other.end, 0, 0);
        pthread_detach(xt_thread_start(store_for_others, NULL));
        other.started = true;
    }
    other.at = place(g, first, count, 1);
    other.value = (char)ground_draw(g, 256);
    sem_post(&other.begin);
    while (sem_wait(&other.end))
        ;
    return true;
}

static int store_in_child(void *at)
{
    *(volatile char *)at += 1;
    return 0;
}

/* By a child that shares the memory, as after vfork. */
static bool store_vfork(struct ground *g, size_t first, size_t count)
{
    static _Alignas(64) char stack[65536];
    int child = clone(store_in_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                      place(g, first, count, 1));
    return child > 0 && waitpid(child, NULL, 0) == child;
}

/* --- The kernel
 * -------------------------------------------------------------------------------------------------
 */

static bool by_read(struct ground *g, size_t first, size_t count)
{
    unsigned char bytes[64];
    int ends[2];
    fill_random(g, bytes, sizeof bytes);
    if (pipe(ends))
        return false;
    bool good = write(ends[1], bytes, sizeof bytes) == sizeof bytes &&
                read(ends[0], place(g, first, count, sizeof bytes), sizeof bytes) == sizeof bytes;
    close(ends[0]);
    close(ends[1]);
    return good;
}

static bool by_recv(struct ground *g, size_t first, size_t count)
{
    unsigned char bytes[64];
    int ends[2];
    fill_random(g, bytes, sizeof bytes);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return false;
    bool good =
        send(ends[1], bytes, sizeof bytes, 0) == sizeof bytes &&
        recv(ends[0], place(g, first, count, sizeof bytes), sizeof bytes, 0) == sizeof bytes;
    close(ends[0]);
    close(ends[1]);
    return good;
}

static bool by_file(struct ground *g, size_t first, size_t count)
{
    const size_t bytes = bytes_of(g, count);
    FILE *file = tmpfile();
    if (!file)
        return false;
    bool good = write(fileno(file), page_at(g, first), bytes) == (ssize_t)bytes;
    unsigned char byte = (unsigned char)ground_draw(g, 256);
    good = good && pwrite(fileno(file), &byte, 1, (off_t)ground_draw(g, bytes)) == 1 &&
           pread(fileno(file), page_at(g, first), bytes, 0) == (ssize_t)bytes;
    fclose(file);
    return good;
}

static bool by_vm_writev(struct ground *g, size_t first, size_t count)
{
    unsigned char bytes[64];
    fill_random(g, bytes, sizeof bytes);
    const struct iovec from = {bytes, sizeof bytes},
                       to = {place(g, first, count, sizeof bytes), sizeof bytes};
    return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == sizeof bytes;
}

static bool by_mem_file(struct ground *g, size_t first, size_t count)
{
    unsigned char bytes[64];
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    fill_random(g, bytes, sizeof bytes);
    bool good = memory >= 0 &&
                pwrite(memory, bytes, sizeof bytes,
                       (off_t)(uintptr_t)place(g, first, count, sizeof bytes)) == sizeof bytes;
    if (memory >= 0)
        close(memory);
    return good;
}

/* A child attaches to this thread and pokes a word. */
static bool by_ptrace(struct ground *g, size_t first, size_t count)
{
    char *at = place(g, first, count, 2 * sizeof(long));
    const long word = (long)ground_draw(g, 1 << 20);
    pid_t self = (pid_t)syscall(SYS_gettid), child = fork();
    int status = 1;
    if (child == 0) {
        bool good = ptrace(PTRACE_SEIZE, self, NULL, NULL) == 0 &&
                    ptrace(PTRACE_INTERRUPT, self, NULL, NULL) == 0 &&
                    waitpid(self, &status, __WALL) == self &&
                    ptrace(PTRACE_POKEDATA, self, at, word) == 0;
        ptrace(PTRACE_DETACH, self, NULL, NULL);
        _exit(!good);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && status == 0;
}

/* --- io_uring
 * ---------------------------------------------------------------------------------------------------
 */

/* One read of a pipe into memory, by a ring of one entry. */
#ifdef IORING_OFF_SQES
static bool by_ring(struct ground *g, size_t first, size_t count)
{
    struct io_uring_params params = {0};
    unsigned char bytes[64];
    int ends[2], ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    fill_random(g, bytes, sizeof bytes);
    if (ring < 0)
        return false;
    if (pipe(ends))
        exit(XT_HARD);
    const size_t queue_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    char *queue =
        mmap(NULL, queue_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry =
        mmap(NULL, sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    bool good = queue != MAP_FAILED && entry != MAP_FAILED &&
                write(ends[1], bytes, sizeof bytes) == sizeof bytes;
    if (good) {
        memset(entry, 0, sizeof *entry);
        entry->opcode = IORING_OP_READ;
        entry->fd = ends[0];
        entry->addr = (uint64_t)(uintptr_t)place(g, first, count, sizeof bytes);
        entry->len = sizeof bytes;
        *(unsigned *)(queue + params.sq_off.array) = 0;
        __atomic_store_n((unsigned *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
        good = syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1;
    }
    munmap(queue, queue_bytes);
    munmap(entry, sizeof *entry);
    close(ring);
    close(ends[0]);
    close(ends[1]);
    return good;
}
#else
static bool by_ring(struct ground *g, size_t first, size_t count)
{
    (void)g, (void)first, (void)count;
    return false;
}
#endif

/* --- Mappings
 * ---------------------------------------------------------------------------------------------------
 */

static bool map_anew(struct ground *g, size_t first, size_t count)
{
    anonymous(page_at(g, first), bytes_of(g, count), MAP_FIXED);
    return true;
}

void ground_renew(struct ground *g)
{
    map_anew(g, 0, g->pages);
    madvise(g->at, bytes_of(g, g->pages), g->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static bool unmap_and_map(struct ground *g, size_t first, size_t count)
{
    munmap(page_at(g, first), bytes_of(g, count));
    anonymous(page_at(g, first), bytes_of(g, count), MAP_FIXED);
    return ground_draw(g, 2) ? store(g, first, count) : true;
}

/* Other pages take the place of these. */
static bool move_here(struct ground *g, size_t first, size_t count)
{
    const size_t bytes = bytes_of(g, count);
    char *from = anonymous(NULL, bytes, 0);
    memset(from, (int)ground_draw(g, 256), bytes);
    return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, page_at(g, first)) !=
           MAP_FAILED;
}

/* False: not all of it moved, because several mappings are there. The rest is lost, and new pages
 * are mapped. */
static bool moved(struct ground *g, size_t first, size_t count, void *result, char *room)
{
    if (result != MAP_FAILED)
        return true;
    munmap(room, bytes_of(g, count));
    return !map_anew(g, first, count);
}

/* The pages go elsewhere, and the mapping stays. */
static bool move_away(struct ground *g, size_t first, size_t count)
{
    const size_t bytes = bytes_of(g, count);
    char *room = anonymous(NULL, bytes, 0);
    if (!moved(g, first, count,
               mremap(page_at(g, first), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | KEEP_MAPPING,
                      room),
               room))
        return false;
    munmap(room, bytes);
    return true;
}

/* Away, changed there, and back. */
static bool move_back(struct ground *g, size_t first, size_t count)
{
    const size_t bytes = bytes_of(g, count);
    char *room = anonymous(NULL, bytes, 0);
    if (!moved(g, first, count,
               mremap(page_at(g, first), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, room), room))
        return false;
    room[ground_draw(g, bytes)] ^= 1;
    return moved(g, first, count,
                 mremap(room, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, page_at(g, first)),
                 room);
}

static bool map_file(struct ground *g, size_t first, size_t count, int sharing)
{
    return mmap(page_at(g, first), bytes_of(g, count), PROT_READ | PROT_WRITE, sharing | MAP_FIXED,
                g->file, (off_t)bytes_of(g, first)) != MAP_FAILED;
}
static bool map_shared(struct ground *g, size_t first, size_t count)
{
    return map_file(g, first, count, MAP_SHARED);
}
static bool map_private(struct ground *g, size_t first, size_t count)
{
    return map_file(g, first, count, MAP_PRIVATE);
}

/* Changes what is mapped by the two before, and nothing else. */
static bool store_alias(struct ground *g, size_t first, size_t count)
{
    g->alias[bytes_of(g, first) + ground_draw(g, bytes_of(g, count))] = (char)ground_draw(g, 256);
    return true;
}

static bool protect(struct ground *g, size_t first, size_t count)
{
    static const int modes[] = {PROT_READ, PROT_NONE};
    const size_t bytes = bytes_of(g, count);
    bool good = mprotect(page_at(g, first), bytes, modes[ground_draw(g, 2)]) == 0;
    return mprotect(page_at(g, first), bytes, PROT_READ | PROT_WRITE) == 0 && good;
}

static bool lock_pages(struct ground *g, size_t first, size_t count)
{
    bool good = mlock(page_at(g, first), bytes_of(g, count)) == 0;
    munlock(page_at(g, first), bytes_of(g, count));
    return good;
}

/* --- Advice
 * -----------------------------------------------------------------------------------------------------
 */

static bool advise(struct ground *g, size_t first, size_t count, int advice)
{
    return madvise(page_at(g, first), bytes_of(g, count), advice) == 0;
}
static bool give_up(struct ground *g, size_t first, size_t count)
{
    return advise(g, first, count, MADV_DONTNEED);
}
/* Reclaimed at once, which is what memory pressure does later. */
static bool give_up_later(struct ground *g, size_t first, size_t count)
{
    return advise(g, first, count, MADV_FREE) && advise(g, first, count, MADV_PAGEOUT);
}
static bool page_out(struct ground *g, size_t first, size_t count)
{
    return advise(g, first, count, MADV_PAGEOUT);
}
/* Armed pages are not collapsed, so it writes to them before. */
static bool collapse(struct ground *g, size_t first, size_t count)
{
    (void)first, (void)count;
    store_all(g, 0, g->pages);
    return advise(g, 0, g->pages, MADV_COLLAPSE) || !g->huge;
}
static bool populate(struct ground *g, size_t first, size_t count)
{
    return advise(g, first, count, MADV_POPULATE_WRITE) || errno == EINVAL;
}
static bool guard(struct ground *g, size_t first, size_t count)
{
    bool good = advise(g, first, count, GUARD_INSTALL);
    return advise(g, first, count, GUARD_REMOVE) && good;
}
static bool huge_or_not(struct ground *g, size_t first, size_t count)
{
    return advise(g, first, count, ground_draw(g, 2) ? MADV_NOHUGEPAGE : MADV_HUGEPAGE) &&
           advise(g, first, count, g->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Reading makes holes the page of zeros. */
static bool look(struct ground *g, size_t first, size_t count)
{
    volatile char sum = 0;
    for (size_t i = first; i < first + count; i++)
        sum = (char)(sum + *page_at(g, i));
    return true;
}

/* --- Children
 * ---------------------------------------------------------------------------------------------------
 */

/* While a child shares the pages, one of both writes. */
static bool fork_and_store(struct ground *g, size_t first, size_t count)
{
    int ends[2];
    char byte = 0;
    const bool in_child = ground_draw(g, 2);
    if (pipe(ends))
        return false;
    pid_t child = fork();
    if (child == 0) {
        if (in_child)
            store_all(g, first, count);
        _exit(read(ends[0], &byte, 1) != 1);
    }
    if (!in_child)
        store(g, first, count);
    bool good = child > 0 && write(ends[1], &byte, 1) == 1;
    good = child > 0 && waitpid(child, NULL, 0) == child && good;
    close(ends[0]);
    close(ends[1]);
    return good;
}

const struct writer writers[] = {
    {"a store", store, 300},
    {"stores to all of it", store_all, 40},
    {"a store of the same byte", store_same, 50},
    {"a store by another thread", store_thread, 60},
    {"a store by a child that shares the memory", store_vfork, 20},
    {"read", by_read, 60},
    {"recv", by_recv, 40},
    {"pread of a file", by_file, 10},
    {"process_vm_writev", by_vm_writev, 60},
    {"/proc/self/mem", by_mem_file, 40},
    {"ptrace", by_ptrace, 1},
    {"io_uring", by_ring, 4},
    {"mmap in its place", map_anew, 30},
    {"munmap and mmap", unmap_and_map, 30},
    {"mremap of other pages to it", move_here, 30},
    {"mremap of its pages away", move_away, 30},
    {"mremap away and back", move_back, 20},
    {"a shared file in its place", map_shared, 5},
    {"a private file in its place", map_private, 5},
    {"a store through another mapping", store_alias, 80},
    {"mprotect", protect, 20},
    {"mlock", lock_pages, 10},
    {"MADV_DONTNEED", give_up, 60},
    {"MADV_FREE", give_up_later, 30},
    {"MADV_PAGEOUT", page_out, 20},
    {"MADV_COLLAPSE", collapse, 2},
    {"MADV_POPULATE_WRITE", populate, 20},
    {"guard pages", guard, 20},
    {"MADV_HUGEPAGE and MADV_NOHUGEPAGE", huge_or_not, 10},
    {"a read", look, 60},
    {"fork", fork_and_store, 3},
};
const int writer_count = sizeof writers / sizeof writers[0];
