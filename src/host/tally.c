/* SPDX-License-Identifier: MIT */
/* Sums over threads, each of which knows its own part. */
#include "host/tally.h"

#include <pthread.h>
#include <stdatomic.h>

#include "host/fork.h"
#include "host/shelter.h"

static _Atomic int all[XG_TALLY_COUNT];

/* Initial-exec: no allocation where a thread first comes by. */
static _Thread_local struct {
    int own[XG_TALLY_COUNT];
    bool registered;
} here __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool keyed;

/* A forked child has the thread that forked, and no other. */
static void count_in_child(void)
{
    for (int which = 0; which < XG_TALLY_COUNT; which++)
        atomic_store(&all[which], here.own[which]);
}

static void forget(void *unused)
{
    (void)unused;
    xg_tally_forget();
}

static void init(void)
{
    xg_fork_register(&(struct xg_fork_watch){.in_child = count_in_child});
    keyed = pthread_key_create(&key, forget) == 0;
}

void xg_tally_add(enum xg_tally which, int count)
{
    if (!here.registered) {
        struct xg_shelter shelter; /* memory may be allocated */
        xg_shelter_enter(&shelter);
        pthread_once(&once, init);
        here.registered = !keyed || pthread_setspecific(key, &here) == 0;
        xg_shelter_leave(&shelter);
    }
    here.own[which] += count;
    atomic_fetch_add(&all[which], count);
}

void xg_tally_take(enum xg_tally which, int count)
{
    if (count > here.own[which])
        count = here.own[which];
    here.own[which] -= count;
    atomic_fetch_sub(&all[which], count);
}

int xg_tally_all(enum xg_tally which)
{
    return atomic_load(&all[which]);
}

int xg_tally_own(enum xg_tally which)
{
    return here.own[which];
}

void xg_tally_forget(void)
{
    for (int which = 0; which < XG_TALLY_COUNT; which++)
        if (here.own[which])
            xg_tally_take((enum xg_tally)which, here.own[which]);
}
