/* SPDX-License-Identifier: MIT */
/* How a product is staged: by how many threads, in what pieces, past the caches or into them. Pure.
 */
#ifndef XG_STAGING_H
#define XG_STAGING_H

#include "base/xg.h"

struct xg_staging {
    int workers;                    /* the submitter and those who copy */
    int populate;                   /* who populate C first, where it is not there yet, at most */
    int joining;                    /* of these, members of the team beyond the workers */
    int ahead;                      /* blocks that are being filled or on their way up, at most */
    bool caches;                    /* blocks are packed into the caches once enough are ahead */
    size_t load_bytes, store_bytes; /* of a chunk up and down, about */
};

/* How many threads a lane has: as many as were asked for (0: nobody asked), else most of the cores
 * that there are, and no more than it takes to fill the link and populate C. */
int xg_staging_threads(int asked, int cores);

/* How many of a lane's threads work while so many lanes of so many devices do, all >= 1: each
 * device has a link to fill, and all share the cores. */
int xg_staging_share(int asked, int cores, int devices, int lanes);

/* Operands that are copied from and to where they lie, which takes no worker. */
struct xg_staging_direct {
    bool a, b, c;
};

/* Which of them may be, where the caller has page-locked them. */
struct xg_staging_direct xg_staging_admit_direct(const struct xg_problem *call);

/*
 * For a product of m, n, k >= 1 whose panels move about once. workers: at most so many, >= 1.
 * block_bytes: of a block, which no chunk exceeds. The figures are those of one host
 * (doc/explanation/lessons.md says how they were found).
 */
struct xg_staging xg_staging_choose(const struct xg_problem *call,
                                    const struct xg_staging_direct *direct, int workers,
                                    size_t block_bytes);

/* Lets so many populate a fresh C, at most all workers but the submitter. workers: as above. */
void xg_staging_set_populate(struct xg_staging *staging, int populate, int workers);

#endif
