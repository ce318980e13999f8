/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/team.h"

#include <fenv.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/cores.h"
#include "host/shelter.h"

/*
 * Members sleep on a futex rather than a condition variable: after a broadcast they would take its
 * mutex one by one, and the last of eight would start 0.2 ms after the first.
 */
struct member {
    struct xg_team *team;
    pthread_t thread;
    int worker;
};

struct xg_team {
    _Atomic uint64_t call;       /* number of the last xg_team_run, and how many members it wants */
    _Atomic unsigned generation; /* that number; members sleep on it; stored after `call` */
    _Atomic unsigned running;    /* members still at work; the caller sleeps on it */
    bool ending;                 /* written before the last call begins */
    void (*work)(void *arg, int worker);
    void *arg;
    int size;
    struct member members[]; /* member i is worker i + 1 */
};

/* The low bits of `call`: members 1 to that many have work. */
enum { WANTED_BITS = 8, WANTED_MAX = (1 << WANTED_BITS) - 1 };

/*
 * Members that had work look for the next call for a while before they sleep; so does the caller
 * for the last member's end. Waking a thread takes 20 to 40 us, a tenth of a 1024^3 product.
 */
static const double SPIN_S = 50e-6, SPIN_END_S = 200e-6;

/* Returns true if the word has changed meanwhile. */
static bool spin_while(const _Atomic unsigned *word, unsigned value, double seconds)
{
    enum { LOOKS = 50 };
    double end = xg_clock_s() + seconds;
    do
        for (volatile int look = 0; look < LOOKS; look++)
            if (atomic_load_explicit(word, memory_order_acquire) != value)
                return true;
    while (xg_clock_s() < end);
    return false;
}

/* bits: of FUTEX_WAKE_BITSET. */
static void sleep_while(void *word, unsigned value, unsigned bits)
{
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, NULL, NULL, bits);
}

static void wake(void *word, unsigned bits)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, 0x7fffffff, NULL, NULL, bits);
}

/* Each member has its own bit, or shares one with a few others. */
static unsigned member_bit(int worker)
{
    return 1u << (worker - 1) % 32;
}

/* Sleeps until the call after `last` and returns it. Calls meanwhile that did not want this member
 * may be skipped. */
static uint64_t next_call(struct member *member, uint64_t last, bool spins)
{
    struct xg_team *team = member->team;
    unsigned generation = (unsigned)(last >> WANTED_BITS);
    uint64_t call;
    while ((call = atomic_load_explicit(&team->call, memory_order_acquire)) == last)
        if (!spins || !spin_while(&team->generation, generation, SPIN_S))
            sleep_while(&team->generation, generation, member_bit(member->worker));
    return call;
}

static void *member_main(void *self)
{
    struct member *member = self;
    struct xg_team *team = member->team;
    uint64_t call = 0;
    for (bool worked = false;;) {
        call = next_call(member, call, worked);
        worked = member->worker <= (int)(call & WANTED_MAX);
        if (!worked)
            continue;
        if (team->ending) /* the last call wants all members; a late member of another call must not
                           * read it */
            return NULL;
        team->work(team->arg, member->worker);
        if (atomic_fetch_sub_explicit(&team->running, 1, memory_order_acq_rel) == 1)
            wake(&team->running, FUTEX_BITSET_MATCH_ANY);
    }
}

static void start_members(struct xg_team *team, int count)
{
    sigset_t blocked, before;
    xg_shelter_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* new threads inherit the mask */
    cpu_set_t cores;
    xg_cores_mask(&cores);
    for (int i = 0; i < count; i++) {
        struct member *member = &team->members[i];
        *member = (struct member){.team = team, .worker = i + 1};
        if (pthread_create(&member->thread, NULL, member_main, member) != 0)
            break;
        /* Both are optional: without them the team works with worse placement or no name. */
        if (CPU_COUNT(&cores))
            pthread_setaffinity_np(member->thread, sizeof cores, &cores);
        pthread_setname_np(member->thread, "xgemm-stage");
        team->size++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

enum xg_status xg_team_create(int threads, struct xg_team **out)
{
    int others = threads > 1 ? threads - 1 : 0;
    others = others < WANTED_MAX ? others : WANTED_MAX;
    struct xg_team *team = calloc(1, sizeof *team + (size_t)others * sizeof team->members[0]);
    if (!team)
        return XG_ERR_NOMEM;
    team->size = 1;
    start_members(team, others);
    *out = team;
    return XG_OK;
}

static void begin(struct xg_team *team, int members)
{
    uint64_t number = (atomic_load_explicit(&team->call, memory_order_relaxed) >> WANTED_BITS) + 1;
    atomic_store_explicit(&team->running, (unsigned)members, memory_order_relaxed);
    atomic_store_explicit(&team->call, number << WANTED_BITS | (unsigned)members,
                          memory_order_release);
    atomic_store_explicit(&team->generation, (unsigned)number, memory_order_release);
    wake(&team->generation, members < 32 ? member_bit(members + 1) - 1 : ~0u);
}

void xg_team_destroy(struct xg_team *team)
{
    team->ending = true;
    begin(team, team->size - 1);
    for (int i = 0; i < team->size - 1; i++)
        pthread_join(team->members[i].thread, NULL);
    free(team);
}

int xg_team_size(const struct xg_team *team)
{
    return team->size;
}

void xg_team_run(struct xg_team *team, int workers, void (*work)(void *arg, int worker), void *arg)
{
    int members = (workers < team->size ? workers : team->size) - 1;
    team->work = work;
    team->arg = arg;
    if (members > 0)
        begin(team, members);
    work(arg, 0);
    unsigned running;
    while ((running = atomic_load_explicit(&team->running, memory_order_acquire)) > 0)
        if (!spin_while(&team->running, running, SPIN_END_S))
            sleep_while(&team->running, running, FUTEX_BITSET_MATCH_ANY);
}

struct shares {
    int64_t count, chunk;
    void (*part)(void *arg, int64_t begin, int64_t end);
    void *arg;
    _Atomic int64_t next; /* the first number that no worker has taken */
};

static void work_on_shares(void *arg, int worker)
{
    struct shares *shares = arg;
    fenv_t environment;
    int64_t begin;
    (void)worker;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    while ((begin = atomic_fetch_add_explicit(&shares->next, shares->chunk, memory_order_relaxed)) <
           shares->count)
        shares->part(shares->arg, begin, xg_min_i64(begin + shares->chunk, shares->count));
    fesetenv(&environment);
}

void xg_team_share(struct xg_team *team, int workers, int64_t count, int64_t chunk,
                   void (*part)(void *arg, int64_t begin, int64_t end), void *arg)
{
    struct shares shares = {.count = count, .chunk = chunk, .part = part, .arg = arg};
    if (team && workers > 1 && count > chunk)
        xg_team_run(team, workers, work_on_shares, &shares);
    else
        work_on_shares(&shares, 0);
}
