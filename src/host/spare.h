/* SPDX-License-Identifier: MIT */
/* A core for the start: while the engine starts, the CPU library computes with one thread less. */
/*
 * A multithreaded CPU library waits at the end of each step for its slowest thread. The thread that
 * starts the engine takes one core for a quarter of a second, and where the library has a thread
 * for every core it halves one of them: products took twice as long meanwhile, and the start too
 * (measured with OpenBLAS, 16 threads on 16 cores: 0.6 s instead of 0.3, in which half as many
 * products were computed). One thread less costs a sixteenth.
 *
 * OpenBLAS keeps the count for the whole process. So it is lowered for the time of a product, by
 * one product at a time, and put back only if nobody has changed it since.
 */
#ifndef XG_SPARE_H
#define XG_SPARE_H

#include "base/xg.h"

/*
 * Lowers the count for a product that is about to run with `threads` threads on `cores` cores,
 * where it still is `threads`. True: it did, and xg_spare_end must follow. From any thread, with
 * signals held back: the library may take a lock.
 */
bool xg_spare_begin(const struct xg_cpu *cpu, int threads, int cores);
void xg_spare_end(const struct xg_cpu *cpu);

/*
 * A product that lowered the count may not end: its thread left it by siglongjmp or was cancelled,
 * or is not there, in a forked child. The next product in the same library then puts the count
 * back: before it is asked for it.
 */
void xg_spare_settle(const struct xg_cpu *cpu);

/* Whether the count is lowered: xg_spare_settle may set it, for which the library may take a lock.
 */
bool xg_spare_is_lowered(void);

#endif
