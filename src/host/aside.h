/* SPDX-License-Identifier: MIT */
/* Threads of this library that start the engine or load a library while the program goes on. */
#ifndef XG_ASIDE_H
#define XG_ASIDE_H

#include "base/conf.h"

/* Calls run(conf) on a separate thread, which takes no signals and has the default floating-point
 * environment. The end of the process waits for the thread's current step. False: no thread was
 * created. */
bool xg_aside_run(void (*run)(const struct xg_conf *), const struct xg_conf *conf);

/* The number of these threads, and of those that may be in the driver or in the dynamic linker now.
 * A thread subtracts itself (-1) from the latter before it sleeps or reads a file, and adds itself
 * afterwards; on any other thread xg_aside_add does nothing. A child of fork has none. From any
 * thread. */
int xg_aside_count(void);
int xg_aside_inside(void);
void xg_aside_add(int threads);
void xg_aside_reset(void);

#endif
