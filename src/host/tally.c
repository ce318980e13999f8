/* SPDX-License-Identifier: MIT */
/* Sums over threads; each thread has its own counts. */
#include "host/tally.h"

#include <pthread.h>
#include <stdatomic.h>

#include "host/fork.h"
#include "host/shelter.h"

/*
 * Only the thread itself writes its counts, each with one store: a handler that multiplies in
 * between, or leaves by a jump, causes no permanently wrong sum. Each thread has its own cache
 * line. Threads beyond this number are not counted.
 */
enum { SLOTS = 4096 };

static struct slot {
    _Alignas(64) _Atomic int counts[XG_TALLY_COUNT];
    atomic_flag taken;
} slots[SLOTS];
static _Atomic int used; /* slots from here on were never used */

/* Initial-exec: a thread's first access allocates nothing. */
static _Thread_local struct slot *here __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool keyed;

static void clear(struct slot *slot)
{
    for (int which = 0; which < XG_TALLY_COUNT; which++)
        atomic_store(&slot->counts[which], 0);
}

/* A forked child has only the thread that forked. */
static void count_in_child(void)
{
    for (int i = 0; i < atomic_load(&used); i++) {
        if (&slots[i] == here)
            continue;
        clear(&slots[i]);
        atomic_flag_clear(&slots[i].taken);
    }
}

static void leave_slot(void *unused)
{
    struct slot *slot = here;
    (void)unused;
    if (!slot)
        return;
    here = NULL;
    clear(slot);
    atomic_flag_clear(&slot->taken);
}

static void init(void)
{
    xg_fork_register(&(struct xg_fork_watch){.in_child = count_in_child});
    keyed = pthread_key_create(&key, leave_slot) == 0;
}

static struct slot *take_slot(void)
{
    for (int i = 0; i < SLOTS; i++) {
        if (atomic_flag_test_and_set(&slots[i].taken))
            continue;
        for (int last = atomic_load(&used); last <= i;)
            if (atomic_compare_exchange_weak(&used, &last, i + 1))
                break;
        return &slots[i];
    }
    return NULL;
}

static void register_thread(void)
{
    struct xg_shelter shelter; /* memory may be allocated */
    xg_shelter_enter(&shelter);
    if (here) { /* a handler multiplied meanwhile */
        xg_shelter_leave(&shelter);
        return;
    }
    pthread_once(&once, init);
    struct slot *slot = take_slot();
    if (slot && keyed && pthread_setspecific(key, slot) != 0) {
        atomic_flag_clear(&slot->taken); /* the thread's end would not release it */
        slot = NULL;
    }
    here = slot;
    xg_shelter_leave(&shelter);
}

void xg_tally_add(enum xg_tally which, int count)
{
    if (!here)
        register_thread();
    if (here)
        atomic_store(&here->counts[which], atomic_load(&here->counts[which]) + count);
}

void xg_tally_take(enum xg_tally which, int count)
{
    int own = xg_tally_own(which);
    if (own)
        atomic_store(&here->counts[which], own > count ? own - count : 0);
}

int xg_tally_all(enum xg_tally which)
{
    int all = 0;
    for (int i = 0; i < atomic_load(&used); i++)
        all += atomic_load(&slots[i].counts[which]);
    return all;
}

int xg_tally_own(enum xg_tally which)
{
    return here ? atomic_load(&here->counts[which]) : 0;
}

void xg_tally_forget(void)
{
    if (here)
        clear(here);
}
