/* SPDX-License-Identifier: MIT */
/*
 * Calls from a thousand places of one program: the last one costs what the first one costs.
 * Compiled by the preload tests and linked to a BLAS with the C interface. Prints "right" if every
 * answer is right and no place is slow, and the nanoseconds of a call on standard error.
 */
#include <cblas.h>

#include "src/base/clock.h"
#include "tests/support/xt.h"

enum { SITES = 1000, FEW = 100, ROUNDS = 20, DEARER = 20 };

static float sites_sum;

#define SITE                                                                                       \
    if (at++ < count) {                                                                            \
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0f, &a, 1, &b, 1, 0.0f,  \
                    &c, 1);                                                                        \
        sites_sum += c;                                                                            \
    }
#define SITE10 SITE SITE SITE SITE SITE SITE SITE SITE SITE SITE
#define SITE100 SITE10 SITE10 SITE10 SITE10 SITE10 SITE10 SITE10 SITE10 SITE10 SITE10

/* Calls from the first `count` places; returns the fewest nanoseconds a call of all rounds. */
__attribute__((noinline)) static double sites_call(int count)
{
    const float a = 2.0f, b = 3.0f;
    double least = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = (double)xg_clock_ns();
        float c = 0.0f;
        int at = 0;
        SITE100 SITE100 SITE100 SITE100 SITE100 SITE100 SITE100 SITE100 SITE100 SITE100 double ns =
            ((double)xg_clock_ns() - begin) / count;
        least = ns < least ? ns : least;
    }
    return least;
}

int main(void)
{
    double few = sites_call(FEW), all = sites_call(SITES);
    fprintf(stderr, "%.0f ns from %d places, %.0f from %d\n", few, FEW, all, SITES);
    XT_CHECK(sites_sum == 6.0f * ROUNDS * (FEW + SITES), "%g", (double)sites_sum);
    XT_CHECK(all <= DEARER * few, "%g and %g ns", all, few);
    puts(xt_failures ? "WRONG" : "right");
    return xt_failures ? XT_FAIL : XT_PASS;
}
