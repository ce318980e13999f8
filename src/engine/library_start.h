/* SPDX-License-Identifier: MIT */
/* Loads a library of the toolkit on a separate thread, so that no call loads it. */
/*
 * Loading takes 0.1 to 0.5 s, or seconds from a cold disk. It also takes the dynamic linker's lock.
 * Another thread may hold that lock while it waits for the thread that called BLAS.
 */
#ifndef XG_LIBRARY_START_H
#define XG_LIBRARY_START_H

#include "base/conf.h"
#include "base/xg.h"
#include "compute/toolkit.h"

/* Starts loading the library unless loading has already begun. Returns true once it has been loaded
 * or was not found; false unless the engine is READY or, for cuSOLVER, COLD. From any thread. */
bool xg_library_start_done(enum xg_toolkit library, const struct xg_conf *conf);

/* READY: loaded; of cuBLAS also if it was not found. One atomic load. */
enum xg_library_state xg_library_start_state(enum xg_toolkit library);

/* The same as xg_library_start_done, but waits for the end of loading, at most until
 * xg_engine_start_deadline. After one thread has waited that long, no other thread waits. */
bool xg_library_start_wait(enum xg_toolkit library, const struct xg_conf *conf, double most_s);

#endif
