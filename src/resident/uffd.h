/* SPDX-License-Identifier: MIT */
/* The kernel's tracking of pages: userfaultfd, PAGEMAP_SCAN and the list of mappings. */
/*
 * These are the only system calls of the tracker. It needs Linux 6.7, and no privilege: faults of
 * the kernel are resolved like those of the program. It makes no call in a process with a filter of
 * system calls (seccomp), because a filter may end a process that makes an unexpected one.
 */
#ifndef XG_UFFD_H
#define XG_UFFD_H

#include <sys/types.h>

#include "resident/pages.h"

/* `self` of the system below. Device and inode tell whether the program closed a descriptor, and
 * its number is another file's. */
struct xg_uffd {
    struct xg_uffd_file {
        int fd;
        dev_t device;
        ino_t inode;
    } faults, pagemap;
};

extern const struct xg_pages_system xg_uffd_system;

#endif
