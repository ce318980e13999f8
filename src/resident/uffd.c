/* SPDX-License-Identifier: MIT */
/* Makes the kernel's calls. Their numbers and structs are stated here, because headers that know
 * them are newer than many systems on which the library is built. */
#include "resident/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- The kernel's interface (linux/userfaultfd.h, linux/fs.h) -------------------------------- */

enum { USER_MODE_ONLY = 1, API = 0xaa };
static const uint64_t WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15, REGISTER_WP = 1 << 1,
                      PROTECT_WP = 1 << 0, SCAN_ARM = 1 << 0, SCAN_CHECK = 1 << 1,
                      QUERY_THIS_OR_NEXT = 1 << 4;

struct api {
    uint64_t version, features, ioctls;
};
struct request { /* to track (register) or protect pages; to release them without mode and ioctls */
    uint64_t begin, bytes, mode, ioctls;
};
struct page_scan {
    uint64_t size, flags, start, end, walk_end, spans, room, most;
    uint64_t inverted, wanted, wanted_any, returned;
};
struct mapping_query {
    uint64_t size, flags, at, begin, end, permissions, page_bytes, offset, inode;
    uint32_t device_major, device_minor, name_size, build_id_size;
    uint64_t name, build_id;
};

#define UFFD_API _IOWR(API, 0x3f, struct api)
#define UFFD_REGISTER _IOWR(API, 0x00, struct request)
#define UFFD_UNREGISTER _IOR(API, 0x01, uint64_t[2])
#define UFFD_PROTECT _IOWR(API, 0x06, uint64_t[3])
#define SCAN_PAGES _IOWR('f', 16, struct page_scan)
#define QUERY_MAPPING _IOWR('f', 17, struct mapping_query)

/* --- Descriptors ----------------------------------------------------------------------------- */

static bool is_ours(const struct xg_uffd_file *file)
{
    struct stat now;
    return file->fd >= 0 && fstat(file->fd, &now) == 0 && now.st_dev == file->device &&
           now.st_ino == file->inode;
}

static bool keep(struct xg_uffd_file *file, int fd)
{
    struct stat now = {0};
    bool good = fd >= 0 && fstat(fd, &now) == 0;
    *file = (struct xg_uffd_file){fd, now.st_dev, now.st_ino};
    return good;
}

static bool uffd_ours(void *self)
{
    const struct xg_uffd *uffd = self;
    return is_ours(&uffd->faults) && is_ours(&uffd->pagemap);
}

static void uffd_close(void *self)
{
    struct xg_uffd *uffd = self;
    if (is_ours(&uffd->faults))
        close(uffd->faults.fd);
    if (is_ours(&uffd->pagemap))
        close(uffd->pagemap.fd);
    uffd->faults.fd = uffd->pagemap.fd = -1;
}

/* A number of /proc's status of this thread, whose memory is the process's; -1: not there. */
static int64_t status_of(const char *name)
{
    char text[8192]; /* a list of groups comes first */
    long long number;
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *at = strstr(text, name);
    return at && sscanf(at + strlen(name), "%lld", &number) == 1 ? number : -1;
}

static int64_t uffd_pinned_kib(void *self)
{
    (void)self;
    return status_of("\nVmPin:");
}

static int new_faults(void)
{
#ifdef SYS_userfaultfd
    return (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
#else
    errno = ENOSYS;
    return -1;
#endif
}

static const char *uffd_open(void *self)
{
    struct xg_uffd *uffd = self;
    struct api api = {.version = API, .features = WP_UNPOPULATED | WP_ASYNC};
    const char *why = NULL;
    uffd->faults.fd = uffd->pagemap.fd = -1;
    if (status_of("\nSeccomp:") != 0)
        return "a filter of system calls (seccomp) is set";
    if (!keep(&uffd->faults, new_faults()))
        why = errno == ENOSYS ? "the kernel has no userfaultfd" : "userfaultfd is not permitted";
    else if (ioctl(uffd->faults.fd, UFFD_API, &api) != 0)
        why = "the kernel is older than 6.7, or does not track writes on this architecture";
    else if (!keep(&uffd->pagemap, open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC)))
        why = "/proc/self/pagemap is not readable";
    if (why)
        uffd_close(uffd);
    return why;
}

/* --- Mappings -------------------------------------------------------------------------------- */

/* private_rw: the permissions are "rw-p" or "rwxp". The first thread's stack holds the bytes that
 * AT_RANDOM points to. */
static void describe(struct xg_pages_mapping *found, uintptr_t begin, uintptr_t end,
                     bool private_rw, bool file)
{
    const uintptr_t stack = (uintptr_t)getauxval(AT_RANDOM);
    found->range = (struct xg_pages_range){begin, end};
    found->plain = private_rw && !file && !(begin <= stack && stack < end);
}

