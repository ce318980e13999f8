/* SPDX-License-Identifier: MIT */
/* Recent selections, in memory of one owner: programs repeat shapes, and a selection takes
 * microseconds. The policy has its own, and each lane has. */
#ifndef XG_RECENT_H
#define XG_RECENT_H

#include "decide/select.h"

/* The number of places; a shape replaces another one in its place. */
enum { XG_RECENT_PLACES = 512 };

/* All zeros: empty. */
struct xg_recent {
    struct xg_device_facts facts; /* of all selections, like math */
    enum xg_math math;
    struct xg_recent_place {
        bool filled, cublas; /* cublas: of the facts */
        struct xg_shape shape;
        struct xg_choice choice;
    } places[XG_RECENT_PLACES];
};

/*
 * Returns xg_select's choice. It is selected unless *recent has it; a named row is selected each
 * time. recent NULL: nothing is kept. Only one thread may use *recent at a time; a handler may
 * leave this function by siglongjmp.
 */
struct xg_choice xg_recent_select(struct xg_recent *recent, const struct xg_device_facts *facts,
                                  enum xg_math math, const char *name,
                                  const struct xg_shape *shape);

#endif
