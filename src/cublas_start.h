/* SPDX-License-Identifier: MIT */
/* Loads cuBLAS on a separate thread, so that no product loads it. */
/*
 * Loading takes 0.1 s, or seconds from a cold disk. It also takes the dynamic linker's lock.
 * Another thread may hold that lock while it waits for the thread that called BLAS.
 */
#ifndef XG_CUBLAS_START_H
#define XG_CUBLAS_START_H

#include "base/conf.h"

/* Starts loading cuBLAS unless loading has already begun. Returns true once cuBLAS has been loaded
 * or was not found. From any thread; false unless the engine is READY. */
bool xg_cublas_start_done(const struct xg_conf *conf);

/* The same, but waits for the end of loading, at most until xg_engine_start_deadline. After one
 * thread has waited that long, no other thread waits. */
bool xg_cublas_start_wait(const struct xg_conf *conf);

#endif
