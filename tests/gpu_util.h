/* SPDX-License-Identifier: MIT */
/* What the gpu_* tests share: steps that a working device takes, and which device is none. */
#ifndef GPU_UTIL_H
#define GPU_UTIL_H

#include "src/device/dev.h"
#include "xt.h"

static inline void must(enum xg_status status, const char *what)
{
    if (status != XG_OK) {
        fprintf(stderr, "%s: %s\n", what, xg_status_name(status));
        exit(XT_FAIL);
    }
}

/* The fake driver, which tests nothing here unless XGEMM_TEST_ALLOW_FAKE=1 asks for it. */
static inline bool gpu_is_fake(const struct xg_dev *dev)
{
    const char *allow = getenv("XGEMM_TEST_ALLOW_FAKE");
    return strstr(dev->name, "Fake") && !(allow && !strcmp(allow, "1"));
}

#endif
