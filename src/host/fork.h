/* SPDX-License-Identifier: MIT */
/* Children of the process: what is held around fork, and children that nobody was told of. */
#ifndef XG_FORK_H
#define XG_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* What is done around fork; NULL: nothing of the kind. */
struct xg_fork_watch {
    pthread_mutex_t *lock;   /* held meanwhile, so that the child finds whole what it guards */
    void (*before)(void);    /* once the lock is held; must end */
    void (*in_parent)(void); /* and in_child: before the lock is let go */
    void (*in_child)(void);
};

/*
 * From now on that is done whenever the process forks, with the thread's signals and cancellation
 * held back. False: no memory, or too many; then nothing of it happens. What it points to must stay
 * there. From any thread, at most some times in a process; locks that are held around fork must not
 * be held inside each other.
 */
bool xg_fork_register(const struct xg_fork_watch *watch);

/*
 * Whether this process is a child made without the handlers of pthread_atfork (_Fork, clone) of one
 * in which something was registered. In it locks may be held by threads that are not there, so none
 * of ours may be taken: the CPU library alone computes. Its own children are the same, however they
 * are made. One system call, no lock; from any thread. In a closed process (base/sandbox.h) nothing
 * of ours is taken anyway: false there, without a system call.
 */
bool xg_fork_unannounced(void);

#endif
