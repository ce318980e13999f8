/* SPDX-License-Identifier: MIT */
/* Loads cuBLAS on a thread of its own: no product loads it. */
/*
 * Loading takes 0.1 s, or seconds from a cold disk. It also takes the dynamic linker's lock, which
 * a thread may hold that waits for the one that multiplies.
 */
#ifndef XG_CUBLAS_START_H
#define XG_CUBLAS_START_H

#include "base/conf.h"

/* Begins to load cuBLAS where that has not begun yet. True once it has been loaded, or has not been
 * found. From any thread; false unless the engine is READY. */
bool xg_cublas_start_done(const struct xg_conf *conf);

/* The same, but waits for the end of loading, at most until xg_engine_start_deadline. After one
 * thread has waited that long, no other waits. */
bool xg_cublas_start_wait(const struct xg_conf *conf);

#endif
