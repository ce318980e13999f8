/* SPDX-License-Identifier: MIT */
/* A team of threads that sleep until there is work and then all run one function. */
#ifndef XG_TEAM_H
#define XG_TEAM_H

#include "base/xg.h"

struct xg_team;

/*
 * threads: number of workers, including the caller of xg_team_run. threads - 1 are created, with
 * xg_shelter_signals blocked and on any core of xg_cores_mask. Fewer are created if the system
 * refuses more; xg_team_size returns the number. Returns XG_OK or XG_ERR_NOMEM.
 */
enum xg_status xg_team_create(int threads, struct xg_team **out);

/* Ends and joins the threads. */
void xg_team_destroy(struct xg_team *team);

int xg_team_size(const struct xg_team *team);

/*
 * Runs work(arg, worker) for all workers 0..workers-1 (1 to size of them) at the same time, worker
 * 0 on this thread; returns when all have ended. The other members sleep on.
 */
void xg_team_run(struct xg_team *team, int workers, void (*work)(void *arg, int worker), void *arg);

/*
 * Calls part(arg, begin, end) for the numbers 0..count-1, in chunks that up to `workers` members of
 * the team take one after the other; team NULL: on this thread. The parts compute in the default
 * floating-point environment; this thread's is unchanged afterwards.
 */
void xg_team_share(struct xg_team *team, int workers, int64_t count, int64_t chunk,
                   void (*part)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
