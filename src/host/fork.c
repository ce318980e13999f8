/* SPDX-License-Identifier: MIT */
/* Holds the registered locks around fork and identifies the process by its number. */
/*
 * One set of handlers serves the whole library. Otherwise each module would have three, all of
 * which must do nothing in a child that was made without them.
 */
#include "host/fork.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "host/shelter.h"

enum { WATCHED_MAX = 12 };

static struct {
    pthread_mutex_t lock; /* guards the fields below; itself held around fork */
    int count;
    struct xg_fork_watch watched[WATCHED_MAX];
    int64_t taken[WATCHED_MAX]; /* of the latches; 0: the holder did not let go */
    /* The forking thread's: a handler that forked meanwhile would wait for the lock forever, and a
     * cancelled thread would never release it. */
    struct xg_shelter shelter;
    bool tried, handled; /* the C library was asked; it accepted the handlers */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The process that the handlers know; 0: nothing is registered yet. */
static _Atomic pid_t process;
/* True while this thread is in a fork that prepare() saw, because other libraries' handlers may
 * fork. */
static _Thread_local bool announced __attribute__((tls_model("initial-exec")));

bool xg_fork_unannounced(void)
{
    pid_t known = atomic_load_explicit(&process, memory_order_relaxed);
    return known && !xg_sandbox_closed() && known != getpid();
}

static void prepare(void)
{
    struct xg_shelter shelter;
    if (xg_sandbox_closed() || xg_fork_unannounced())
        return;
    xg_shelter_enter(&shelter);
    pthread_mutex_lock(&registry.lock);
    registry.shelter = shelter;
    announced = true;
    for (int i = 0; i < registry.count; i++) {
        if (registry.watched[i].lock)
            pthread_mutex_lock(registry.watched[i].lock);
        if (registry.watched[i].latch)
            registry.taken[i] = xg_latch_take(registry.watched[i].latch);
        if (registry.watched[i].before)
            registry.watched[i].before();
    }
}

static void let_go(void)
{
    const struct xg_shelter shelter = registry.shelter;
    announced = false;
    for (int i = registry.count; i-- > 0;)
        if (registry.watched[i].lock)
            pthread_mutex_unlock(registry.watched[i].lock);
    pthread_mutex_unlock(&registry.lock);
    xg_shelter_leave(&shelter);
}

static void in_parent(void)
{
    if (!announced || xg_fork_unannounced())
        return;
    for (int i = 0; i < registry.count; i++) {
        if (registry.watched[i].in_parent)
            registry.watched[i].in_parent();
        if (registry.watched[i].latch)
            xg_latch_leave(registry.watched[i].latch, registry.taken[i]);
    }
    let_go();
}

static void in_child(void)
{
    if (!announced)
        return;
    atomic_store(&process, getpid());
    for (int i = 0; i < registry.count; i++) {
        if (registry.watched[i].latch)
            xg_latch_reset(registry.watched[i].latch);
        if (registry.watched[i].in_child)
            registry.watched[i].in_child();
    }
    let_go();
}

/*
 * glibc links pthread_atfork into each object, and it calls __register_atfork, which musl does not
 * have; in musl pthread_atfork is an ordinary function. A musl program that inherits LD_PRELOAD
 * loads this library too, and would end at once because of a name that it cannot bind.
 */
#pragma weak __register_atfork
#pragma weak pthread_atfork
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
extern void *__dso_handle __attribute__((visibility("hidden")));

static int register_handlers(void)
{
    if (__register_atfork)
        return __register_atfork(prepare, in_parent, in_child, __dso_handle);
    return pthread_atfork ? pthread_atfork(prepare, in_parent, in_child) : ENOSYS;
}

bool xg_fork_register(const struct xg_fork_watch *watch)
{
    pid_t none = 0;
    if (xg_sandbox_closed() || xg_fork_unannounced())
        return false;
    /* Set first: a child of a fork before the handlers exist finds the lock taken. */
    atomic_compare_exchange_strong(&process, &none, getpid());
    pthread_mutex_lock(&registry.lock);
    if (!registry.tried)
        registry.handled = register_handlers() == 0;
    registry.tried = true;
    atomic_store(&process, getpid());
    bool there = false;
    /* A child forked during a pthread_once runs that initialization again. */
    for (int i = 0; i < registry.count && !there; i++)
        there = !memcmp(&registry.watched[i], watch, sizeof *watch);
    bool room = registry.handled && registry.count < WATCHED_MAX;
    if (!there && room)
        registry.watched[registry.count++] = *watch;
    pthread_mutex_unlock(&registry.lock);
    return there || room;
}
