/* SPDX-License-Identifier: MIT */
/* One intercepted call as all layers see it. */
#ifndef XG_CALL_H
#define XG_CALL_H

#include "base/problem.h"
#include "base/routine.h"

/* Exactly one of problem and routine is not NULL. The door fills it; constant afterwards. */
struct xg_call {
    const char *symbol;               /* the name that the program called; a static string */
    const struct xg_problem *problem; /* of BLAS */
    const struct xg_routine *routine; /* of LAPACK */
};

#endif
