/* SPDX-License-Identifier: MIT */
/* Threads of ours that start something beside the program: the engine, a library. */
#ifndef XG_ASIDE_H
#define XG_ASIDE_H

#include "base/conf.h"

/* Runs run on a separate thread, which takes no signals and has the default floating-point
 * environment. The end of the process waits for its current step. False: no thread was created. */
bool xg_aside_run(void (*run)(const struct xg_conf *), const struct xg_conf *conf);

/* How many of these threads may be in the driver now. One that sleeps takes itself out (-1) and
 * adds itself again. A child of fork has none. From any thread. */
int xg_aside_inside(void);
void xg_aside_add(int threads);
void xg_aside_reset(void);

#endif
