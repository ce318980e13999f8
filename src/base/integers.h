/* SPDX-License-Identifier: MIT */
/* Arithmetic on dimensions and sizes, which are int64_t. */
#ifndef XG_INTEGERS_H
#define XG_INTEGERS_H

#include <stdint.h>

static inline int64_t xg_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t xg_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
/* The product modulo 2^64: it wraps around as addresses do. */
static inline int64_t xg_wrapped_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t xg_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
static inline int64_t xg_round_up(int64_t a, int64_t b)
{
    return xg_ceil_div(a, b) * b;
}

#endif
