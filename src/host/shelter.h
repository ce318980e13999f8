/* SPDX-License-Identifier: MIT */
/* Keeps signals and cancellation away from a thread of the program while it is in our code, and
 * keeps the program's floating-point environment. */
/*
 * A handler may leave by siglongjmp, and a thread with PTHREAD_CANCEL_ASYNCHRONOUS may end
 * anywhere. In the middle of a product on the GPU that would leave a lane and locks, ours and the
 * driver's, taken forever, and workers at a queue on a stack that is gone. No bookkeeping can
 * repair that, so the shelter prevents it: signals and cancellation that come meanwhile act when
 * the thread leaves. That costs two system calls, which is little beside a product on the GPU. The
 * CPU library is not sheltered and runs as without us. Our code before and after a product on the
 * CPU is not sheltered either, and must tolerate a handler that leaves it (latch.h), except on
 * threads that may be cancelled anywhere.
 *
 * This library's arithmetic runs with traps off and in the program's rounding mode; the program
 * sees none of its flags. Cancellation acts in the program's environment, and so does the CPU
 * library.
 */
#ifndef XG_SHELTER_H
#define XG_SHELTER_H

#include <fenv.h>
#include <signal.h>
#include <stdbool.h>

/* The thread's state before the shelter. */
struct xg_shelter {
    sigset_t signals;
    fenv_t env;
    int cancel_state, cancel_type;
    bool open; /* nothing is blocked */
};

/*
 * Sets *blocked to all signals except those that a fault of the thread itself raises. The program's
 * handlers run on its own threads. But a program that fills its pages in a SIGSEGV or SIGBUS
 * handler must be able to do so when a worker of ours reads them, and a blocked fault ends the
 * process.
 */
void xg_shelter_signals(sigset_t *blocked);

/* Call them in pairs, on one thread; nesting is harmless. errno is kept. Signals that came
 * meanwhile act before the outer xg_shelter_leave returns, and may keep it from returning. */
void xg_shelter_enter(struct xg_shelter *shelter);
void xg_shelter_leave(const struct xg_shelter *shelter);

/* Blocks nothing, and makes no system call, if cancellation waits for a cancellation point; there
 * must be none inside; otherwise the same as xg_shelter_enter. */
void xg_shelter_enter_open(struct xg_shelter *shelter);

/* Call it inside: blocks everything from now on if the shelter is open. */
void xg_shelter_close(struct xg_shelter *shelter);

/* Call it after xg_shelter_leave: restores the shelter as it was before. */
void xg_shelter_enter_again(struct xg_shelter *shelter);

/* Has the CPU compute the whole call outside the shelter, so that signals and cancellation act as
 * without this library. */
struct xg_cpu;
void xg_shelter_leave_to(struct xg_shelter *shelter, const struct xg_cpu *cpu);

/*
 * Call it before long work inside a shelter that is not open. It lets through the signals with
 * which people and schedulers end a program (SIGINT, SIGTERM, SIGHUP, SIGQUIT), if no handler
 * catches them, because the device may hang, and so may a file system or a library's constructor.
 */
void xg_shelter_wait(const struct xg_shelter *shelter);

#endif
