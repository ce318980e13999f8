/* SPDX-License-Identifier: MIT */
/* What the engine leaves to the CPU library, written down until it may be called. */
#ifndef XG_REST_H
#define XG_REST_H

#include "base/xg.h"

/*
 * After a failure, or where the result was wrong, the CPU library computes the product or its
 * parts: once the lane is given back, and outside the shelter like all that this library does. Its
 * handlers may leave, and threads that it makes then must not begin with signals blocked.
 */
struct xg_rest {
    const struct xg_cpu *cpu; /* the program's; the other members begin as 0 */
    bool whole;               /* all of it, and no parts */
    struct xg_problem *parts; /* in this order */
    int64_t count, room;
};

/* What the engine is given in the place of *rest->cpu. Where there is no memory to write a part
 * down it is computed at once, behind those before it. *rest must outlive it; xg_rest_fini frees
 * the parts. */
struct xg_cpu xg_rest_cpu(struct xg_rest *rest);
void xg_rest_fini(struct xg_rest *rest);

/* Before the parts are computed, which a handler may leave: they are then freed when the thread's
 * next ones are. */
void xg_rest_lend(struct xg_rest *rest);

#endif
