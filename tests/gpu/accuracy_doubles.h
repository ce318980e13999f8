/* SPDX-License-Identifier: MIT */
/* The part of the accuracy test that is about doubles. */
#ifndef ACCURACY_DOUBLES_H
#define ACCURACY_DOUBLES_H

#include "src/device/dev.h"
#include "src/host/team.h"

struct accuracy_doubles {
    struct xg_dev *dev; /* its context is current */
    CUstream stream;
    struct xg_team *team;
    int64_t side, k_min, k_max;
    uint64_t seed;
};

/* Prints the table and checks its lines. */
void accuracy_doubles(const struct accuracy_doubles *of);

#endif
