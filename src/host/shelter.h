/* SPDX-License-Identifier: MIT */
/* Keeps signals and cancellation away from a thread of the program while it is in our code. */
/*
 * A handler may leave by siglongjmp, and a thread with PTHREAD_CANCEL_ASYNCHRONOUS may end
 * anywhere. In the middle of a product on the GPU that would leave a lane lent for ever, workers at
 * a queue that lies on a stack which is gone, and locks taken: ours, and the driver's, which nobody
 * could ever free again. No bookkeeping makes that good, so it is kept from happening: signals and
 * cancellation that come meanwhile act when the thread leaves. That costs two system calls, which
 * is little beside a product on the GPU; the CPU library is not sheltered, and is left as it is
 * without us. What comes before and after a product there is not either, and must bear to be left
 * by a handler (latch.h), but for threads that may be cancelled anywhere.
 */
#ifndef XG_SHELTER_H
#define XG_SHELTER_H

#include <signal.h>
#include <stdbool.h>

/* What the thread had before. */
struct xg_shelter {
    sigset_t signals;
    int cancel_state, cancel_type;
    bool open; /* nothing is held back */
};

/*
 * All signals but those that a fault of the thread itself raises. The program's handlers run on its
 * own threads; but a program that fills its pages from a SIGSEGV or SIGBUS handler must get to do
 * so when a worker of ours reads them, and a blocked fault is death.
 */
void xg_shelter_signals(sigset_t *blocked);

/* In pairs, on one thread; one inside another does no harm. errno is kept. What has come meanwhile
 * acts before the outer xg_shelter_leave returns, and may keep it from returning. */
void xg_shelter_enter(struct xg_shelter *shelter);
void xg_shelter_leave(const struct xg_shelter *shelter);

/* Holds nothing back where a cancellation must wait for a cancellation point, of which there must
 * be none inside; otherwise the same. No system call then. */
void xg_shelter_enter_open(struct xg_shelter *shelter);

/* Inside: holds back from now on what it did not. */
void xg_shelter_close(struct xg_shelter *shelter);

/* After xg_shelter_leave: as it was before. */
void xg_shelter_enter_again(struct xg_shelter *shelter);

/*
 * Inside one that is not open: what may take long. Signals with which people and schedulers end a
 * program (SIGINT, SIGTERM, SIGHUP, SIGQUIT) and that no handler catches are let through, for the
 * device may hang, and so may a file system or a library's constructor.
 */
void xg_shelter_wait(const struct xg_shelter *shelter);

#endif
