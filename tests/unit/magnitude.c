/* SPDX-License-Identifier: MIT */
/* The largest magnitude, for any length, alignment and place, and with NaN and infinities. */
#include "pipeline/magnitude.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/support/xt.h"

enum { NUMBERS_MOST = 70, OFFSETS = 3 };

static size_t bytes_of(bool wide)
{
    return wide ? sizeof(double) : sizeof(float);
}

static void put(char *at, double x, bool wide)
{
    const float narrow = (float)x;
    memcpy(at, wide ? (const void *)&x : &narrow, bytes_of(wide));
}

static uint64_t bits(double x, bool wide)
{
    uint32_t narrow;
    char number[sizeof(double)];
    uint64_t word;
    put(number, fabs(x), wide);
    memcpy(&word, number, sizeof word);
    memcpy(&narrow, number, sizeof narrow);
    return wide ? word : narrow;
}

/* Each is larger in magnitude than the one before. */
static const double odd[2][8] = {
    {0.0, -FLT_TRUE_MIN, FLT_MIN, -1, 3, -FLT_MAX, INFINITY, NAN},
    {0.0, -DBL_TRUE_MIN, DBL_MIN, -1, 3, -DBL_MAX, INFINITY, NAN},
};

static void test_places(bool wide)
{
    char numbers[NUMBERS_MOST * sizeof(double) + OFFSETS];
    for (size_t count = 1; count <= NUMBERS_MOST; count++)
        for (size_t at = 0; at < count; at++)
            for (size_t offset = 0; offset < OFFSETS; offset++)
                for (int kind = 1; kind < 8; kind++) {
                    char *first = numbers + offset;
                    const double x = odd[wide][kind];
                    memset(numbers, 0xff, sizeof numbers); /* NaN before and behind */
                    for (size_t i = 0; i < count; i++)
                        put(first + i * bytes_of(wide), odd[wide][i % (size_t)kind], wide);
                    put(first + at * bytes_of(wide), x, wide);
                    const uint64_t largest =
                        xg_magnitude_largest(first, count * bytes_of(wide), wide);
                    XT_CHECK(largest == bits(x, wide), "%zu of %zu, %g: %llx", at, count, x,
                             (unsigned long long)largest);
                    XT_CHECK(xg_magnitude_is_finite(largest, wide) == (isfinite(x) != 0), "%g", x);
                }
}

int main(void)
{
    XT_CHECK(xg_magnitude_largest(NULL, 0, true) == 0);
    test_places(false);
    test_places(true);
    return xt_done();
}
