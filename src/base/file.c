/* SPDX-License-Identifier: MIT */
/*
 * Opens files component by component. Each component is looked up in an open folder, so that the
 * checked file is the opened one, whatever is renamed meanwhile.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 16, FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };

static int walk(int from, const char *path, int flags, mode_t mode, int links);

/* True if the owner is our user, or may rename everything: root, or the owner of /, which a user
 * namespace without root shows instead. */
static bool is_trusted(const struct stat *file)
{
    struct stat root;
    return file->st_uid == geteuid() || file->st_uid == 0 ||
           (stat("/", &root) == 0 && file->st_uid == root.st_uid);
}

/* True if other users may write to the folder, or if that is unknown. */
static bool is_shared(int folder)
{
    struct stat status;
    return fstat(folder, &status) != 0 || !is_trusted(&status) ||
           (status.st_mode & (S_IWGRP | S_IWOTH));
}

static void close_keeping_errno(int fd)
{
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
}

/* Follows a trusted link in a shared folder, after a plain open failed. A separate function,
 * because it needs much stack, and the program's thread may have little. */
static __attribute__((noinline)) int follow(int folder, const char *name, int flags, mode_t mode,
                                            int links)
{
    char target[PATH_MAX];
    struct stat status;
    int error = errno, fd = -1, link = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool trusted = link >= 0 && fstat(link, &status) == 0 && S_ISLNK(status.st_mode) &&
                   is_trusted(&status) && links < LINKS_MOST;
    ssize_t size = trusted ? readlinkat(link, "", target, sizeof target - 1) : -1;
    errno = error;
    if (size >= 0) {
        target[size] = '\0';
        fd = walk(folder, target, flags, mode, links + 1);
    }
    close_keeping_errno(link);
    return fd;
}

static int open_component(int folder, const char *name, int flags, mode_t mode, int links)
{
    struct stat status;
    const bool shared = is_shared(folder), is_folder = flags & O_DIRECTORY;
    int fd = openat(folder, name, flags | (shared ? O_NOFOLLOW : 0), mode);
    if (!shared)
        return fd;
    if (fd < 0 && (errno == ELOOP || (errno == ENOTDIR && is_folder)))
        return follow(folder, name, flags, mode, links);
    if (fd < 0 || is_folder ||
        (fstat(fd, &status) == 0 && is_trusted(&status) && status.st_nlink == 1))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

static int walk(int from, const char *path, int flags, mode_t mode, int links)
{
    int folder = openat(from, *path == '/' ? "/" : ".", FOLDER);
    for (const char *at = path + strspn(path, "/"); folder >= 0;) {
        char name[NAME_MAX + 1];
        const size_t length = strcspn(at, "/"), gap = strspn(at + length, "/");
        const bool last = at[length] == '\0';
        int next = -1;
        errno = length ? ENAMETOOLONG : ENOENT;
        if (length && length < sizeof name) {
            memcpy(name, at, length);
            name[length] = '\0';
            next = open_component(folder, name, last ? flags : FOLDER, last ? mode : 0, links);
        }
        close_keeping_errno(folder);
        if (last)
            return next;
        folder = next;
        at += length + gap;
    }
    return -1;
}

int xg_file_open(const char *path, int flags, mode_t mode)
{
    return walk(AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, mode, 0);
}

static bool is_open_to_others(const struct stat *file)
{
    return (file->st_mode & S_IWOTH) || ((file->st_mode & S_IWGRP) && file->st_gid != file->st_uid);
}

bool xg_file_is_ours(const char *path)
{
    char way[PATH_MAX] = "/";
    struct stat status;
    const size_t length = strlen(path);
    if (*path != '/' || length >= sizeof way || lstat(way, &status) != 0)
        return false;
    for (size_t at = 1; at <= length; at++) {
        const size_t end = at + strcspn(path + at, "/");
        /* In a folder with the sticky bit others may create a second name of our files. */
        const bool sticky = (status.st_mode & S_ISVTX) && end < length;
        if (!S_ISDIR(status.st_mode) || !is_trusted(&status) ||
            (is_open_to_others(&status) && !sticky))
            return false;
        memcpy(way, path, end);
        way[end] = '\0';
        if (lstat(way, &status) != 0)
            return false;
        at = end;
    }
    return S_ISREG(status.st_mode) && is_trusted(&status) && !is_open_to_others(&status);
}

ssize_t xg_file_read_front(const char *path, void *to, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t got = fd >= 0 ? xg_file_read(fd, to, size) : -1;
    if (fd >= 0)
        close(fd);
    return got;
}

bool xg_file_absolute(const char *name, char path[PATH_MAX])
{
    size_t at = 0;
    if (*name != '/' && getcwd(path, PATH_MAX - 1)) {
        at = strlen(path);
        path[at++] = '/';
    }
    bool fits = strlen(name) < PATH_MAX - at;
    strcpy(path + (fits ? at : 0), fits ? name : "");
    return fits;
}

bool xg_file_of_user(char *path, size_t path_bytes, const char *variable, const char *folder,
                     const char *name)
{
    return xg_file_below(path, path_bytes, secure_getenv(variable), secure_getenv("HOME"), folder,
                         name);
}

bool xg_file_below(char *path, size_t path_bytes, const char *named, const char *home,
                   const char *folder, const char *name)
{
    const bool own = named && *named == '/';
    if (!own && !(home && *home == '/'))
        return false;
    int length = snprintf(path, path_bytes, "%s%s/%s", own ? named : home, own ? "" : folder, name);
    return length > 0 && (size_t)length < path_bytes;
}

ssize_t xg_file_read(int fd, void *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, (char *)to + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool xg_file_write(int fd, const void *from, size_t size)
{
    const char *at = from;
    while (size > 0) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

bool xg_file_make_folders(const char *path)
{
    char folder[PATH_MAX] = "/";
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        (void)mkdir(folder, 0700);
    }
    return access(folder, W_OK | X_OK) == 0;
}

bool xg_file_replace(const char *path, const char *text, size_t length)
{
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%.4000s.XXXXXX", path);
    int fd = mkstemp(temporary);
    if (fd < 0)
        return false;
    bool whole = xg_file_write(fd, text, length);
    if (close(fd) == 0 && whole && rename(temporary, path) == 0)
        return true;
    int error = errno;
    unlink(temporary);
    errno = error;
    return false;
}
