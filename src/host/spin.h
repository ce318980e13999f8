/* SPDX-License-Identifier: MIT */
/* For how long the threads of a CPU library spin after a product, from what the user has set. */
/*
 * Threads that wait for the next product in a loop keep the cores that staging needs.
 *
 * OpenBLAS's own threads wait 2^28 ticks of the clock that the processor counts, or 2^v where
 * OPENBLAS_THREAD_TIMEOUT is v >= 1, taken as 4 to 30; 0 and what is no number mean the default
 * (driver/others/blas_server.c and openblas_env.c, the same from 0.2.16 to 0.3.31; the 26 of
 * Makefile.rule holds for builds with -DTHREAD_TIMEOUT=26). In the loop are nops, on x86-64 since
 * 0.3.27; until then sched_yield, except on some AMD processors. The threads spin after their
 * creation too, which is when the library is loaded.
 *
 * libgomp's threads (OpenMP builds of OpenBLAS and BLIS) wait GOMP_SPINCOUNT rounds, without it
 * 300,000, which are 3 ms; with OMP_WAIT_POLICY passive none, active 30e9, which are minutes. Fewer
 * where threads outnumber cores.
 *
 * Those of libiomp5 and LLVM's libomp (MKL, and what is linked with clang) wait KMP_BLOCKTIME, 200
 * ms.
 *
 * BLIS with POSIX threads creates and joins them for each product.
 *
 * Measured on 2 cores of 2.6 GHz, in ms: OpenBLAS 0.3.21, 0.3.30 and 0.3.31 103, with 26 17 to 29,
 * with 30 413; libgomp of GCC 12 3.2 to 3.6, with 3,000,000 rounds 32 to 37; LLVM 14's libomp 202;
 * BLIS with POSIX threads 0.
 */
#ifndef XG_SPIN_H
#define XG_SPIN_H

#include "base/xg.h"

/* What the environment says. INFINITY: until the process ends. */
struct xg_spin {
    double openblas_ticks;
    double gomp_s, kmp_s, mkl_s;
};

/* Ticks a second until the rate is known: 2^28 of them are 134 ms, the longest that was measured.
 */
#define XG_SPIN_TICKS_HZ 2e9

/* Reads the variables through lookup(ctx, name) (getenv-like; NULL: unset). Pure but for that. */
void xg_spin_read(struct xg_spin *spin, const char *(*lookup)(void *ctx, const char *name),
                  void *ctx);

/*
 * Seconds for which the threads of such a pool spin, with a clock of ticks_hz; an upper bound, 0
 * for a pool that does not spin. An unknown pool is taken for OpenBLAS's. Pure.
 */
double xg_spin_of(const struct xg_spin *spin, enum xg_pool pool, double ticks_hz);

/*
 * The same for this process: the environment as the first call finds it, and the clock's own rate,
 * which is measured between the first call and one that comes at least 20 ms later; until then, and
 * where it cannot be read, XG_SPIN_TICKS_HZ or what the architecture says. From any thread, a few
 * nanoseconds once the rate is known, blocks nothing, keeps errno.
 */
double xg_spin_seconds(enum xg_pool pool);

#endif
