/* SPDX-License-Identifier: MIT */
/* Where the dynamic linker searches for a library by its name. */
#ifndef XG_LIBRARY_FOLDERS_H
#define XG_LIBRARY_FOLDERS_H

#include <stddef.h>

struct xg_library_folders {
    void *list; /* a Dl_serinfo; NULL: unknown */
    unsigned count;
    unsigned system_from; /* from here on the system's own, which come after the cache */
    char *cache;          /* ld.so.cache, from its header on */
    size_t cache_bytes;   /* 0: none */
};

/*
 * The first lists the folders in which dlopen searches for this code: RPATH, LD_LIBRARY_PATH as it
 * was when the process started, RUNPATH, and the system's. It takes the dynamic linker's lock for a
 * moment. The second reads ld.so.cache, and takes no lock. What cannot be read is empty. Call
 * xg_library_folders_fini in any case.
 */
void xg_library_folders_list(struct xg_library_folders *folders);
void xg_library_folders_read_cache(struct xg_library_folders *folders);
void xg_library_folders_fini(struct xg_library_folders *folders);

/* The folder with the number, below count. */
const char *xg_library_folders_at(const struct xg_library_folders *folders, unsigned number);

/* The next path of the name in the cache, from entry *at on, which is advanced; NULL: no more.
 * Skips those for processors with certain capabilities. */
const char *xg_library_folders_cached(const struct xg_library_folders *folders, const char *name,
                                      unsigned *at);

#endif
