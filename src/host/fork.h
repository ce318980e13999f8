/* SPDX-License-Identifier: MIT */
/* Registers work to do around fork and detects children that were made without fork handlers. */
#ifndef XG_FORK_H
#define XG_FORK_H

#include <pthread.h>
#include <stdbool.h>

#include "host/latch.h"

/* Work done around fork; NULL: none of that kind. */
struct xg_fork_watch {
    pthread_mutex_t *lock;   /* held around fork, so that the child finds its data complete */
    struct xg_latch *latch;  /* the same, unless its holder does not let go; free in the child */
    void (*before)(void);    /* runs while the lock is held; must return */
    void (*in_parent)(void); /* it and in_child run before the lock is released */
    void (*in_child)(void);
};

/*
 * Does the work in *watch at every fork from now on, with the thread's signals and cancellation
 * blocked. False: there is no memory, or too much is registered; then nothing happens at a fork.
 * *watch's pointers must stay valid. From any thread, a few times per process; locks that are held
 * around fork must not be nested.
 */
bool xg_fork_register(const struct xg_fork_watch *watch);

/*
 * True if this process is a child made without the handlers of pthread_atfork (_Fork, clone), and
 * something was registered in its parent. Threads that the child lacks may hold our locks, so it
 * must take none of them: only the CPU library computes. Its own children are the same, however
 * they are made. One system call, no lock; from any thread. A closed process (base/sandbox.h) takes
 * no lock of ours anyway: false there, without a system call.
 */
bool xg_fork_unannounced(void);

#endif
