/* SPDX-License-Identifier: MIT */
/* Whether the process has forbidden itself system calls or the processor's clock. */
/*
 * A filter that kills (seccomp) ends a process at its first system call that the list does not
 * name, and the list of a program names its own calls: not those of a driver, of a thread that
 * starts one, or of this library. A process that has set itself one is closed: every call goes to
 * the caller's own BLAS, and this library makes no system call, reads no clock and writes no report
 * there any more. It stays closed, and so do the children that it forks.
 *
 * The same holds where PR_SET_SYSCALL_USER_DISPATCH makes each a signal of the program's, which
 * ends the process where signals are held back, and where PR_SET_TSC makes the clock a fault, which
 * PR_GET_TSC tells. Filters are
 * not asked for, since to ask takes a system call that a filter may kill: what sets them is
 * intercepted (shim/sandbox.c). So a filter that was there before the program (a container's) does
 * not close it, and one that is set without libc is not seen.
 */
#ifndef XG_SANDBOX_H
#define XG_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>

/* 0: open. Written by sandbox.c alone. */
extern _Atomic unsigned xg_sandbox_state;

/* From any thread; a load. */
static inline bool xg_sandbox_closed(void)
{
    return atomic_load_explicit(&xg_sandbox_state, memory_order_relaxed) != 0;
}

/*
 * Around the system call that closes the process, in pairs: it counts as closed from before the
 * call, for a filter may be set for all threads at once, and is open again where the call failed.
 * No system call, no lock.
 */
void xg_sandbox_enter(void);
void xg_sandbox_leave(bool closed);

/* Closes a process that came to life with its clock forbidden. Asks once in a process, with one
 * system call, and never in a closed one. Keeps errno. */
void xg_sandbox_look(void);

#endif
