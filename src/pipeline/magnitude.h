/* SPDX-License-Identifier: MIT */
/* Magnitudes of numbers, as their bits, which have the order of the magnitudes. Infinities and NaN
 * come after all other numbers. */
#ifndef XG_MAGNITUDE_H
#define XG_MAGNITUDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest magnitude of `bytes` bytes of numbers in host memory; 0 if there are none. wide:
 * doubles, otherwise floats; aligned or not. */
uint64_t xg_magnitude_largest(const void *numbers, size_t bytes, bool wide);

static inline bool xg_magnitude_is_finite(uint64_t magnitude, bool wide)
{
    return magnitude < (wide ? UINT64_C(0x7ff0000000000000) : UINT64_C(0x7f800000));
}

#endif
