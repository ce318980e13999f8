/* SPDX-License-Identifier: MIT */
/* A team of threads that sleep until there is work and then all run one function. */
#ifndef XG_TEAM_H
#define XG_TEAM_H

#include "xg.h"

struct xg_team;

/*
 * threads: workers in all, the caller of xg_team_run included; threads - 1 are created, with every
 * signal blocked (the program's handlers run on its own threads) and on any core of xg_cores_mask.
 * Fewer may be created where the system refuses more; xg_team_size tells. XG_OK or XG_ERR_NOMEM.
 */
enum xg_status xg_team_create(int threads, struct xg_team **out);

/* Ends and joins the threads. */
void xg_team_destroy(struct xg_team *team);

int xg_team_size(const struct xg_team *team);

/* Runs work(arg, worker) for each worker 0..size-1 at once, 0 on this thread; returns when all
 * have. */
void xg_team_run(struct xg_team *team, void (*work)(void *arg, int worker), void *arg);

#endif
