/* SPDX-License-Identifier: MIT */
/* Records whether the process has forbidden itself system calls or the processor's clock. */
/*
 * A filter that kills (seccomp) ends a process at its first system call that the list does not
 * name. A program's list names its own calls, not those of a driver, of a thread that starts one,
 * or of this library. A process that has set such a filter is closed: every call goes to the
 * caller's own BLAS, and this library makes no more system calls, reads no clock and writes no
 * report. It stays closed, and so do the children that it forks.
 *
 * The same holds if PR_SET_SYSCALL_USER_DISPATCH turns each call into a signal, which ends the
 * process if signals are blocked, and if PR_SET_TSC makes reading the clock a fault, which
 * PR_GET_TSC reports. The library does not ask for filters, because that takes a system call that a
 * filter may kill; it intercepts the functions that set them (shim/sandbox.c). So a filter from
 * before the program (a container's) does not close the process, and one set without libc is not
 * seen.
 */
#ifndef XG_SANDBOX_H
#define XG_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>

/* 0: open. Only sandbox.c writes it. */
extern _Atomic unsigned xg_sandbox_state;

/* From any thread; one atomic load. */
static inline bool xg_sandbox_closed(void)
{
    return atomic_load_explicit(&xg_sandbox_state, memory_order_relaxed) != 0;
}

/*
 * Call them in pairs around the system call that closes the process. The process counts as closed
 * from before the call, because a filter may be set for all threads at once; it is open again if
 * the call failed. No system call, no lock.
 */
void xg_sandbox_enter(void);
void xg_sandbox_leave(bool closed);

/* Closes a process that started with its clock forbidden. Asks once per process, with one system
 * call, and never in a closed one. Keeps errno. */
void xg_sandbox_look(void);

#endif
