/* SPDX-License-Identifier: MIT */
/* Lets the program exit without waiting until the kernel has taken down the driver's resources. */
#ifndef XG_TEARDOWN_H
#define XG_TEARDOWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/conf.h"

/*
 * Closing a CUDA context takes the kernel about 0.1 s (its device files and the mappings of the
 * address space), and exit() would wait for that. A second process that shares the address space
 * and has the same device files open leaves that work to the last process that closes them. The
 * second process waits for the end of the program and ends then; a parent that waits for the
 * program does not wait for that work.
 *
 * The second process runs none of the program's code, blocks all signals, keeps only the device
 * files of the program's files, has / as its folder, and ends with the program (after 10 s in any
 * case). The process that reaps orphans reaps it. Its name is xgemm-exit. The program's memory is
 * freed, and its mappings are released, when the second process ends.
 */

/* The device files' names start with this. */
#define XG_TEARDOWN_FILES "/dev/nvidia"

/*
 * True if a second process is possible: the user has not set XGEMM_EXIT=wait, the kernel has the
 * calls that it needs (Linux 5.9), and the program has set no filter of system calls, which may
 * kill, on itself. Checked once; from any thread.
 */
bool xg_teardown_apart(const struct xg_conf *conf);

/*
 * Enables xg_teardown_leave in this process, not in its children. Does nothing if xg_teardown_apart
 * is false, or if an earlier program left such a process and no process reaped it: a container
 * whose first process does not reap orphans gets one and no more. Reads all of /proc, so call it
 * from a thread that no other thread waits for.
 */
void xg_teardown_prepare(const struct xg_conf *conf);

/* Makes the program's end wait after all, because another program wants the device next. */
void xg_teardown_refuse(void);

/*
 * Leaves the teardown to a second process. Call it at the end of the program, when only its last
 * exit handlers remain. files: the start of the names of the files that the second process keeps
 * open (XG_TEARDOWN_FILES). Returns its number; 0, with nothing changed, if the program is not
 * prepared, holds more than 4 GiB or filters its system calls by now, or if the process could not
 * be created. Async-signal-safe.
 */
pid_t xg_teardown_leave(const char *files);

#endif
