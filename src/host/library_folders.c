/* SPDX-License-Identifier: MIT */
#include "host/library_folders.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* --- Folders --------------------------------------------------------------------------------- */

/*
 * Folders that a C library may have as its own, which are the last. None of them occurs twice. They
 * are /lib64 and /usr/lib64, or /lib and /usr/lib; with the latter, folders such as
 * /lib/x86_64-linux-gnu may come before these.
 */
static unsigned count_before_system(const Dl_serinfo *list)
{
    static const char *const roots[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
    enum { ROOTS = sizeof roots / sizeof roots[0], NARROW = 2 };
    bool plain[ROOTS] = {false}, deep[ROOTS] = {false}, any_deep = false;
    unsigned count = list->dls_cnt;
    for (; count > 0; count--) {
        const char *folder = list->dls_serpath[count - 1].dls_name;
        bool *once = NULL;
        for (int i = 0; i < ROOTS; i++) {
            const size_t length = strlen(roots[i]);
            const int other = i < NARROW ? NARROW : 0;
            if (strncmp(folder, roots[i], length) != 0)
                continue;
            if (!folder[length] && !any_deep && !plain[other] && !plain[other + 1])
                once = &plain[i];
            else if (folder[length] == '/' && strstr(folder, "-linux-gnu"))
                once = &deep[i];
        }
        if (!once || *once)
            break;
        *once = true;
        for (int i = 0; i < ROOTS; i++)
            any_deep |= deep[i];
    }
    return count;
}

void xg_library_folders_list(struct xg_library_folders *folders)
{
    struct link_map *own = NULL;
    Dl_info unused;
    Dl_serinfo size, *list = NULL;
    *folders = (struct xg_library_folders){0};
    if (dladdr1((void *)xg_library_folders_list, &unused, (void **)&own, RTLD_DL_LINKMAP) && own &&
        dlinfo(own, RTLD_DI_SERINFOSIZE, &size) == 0)
        list = malloc(size.dls_size);
    if (list && dlinfo(own, RTLD_DI_SERINFOSIZE, list) == 0 &&
        dlinfo(own, RTLD_DI_SERINFO, list) == 0) {
        folders->count = list->dls_cnt;
        folders->system_from = count_before_system(list);
    }
    folders->list = list;
}

const char *xg_library_folders_at(const struct xg_library_folders *folders, unsigned number)
{
    const Dl_serinfo *list = folders->list;
    return list->dls_serpath[number].dls_name;
}

void xg_library_folders_fini(struct xg_library_folders *folders)
{
    free(folders->list);
    free(folders->cache);
    *folders = (struct xg_library_folders){0};
}

/* --- The cache ------------------------------------------------------------------------------- */

/* A header with the number of entries, the entries, their strings. */
enum { HEAD_BYTES = 48, CACHE_BYTES_MAX = 1 << 26 };
static const char magic[] = "glibc-ld.so.cache1.1"; /* before the number */

struct entry {
    int32_t flags;
    uint32_t name, path; /* from the header on */
    uint32_t version;
    uint64_t capabilities;
};

/* An older format may be in front of the header. */
void xg_library_folders_read_cache(struct xg_library_folders *folders)
{
    struct stat status;
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size < CACHE_BYTES_MAX)
        folders->cache = malloc((size_t)status.st_size + 1);
    ssize_t bytes = folders->cache ? xg_file_read(fd, folders->cache, (size_t)status.st_size) : 0;
    if (fd >= 0)
        close(fd);
    const char *head =
        bytes > 0 ? memmem(folders->cache, (size_t)bytes, magic, sizeof magic - 1) : NULL;
    if (!head)
        return;
    folders->cache_bytes = (size_t)(folders->cache + bytes - head);
    memmove(folders->cache, head, folders->cache_bytes);
    folders->cache[folders->cache_bytes] = '\0';
}

const char *xg_library_folders_cached(const struct xg_library_folders *folders, const char *name,
                                      unsigned *at)
{
    const size_t bytes = folders->cache_bytes;
    uint32_t count = 0;
    struct entry entry;
    if (bytes >= HEAD_BYTES)
        memcpy(&count, folders->cache + sizeof magic - 1, sizeof count);
    if (bytes < HEAD_BYTES || count > (bytes - HEAD_BYTES) / sizeof entry)
        count = 0;
    while (*at < count) {
        memcpy(&entry, folders->cache + HEAD_BYTES + (*at)++ * sizeof entry, sizeof entry);
        if (!entry.capabilities && entry.name < bytes && entry.path < bytes &&
            !strcmp(folders->cache + entry.name, name))
            return folders->cache + entry.path;
    }
    return NULL;
}
