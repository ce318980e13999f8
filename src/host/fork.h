/* SPDX-License-Identifier: MIT */
/* Children of the process: what is held around fork, and children that nobody was told of. */
#ifndef XG_FORK_H
#define XG_FORK_H

#include <pthread.h>
#include <stdbool.h>

/*
 * From now on *lock (NULL: none) is held while the process forks, so that the child finds whole
 * what it guards, and in_child is called in the child before it is let go. One that is not to be
 * had within a second is gone without: its thread may be waiting for the one that forks. False: no
 * memory, or too many; then nothing of it happens. Both must stay there. From any thread, at most
 * some times in a process; locks that are held around fork must not be held inside each other.
 */
bool xg_fork_register(pthread_mutex_t *lock, void (*in_child)(void));

/*
 * Whether this process is a child made without the handlers of pthread_atfork (_Fork, clone) of one
 * in which something was registered. In it locks may be held by threads that are not there, so none
 * of ours may be taken: the CPU library alone computes. Its own children are the same, however they
 * are made. One system call, no lock; from any thread.
 */
bool xg_fork_unannounced(void);

#endif
