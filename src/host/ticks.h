/* SPDX-License-Identifier: MIT */
/* The rate of the clock with which OpenBLAS counts how long its threads spin. */
#ifndef XG_TICKS_H
#define XG_TICKS_H

/* Ticks a second until the rate is known: 2^28 of them are 134 ms, the longest measured. */
#define XG_TICKS_HZ 2e9

/*
 * Ticks a second. On x86-64 the rate is measured between the first call and one at least 5 ms
 * later; until then, and if it cannot be read, it is XG_TICKS_HZ. Other processors state it. From
 * any thread; a few nanoseconds once the rate is known; blocks nothing.
 */
double xg_ticks_hz(void);

#endif
