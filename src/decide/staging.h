/* SPDX-License-Identifier: MIT */
/* How a product is staged: by how many threads, in what pieces, past the caches or into them. Pure.
 */
#ifndef XG_STAGING_H
#define XG_STAGING_H

#include "base/xg.h"

struct xg_staging {
    int workers;                    /* the submitter and the copying threads */
    int populate;                   /* at most this many threads first populate the pages of C */
    int joining;                    /* of these, members of the team beyond the workers */
    int ahead;                      /* at most this many blocks are being filled or uploaded */
    bool caches;                    /* blocks are packed into the caches once enough are ahead */
    size_t load_bytes, store_bytes; /* approximate bytes of a chunk up and down */
};

/* The number of threads of a lane: `asked` if that is not 0, else most of the cores, but no more
 * than fill the link and populate C. */
int xg_staging_threads(int asked, int cores);

/* The number of threads of a lane that work while `lanes` lanes of `devices` devices do, both >= 1:
 * each device has a link to fill, and all lanes share the cores. */
int xg_staging_share(int asked, int cores, int devices, int lanes);

/* Operands that are copied directly from and to the caller's page-locked memory. */
struct xg_staging_direct {
    bool a, b, c;
};

/* Which operands may be direct if the caller has page-locked them. */
struct xg_staging_direct xg_staging_admit_direct(const struct xg_problem *call);

/*
 * For a product of m, n, k >= 1 whose panels move about once. workers: the most workers, >= 1.
 * block_bytes: bytes of a block; no chunk is larger. The constants are those of one host
 * (doc/explanation/lessons.md says how they were found).
 */
struct xg_staging xg_staging_choose(const struct xg_problem *call,
                                    const struct xg_staging_direct *direct, int workers,
                                    size_t block_bytes);

#endif
