/* SPDX-License-Identifier: MIT */
/* SplitMix64 (Steele, Lea and Flood, 2014): numbers of 64 random bits. */
#ifndef XG_RANDOM_H
#define XG_RANDOM_H

#include <stdint.h>

static inline uint64_t xg_random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The next number of the sequence; any state begins one. */
static inline uint64_t xg_random_next(uint64_t *state)
{
    return xg_random_mix(*state += 0x9e3779b97f4a7c15u);
}

#endif