/* 1: found; 0: nothing is mapped there or above; -1: the kernel has no such query (before 6.11). */
static int query(uintptr_t at, struct xg_pages_mapping *found)
{
    enum { READABLE = 1, WRITABLE = 2, SHARED = 8, ALL = READABLE | WRITABLE | SHARED };
    struct mapping_query asked = {.size = sizeof asked, .flags = QUERY_THIS_OR_NEXT, .at = at};
    int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    int answer = ioctl(fd, QUERY_MAPPING, &asked) == 0 ? 1 : errno == ENOENT ? 0 : -1;
    if (fd >= 0)
        close(fd);
    describe(found, (uintptr_t)asked.begin, (uintptr_t)asked.end,
             (asked.permissions & ALL) == (READABLE | WRITABLE),
             asked.inode || asked.device_major || asked.device_minor);
    return answer;
}

/* Reads the list of mappings: begin-end permissions offset device inode name. */
static bool search(uintptr_t at, struct xg_pages_mapping *found)
{
    char line[8192], mode[5]; /* a path fits */
    unsigned long begin, end = 0, offset, inode;
    unsigned major, minor;
    FILE *list = fopen("/proc/thread-self/maps", "re");
    while (list && end <= at && fgets(line, sizeof line, list))
        if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &begin, &end, mode, &offset, &major, &minor,
                   &inode) == 7)
            describe(found, begin, end, mode[0] == 'r' && mode[1] == 'w' && mode[3] == 'p',
                     inode || major || minor);
    if (list)
        fclose(list);
    return end > at;
}

static bool uffd_find(void *self, uintptr_t at, struct xg_pages_mapping *found)
{
    (void)self;
    int answer = query(at, found);
    return answer < 0 ? search(at, found) : answer;
}

/* --- Pages ----------------------------------------------------------------------------------- */

static bool request(const struct xg_uffd *uffd, unsigned long call, struct xg_pages_range range,
                    uint64_t mode)
{
    struct request asked = {range.begin, range.end - range.begin, mode, 0};
    return ioctl(uffd->faults.fd, call, &asked) == 0;
}

static bool uffd_track(void *self, struct xg_pages_range mapping, bool on)
{
    return request(self, on ? UFFD_REGISTER : UFFD_UNREGISTER, mapping, REGISTER_WP);
}

static bool uffd_protect(void *self, struct xg_pages_range pages, bool on)
{
    return request(self, UFFD_PROTECT, pages, on ? PROTECT_WP : 0);
}

static int uffd_scan(void *self, struct xg_pages_scan *scan)
{
    struct page_scan asked = {.size = sizeof asked,
                              .flags = scan->arm ? SCAN_ARM | SCAN_CHECK : 0,
                              .start = scan->range.begin,
                              .end = scan->range.end,
                              .spans = (uint64_t)(uintptr_t)scan->spans,
                              .room = scan->room,
                              .wanted = scan->wanted,
                              .returned = scan->returned};
    int count = ioctl(((struct xg_uffd *)self)->pagemap.fd, SCAN_PAGES, &asked);
    scan->walked = (uintptr_t)asked.walk_end;
    return count;
}

/* --- The self-test's memory ------------------------------------------------------------------ */

static uintptr_t uffd_map(void *self, size_t bytes, bool huge)
{
    enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
    void *mapped = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
    (void)self;
    if (mapped == MAP_FAILED)
        return 0;
    const uintptr_t begin = (uintptr_t)mapped, at = (begin + bytes - 1) / bytes * bytes;
    if (at > begin)
        munmap(mapped, at - begin);
    munmap((void *)(at + bytes), begin + bytes - at);
    madvise((void *)at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return at;
}

static void uffd_unmap(void *self, struct xg_pages_range pages)
{
    (void)self;
    munmap((void *)pages.begin, pages.end - pages.begin);
}

static bool uffd_change(void *self, struct xg_pages_range pages, enum xg_pages_change change)
{
    enum { KEEP_MAPPING = 4, MOVE = MREMAP_MAYMOVE | MREMAP_FIXED | KEEP_MAPPING };
    const size_t bytes = pages.end - pages.begin, page = (size_t)sysconf(_SC_PAGESIZE);
    if (change == XG_PAGES_FREE)
        return madvise((void *)pages.begin, bytes, MADV_DONTNEED) == 0;
    if (change == XG_PAGES_MOVE) {
        /* Aligned alike, so that a whole page table can move. */
        const uintptr_t to = uffd_map(self, bytes, false);
        bool moved =
            to && mremap((void *)pages.begin, bytes, bytes, MOVE, (void *)to) != MAP_FAILED;
        if (to)
            munmap((void *)to, bytes);
        return moved;
    }
    for (uintptr_t at = pages.begin; at < pages.end; at += page)
        *(volatile unsigned char *)at = 1;
    return true;
}

const struct xg_pages_system xg_uffd_system = {
    uffd_open, uffd_ours,       uffd_close, uffd_find,  uffd_track, uffd_protect,
    uffd_scan, uffd_pinned_kib, uffd_map,   uffd_unmap, uffd_change};
