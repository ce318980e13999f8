/* SPDX-License-Identifier: MIT */
/* Elements of real matrices of either precision. */
#ifndef XT_TYPED_H
#define XT_TYPED_H

#include "src/base/problem.h"

/* type: XG_TYPE_S or XG_TYPE_D. */
static inline double xt_get(enum xg_type type, const void *data, int64_t i)
{
    return type == XG_TYPE_D ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline void xt_set(enum xg_type type, void *data, int64_t i, double x)
{
    if (type == XG_TYPE_D)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = (float)x;
}

#endif
