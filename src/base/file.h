/* SPDX-License-Identifier: MIT */
/* Opens and checks files whose names come from the environment or from the paths of other files,
 * and reads and writes whole files. */
#ifndef XG_FILE_H
#define XG_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/*
 * Calls open(path, flags, mode), close-on-exec and never as the controlling terminal, so that no
 * other user can choose the file. In a folder that other users may write to, including folders on
 * the way, a symbolic link is followed only if the process's user or root made it, and the file
 * must belong to one of them and have no second name. Elsewhere links are followed as usual:
 * /dev/stderr is one. Returns -1 with errno: open's, ELOOP or ENOTDIR for another user's link,
 * EPERM for another user's file or one with a second name. Allocates nothing. Do not pass O_TRUNC:
 * it would empty a file before the check.
 */
int xg_file_open(const char *path, int flags, mode_t mode);

/*
 * True if path, absolute and free of symbolic links, is a regular file that only the process's user
 * or root can change or replace: they own all folders on the way, and others may not write to them,
 * except to one with the sticky bit that is not the file's own folder. A group with the owner's
 * number counts as the owner, because systems give each user such a group.
 */
bool xg_file_is_ours(const char *path);

/* The last part of a path. */
static inline const char *xg_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The path of a file below the folder that the environment's `variable` names, or else below
 * `folder` of the user's home. Returns false if neither is absolute, the path is too long, or the
 * program is set-user-ID, whose caller must not steer it. */
bool xg_file_of_user(char *path, size_t path_bytes, const char *variable, const char *folder,
                     const char *name);

/* The same for given values of that variable and of HOME; NULL: unset. Pure. */
bool xg_file_below(char *path, size_t path_bytes, const char *named, const char *home,
                   const char *folder, const char *name);

/* Makes the missing folders on the way to a file, for this user alone. Returns false, with errno,
 * if files cannot be made in its folder. */
bool xg_file_make_folders(const char *path);

/* Replaces a file by one with this text, at once: a reader finds the old one or the new one, whole.
 * After a power failure it may be empty. Returns false, with errno, and leaves the old one. */
bool xg_file_replace(const char *path, const char *text, size_t length);

/* Reads at most `size` bytes of a file of the system or of the user into memory; waits for no
 * writer of a FIFO. Returns their number; -1: it cannot be read. Allocates nothing. */
ssize_t xg_file_read_front(const char *path, void *to, size_t size);

/* Makes a name absolute; a relative one starts from the working directory, if that is known.
 * Returns false, with an empty path, if the result is too long. */
bool xg_file_absolute(const char *name, char path[PATH_MAX]);

/* The first reads until it has `size` bytes or the file ends, and returns their number; the second
 * writes all bytes. Both go on after EINTR. On a failure they return -1 and false, with errno; a
 * part may have been read or written. */
ssize_t xg_file_read(int fd, void *to, size_t size);
bool xg_file_write(int fd, const void *from, size_t size);

#endif
