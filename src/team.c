/* SPDX-License-Identifier: MIT */
/* The staging team's threads. */
#define _GNU_SOURCE
#include "team.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "cores.h"

struct member {
    struct xg_team *team;
    pthread_t thread;
    int worker;
};

struct xg_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    void (*work)(void *arg, int worker);
    void *arg;
    unsigned long generation; /* counts the calls of xg_team_run */
    int running;              /* members still at work on this generation */
    bool ending;
    int size;
    struct member members[]; /* member i is worker i + 1 */
};

static void *member_main(void *self)
{
    struct member *member = self;
    struct xg_team *team = member->team;
    unsigned long seen = 0;
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->generation == seen && !team->ending)
            pthread_cond_wait(&team->begin, &team->lock);
        if (team->ending)
            break;
        seen = team->generation;
        pthread_mutex_unlock(&team->lock);
        team->work(team->arg, member->worker);
        pthread_mutex_lock(&team->lock);
        if (--team->running == 0)
            pthread_cond_signal(&team->end);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static void start_members(struct xg_team *team, int count)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* new threads inherit the mask */
    cpu_set_t cores;
    xg_cores_mask(&cores);
    for (int i = 0; i < count; i++) {
        struct member *member = &team->members[i];
        *member = (struct member){.team = team, .worker = i + 1};
        if (pthread_create(&member->thread, NULL, member_main, member) != 0)
            break;
        /* Both are niceties: without them the team works, only less well placed or named. */
        pthread_setaffinity_np(member->thread, sizeof cores, &cores);
        pthread_setname_np(member->thread, "xgemm-stage");
        team->size++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

enum xg_status xg_team_create(int threads, struct xg_team **out)
{
    int others = threads > 1 ? threads - 1 : 0;
    struct xg_team *team = calloc(1, sizeof *team + (size_t)others * sizeof team->members[0]);
    if (!team)
        return XG_ERR_NOMEM;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begin, NULL);
    pthread_cond_init(&team->end, NULL);
    team->size = 1;
    start_members(team, others);
    *out = team;
    return XG_OK;
}

void xg_team_destroy(struct xg_team *team)
{
    pthread_mutex_lock(&team->lock);
    team->ending = true;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->size - 1; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->begin);
    pthread_cond_destroy(&team->end);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

int xg_team_size(const struct xg_team *team)
{
    return team->size;
}

void xg_team_run(struct xg_team *team, void (*work)(void *arg, int worker), void *arg)
{
    pthread_mutex_lock(&team->lock);
    team->work = work;
    team->arg = arg;
    team->running = team->size - 1;
    team->generation++;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
    work(arg, 0);
    pthread_mutex_lock(&team->lock);
    while (team->running > 0)
        pthread_cond_wait(&team->end, &team->lock);
    pthread_mutex_unlock(&team->lock);
}
