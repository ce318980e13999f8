/* SPDX-License-Identifier: MIT */
/* The look for cuBLAS, beside the program: no product loads it. */
/*
 * Loading takes 0.1 s, and seconds from a disk that has not read the library lately; and it takes
 * the dynamic linker's lock, which may be held by a thread that waits for the one that multiplies.
 */
#ifndef XG_LOOK_H
#define XG_LOOK_H

#include "base/conf.h"

/* Whether cuBLAS has been loaded, or looked for in vain. Where that has yet to be done it begins,
 * on a thread of its own. From any thread; false unless the engine is READY. */
bool xg_look_done(const struct xg_conf *conf);

/* The same, once that has ended or xg_engine_start_deadline has come. Who waited until then is the
 * last to wait. */
bool xg_look_wait(const struct xg_conf *conf);

#endif
