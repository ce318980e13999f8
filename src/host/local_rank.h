/* SPDX-License-Identifier: MIT */
/* Which of the ranks on this node this process is, as what started it says. */
#ifndef XG_LOCAL_RANK_H
#define XG_LOCAL_RANK_H

#include <stdbool.h>

struct xg_local_rank {
    int rank;             /* 0, 1, ... among the ranks on the node */
    int size;             /* how many those are; 0: it does not say */
    const char *variable; /* that says so */
};

/*
 * Reads the variables of MPI's and batch systems' launchers through lookup(ctx, name) (getenv-like;
 * NULL: unset). False, and nothing written: none is set to a number of at most six digits. Pure but
 * for that.
 */
bool xg_local_rank_read(struct xg_local_rank *local, const char *(*lookup)(void *, const char *),
                        void *ctx);

/* The device of `count` >= 1 that such a rank has, so that ranks share all of them evenly. Pure. */
int xg_local_rank_device(const struct xg_local_rank *local, int count);

/* How many of the node's ranks have the same one, at most; 1 where that is not known. Pure. */
int xg_local_rank_sharers(const struct xg_local_rank *local, int count);

#endif
