/* SPDX-License-Identifier: MIT */
/* Shared by the tests on a device: steps that must succeed, and whether the device is the fake one.
 */
#ifndef GPU_UTIL_H
#define GPU_UTIL_H

#include "src/compute/launch.h"
#include "src/device/dev.h"
#include "tests/support/xt.h"

static inline void must(enum xg_status status, const char *what)
{
    if (status != XG_OK) {
        fprintf(stderr, "%s: %s\n", what, xg_status_name(status));
        exit(XT_FAIL);
    }
}

/* Whether the device is the fake driver, whose arithmetic is not tested, unless
 * XGEMM_TEST_ALLOW_FAKE=1. */
static inline bool gpu_is_fake(const struct xg_dev *dev)
{
    const char *allow = getenv("XGEMM_TEST_ALLOW_FAKE");
    return strstr(dev->name, "Fake") && !(allow && !strcmp(allow, "1"));
}

/*
 * A triangle of that kind (kernels/kabi.h) that ends `beside` diagonals from a corner of the tile
 * (bm,bn) at (i,j): the corner that it meets first.
 */
static inline struct xg_triangle gpu_triangle(int kind, int64_t i, int64_t j, int64_t bm,
                                              int64_t bn, int64_t beside)
{
    const int64_t corner = kind == XG_TRIANGLE_UPPER ? j + bn - 1 - i : j - i - bm + 1;
    return (struct xg_triangle){.diagonal = corner + beside, .kind = kind};
}

#endif
