/* SPDX-License-Identifier: MIT */
/* Records the parts of a product that the engine leaves to the CPU library. */
#ifndef XG_LEFTOVER_H
#define XG_LEFTOVER_H

#include "base/xg.h"

/*
 * After a failure or a wrong result, the CPU library computes the product or its parts. It does so
 * after the lane is given back and outside the shelter, because a signal handler may leave its work
 * by a jump, and threads that it creates must not start with blocked signals.
 */
struct xg_leftover {
    const struct xg_cpu *cpu; /* the program's library */
    const void *frame;        /* of the function that calls xg_leftover_fini (call_memory.h) */
    bool whole;               /* the CPU computes the whole product, no parts */
    struct xg_problem *parts; /* in this order */
    int64_t count, room;
};

/* The functions that the engine gets instead of *rest->cpu. The caller sets cpu and frame, and all
 * other members to 0. If there is no memory to record a part, the recorded parts and then that part
 * are computed at once. *rest must outlive the returned functions; xg_leftover_fini frees the
 * parts. */
struct xg_cpu xg_leftover_cpu(struct xg_leftover *rest);
void xg_leftover_fini(struct xg_leftover *rest);

#endif
