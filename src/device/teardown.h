/* SPDX-License-Identifier: MIT */
/* Who waits while the kernel takes down what the driver holds: at exit, nobody has to. */
#ifndef XG_TEARDOWN_H
#define XG_TEARDOWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/conf.h"

/*
 * Closing a CUDA context takes the kernel some 0.1 s (its device files and the mappings of the
 * address space), which exit() of a process of its own accord would wait for. A second process that
 * shares the address space and has the same device files open leaves that to whoever closes last:
 * it waits for the end of the program and ends then, and whoever waits for the program does not
 * wait for that.
 *
 * The second process runs none of the program's code, blocks all signals, holds no file of the
 * program's but the device's, stands in /, ends with the program (after 10 s in any case), and is
 * then reaped by whoever reaps orphans. Its name is xgemm-exit. The program's memory is freed, and
 * what it has mapped is let go, when it ends.
 */

/* The device files' names begin so. */
#define XG_TEARDOWN_FILES "/dev/nvidia"

/*
 * Whether it can be: the user has not asked for XGEMM_EXIT=wait, the kernel has what it takes
 * (Linux 5.9), and the program has put itself under no filter of system calls, which may kill.
 * Looked at once; from any thread.
 */
bool xg_teardown_apart(const struct xg_conf *conf);

/*
 * From here on xg_teardown_leave does what it says, in this process and not in its children. Not
 * where xg_teardown_apart says no, or one of its kind was left by an earlier program and never
 * reaped: containers whose first process does not care for orphans get one, and no more. Reads all
 * of /proc: for a thread that nobody waits for.
 */
void xg_teardown_prepare(const struct xg_conf *conf);

/* The end is waited for after all: by another program that wants the device next. */
void xg_teardown_refuse(void);

/*
 * Leaves the teardown to a second process; for the end of the program, when it has no more than its
 * last exit handlers to run. files: how the names of the files begin that it keeps open
 * (XG_TEARDOWN_FILES). Returns its number; 0 where it is not prepared, holds more than 4 GiB,
 * filters its system calls by now, or could not be created, and nothing is changed.
 * Async-signal-safe.
 */
pid_t xg_teardown_leave(const char *files);

#endif
