/* SPDX-License-Identifier: MIT */
/* Files whose names come from the environment, or from where other files lie. */
#ifndef XG_FILE_H
#define XG_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * open(path, flags, mode), close-on-exec and never the controlling terminal,
 * which lets no other user choose the file. In a folder that other users may write to, a symbolic
 * link is followed only where the process's user or root made it, on the way to the file too, and
 * the file must belong to one of them and have no second name. Elsewhere links are followed as
 * always: /dev/stderr is one. -1, and errno: open's, ELOOP or ENOTDIR for another user's link,
 * EPERM for another user's file or one with a second name. Allocates nothing. O_TRUNC must not be
 * asked for: it would empty a file before it is judged.
 */
int xg_file_open(const char *path, int flags, mode_t mode);

/*
 * Whether the dynamic linker may be asked to load the library. A name without a slash is looked for
 * in its folders. At any other place there must be nothing but a regular file: to open a FIFO waits
 * until somebody writes to it.
 */
bool xg_file_may_load(const char *name);

/*
 * Whether path, absolute and free of symbolic links, is a regular file that only the process's user
 * or root can change, or put another file in place of: no folder on the way to it is anybody
 * else's, or open to others' writing, but for one with the sticky bit that is not the file's own. A
 * group with the owner's number counts as the owner: systems give each user a group so.
 */
bool xg_file_is_ours(const char *path);

#endif
