/* SPDX-License-Identifier: MIT */
/* Holds what is registered around fork, and knows the process by its number. */
/*
 * One set of handlers for the whole library: each of its rooms would otherwise have three, all of
 * which must do nothing in a child that was made without them.
 */
#include "host/fork.h"

#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { WATCHED_MAX = 8, WAIT_MS = 1000 };

static struct {
    pthread_mutex_t lock; /* of what follows; itself held around fork */
    int count;
    struct {
        pthread_mutex_t *lock;
        void (*in_child)(void);
        bool held;
    } watched[WATCHED_MAX];
    bool tried, handled; /* pthread_atfork was asked, and took the handlers */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The one that the handlers know; 0: nothing is registered yet. */
static _Atomic pid_t process;
static bool announced; /* whether the handlers were called in a process that they know */

bool xg_fork_unannounced(void)
{
    pid_t known = atomic_load_explicit(&process, memory_order_relaxed);
    return known && known != getpid();
}

/* In naps rather than by pthread_mutex_timedlock, whose clock may be set meanwhile. */
static bool take(pthread_mutex_t *lock)
{
    const struct timespec nap = {.tv_nsec = 1000 * 1000};
    for (int ms = 0; ms < WAIT_MS; ms++) {
        if (pthread_mutex_trylock(lock) == 0)
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

static void prepare(void)
{
    if (xg_fork_unannounced()) {
        announced = false; /* what may have been copied from a parent that was about to fork */
        return;
    }
    pthread_mutex_lock(&registry.lock);
    announced = true;
    for (int i = 0; i < registry.count; i++)
        registry.watched[i].held = registry.watched[i].lock && take(registry.watched[i].lock);
}

static void let_go(void)
{
    for (int i = registry.count; i-- > 0;)
        if (registry.watched[i].held)
            pthread_mutex_unlock(registry.watched[i].lock);
    pthread_mutex_unlock(&registry.lock);
}

static void in_parent(void)
{
    if (!xg_fork_unannounced())
        let_go();
}

static void in_child(void)
{
    if (!announced)
        return;
    atomic_store(&process, getpid());
    for (int i = 0; i < registry.count; i++)
        if (registry.watched[i].in_child)
            registry.watched[i].in_child();
    let_go();
}

bool xg_fork_register(pthread_mutex_t *lock, void (*child)(void))
{
    pid_t none = 0;
    if (xg_fork_unannounced())
        return false;
    /* First: the child of a fork that comes before the handlers are there finds the lock taken. */
    atomic_compare_exchange_strong(&process, &none, getpid());
    pthread_mutex_lock(&registry.lock);
    if (!registry.tried)
        registry.handled = pthread_atfork(prepare, in_parent, in_child) == 0;
    registry.tried = true;
    atomic_store(&process, getpid());
    bool room = registry.handled && registry.count < WATCHED_MAX;
    if (room) {
        registry.watched[registry.count].lock = lock;
        registry.watched[registry.count].in_child = child;
        registry.watched[registry.count].held = false;
        registry.count++;
    }
    pthread_mutex_unlock(&registry.lock);
    return room;
}
