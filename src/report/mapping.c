/* SPDX-License-Identifier: MIT */
/*
 * The process counts in its own memory and copies the changes into the file. So nothing that
 * another process writes into the file can mislead it.
 *
 * If the disk were full when a page of the mapping is first touched, SIGBUS would end the program.
 * So the space is allocated before the file is mapped. The file never exceeds the limit of file
 * sizes, because that would end the program too (SIGXFSZ).
 */
#include "report/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { NAMES_MAX = 1000 };

static void describe(struct xg_account *account)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    account->pid = getpid();
    account->begun_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    memset(account->program, 0, sizeof account->program);
    memcpy(account->program, program_invocation_short_name,
           strnlen(program_invocation_short_name, sizeof account->program - 1));
}

/* Whether the limit of file sizes allows so many bytes; if not, sets errno. */
static bool may_be_written(size_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit))
        return false;
    errno = EFBIG;
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes;
}

/* Creates the file under its first free name; returns -1 with errno if it cannot. */
static int create_file(const char *folder, char path[PATH_MAX])
{
    for (int i = 0; i < NAMES_MAX; i++) {
        int size = snprintf(path, PATH_MAX, i ? "%s/%ld.%d" : "%s/%ld", folder, (long)getpid(), i);
        errno = ENAMETOOLONG;
        int fd = size < PATH_MAX ? xg_file_open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Allocates the space on the disk and writes the content there; 0, or an errno. */
static int fill_file(int fd, const void *content, size_t content_bytes, size_t bytes)
{
    int error;

    do
        error = posix_fallocate(fd, 0, (off_t)bytes);
    while (error == EINTR);
    return error || xg_file_write(fd, content, content_bytes) ? error : errno;
}

enum xg_status xg_mapping_open(const char *folder, char path[PATH_MAX], const void *content,
                               size_t content_bytes, size_t bytes, void **out)
{
    void *at = MAP_FAILED;

    if (!may_be_written(bytes))
        return XG_ERR_SYSTEM;
    int fd = create_file(folder, path);
    if (fd < 0)
        return XG_ERR_SYSTEM;
    int error = fill_file(fd, content, content_bytes, bytes);
    if (!error)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!error && at == MAP_FAILED)
        error = errno;
    if (error)
        unlink(path);
    close(fd);
    errno = error;
    if (error)
        return XG_ERR_SYSTEM;
    /* Otherwise a child of fork, which counts its own products, could write to this file. */
    madvise(at, bytes, MADV_DONTFORK);
    *out = at;
    return XG_OK;
}

enum xg_status xg_mapping_create(const char *folder, struct xg_account *account,
                                 struct xg_account **out)
{
    static char path[PATH_MAX]; /* threads may have little stack */
    void *at;
    describe(account);
    enum xg_status status =
        xg_mapping_open(folder, path, account, sizeof *account, sizeof *account, &at);
    if (status == XG_OK)
        *out = at;
    return status;
}

/* The counts are stored last, so that a reader finds complete rows for every count. */
void xg_mapping_update(struct xg_account *mapping, const struct xg_account *account,
                       const struct xg_account_change *change)
{
    const size_t head = offsetof(struct xg_account, shapes_dropped);

    mapping->rows[change->row] = account->rows[change->row];
    if (change->shape >= 0)
        mapping->shapes[change->shape] = account->shapes[change->shape];
    memcpy((char *)mapping + head, (const char *)account + head,
           offsetof(struct xg_account, rows) - head);
    __atomic_store_n(&mapping->shape_count, account->shape_count, __ATOMIC_RELEASE);
    __atomic_store_n(&mapping->row_count, account->row_count, __ATOMIC_RELEASE);
}

enum xg_status xg_mapping_read(const char *path, struct xg_account *account)
{
    const ssize_t head = offsetof(struct xg_account, version) + sizeof account->version;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return XG_ERR_NOTFOUND;
    ssize_t size = xg_file_read(fd, account, sizeof *account);
    close(fd);
    if (size >= head && !memcmp(account->magic, XG_ACCOUNT_MAGIC, sizeof account->magic) &&
        account->version != XG_ACCOUNT_VERSION)
        return XG_DECLINED;
    return size == (ssize_t)sizeof *account && xg_account_is_valid(account) ? XG_OK
                                                                            : XG_ERR_NOTFOUND;
}
