/* SPDX-License-Identifier: MIT */
/* Finds this process's rank among those of its node in the launcher's variables. */
#ifndef XG_LOCAL_RANK_H
#define XG_LOCAL_RANK_H

#include <stdbool.h>

struct xg_local_rank {
    int rank;             /* 0, 1, ... among the ranks on the node */
    int size;             /* number of ranks on the node; 0: unknown */
    const char *variable; /* the variable that gives the rank */
    int world;            /* the rank among all ranks of the job; -1: unknown */
};

/*
 * Reads the variables of MPI's and batch systems' launchers through lookup(ctx, name) (getenv-like;
 * NULL: unset). Returns false and writes nothing if none is set to a number of at most six digits.
 * Pure otherwise.
 */
bool xg_local_rank_read(struct xg_local_rank *local, const char *(*lookup)(void *, const char *),
                        void *ctx);

/* The device, of `count` >= 1, for that rank; ranks share all devices evenly. Pure. */
int xg_local_rank_device(const struct xg_local_rank *local, int count);

/* The largest number of the node's ranks that share one device; 1 if unknown. Pure. */
int xg_local_rank_sharers(const struct xg_local_rank *local, int count);

#endif
