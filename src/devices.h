/* SPDX-License-Identifier: MIT */
/*
 * The engine's devices, and who has which lane of them. Nothing here locks: the engine does.
 *
 * A product is given whole to one device, the least busy one. One product over several devices
 * would begin here, in what xg_devices_pick returns, and in who submits: today that is the caller's
 * own thread (pipe.c).
 */
#ifndef XG_DEVICES_H
#define XG_DEVICES_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/policy.h"
#include "device/dev.h"
#include "pipeline/lane.h"

/*
 * Two products at once hide each other's start and end; more only share the same link. Each lane
 * keeps its own memory and team.
 */
enum { XG_DEVICES_LANES = XG_POLICY_LANES, XG_DEVICES_MAX = 16 };

struct xg_device {
    struct xg_dev *dev; /* NULL once it has been given up and nothing of it is left */
    struct {
        struct xg_lane *lane; /* NULL: not created yet */
        bool busy;
    } slots[XG_DEVICES_LANES];
    struct xg_lane *left[XG_DEVICES_LANES]; /* to a device that hangs; and it itself */
    struct xg_dev *left_dev;
    int failures; /* in a row */
    int wrongs;   /* in a row, of the products that were verified */
    int held;     /* by those who have no lane, and want it to stay */
    bool hung;    /* what the device holds stays with it */
    bool lost;    /* it gets no product any more */
};

struct xg_devices {
    struct xg_device at[XG_DEVICES_MAX];
    int count;
};

/* A lane: of at[device], slots[slot]. */
struct xg_devices_place {
    int device, slot;
};

/* In place of an ordinal: the device that xg_dev_create takes by itself. */
enum { XG_DEVICES_ANY = -1 };

/* The ordinals that XGEMM_DEVICES names (NULL: XG_DEVICES_ANY), each once, in its order; how many,
 * max + 1 where there is no room for all. */
int xg_devices_ordinals(const char *text, int *ordinals, int max);

/* The same of at most XG_DEVICES_MAX, and one warning where there is no room for all. */
int xg_devices_read_ordinals(const char *text, int ordinals[XG_DEVICES_MAX]);

/* A lane that nobody has, of the device on which the fewest are taken, the first of several such.
 * False: there is none. */
bool xg_devices_pick(const struct xg_devices *devices, struct xg_devices_place *place);

/* Lanes that somebody has, and lanes that there are, of the devices that are not lost. */
int xg_devices_busy(const struct xg_devices *devices);
int xg_devices_lanes(const struct xg_devices *devices);

/* Only the device of that number, or XG_DEVICES_ANY, with a lane for so many staging threads that
 * is ready for its first product, or with as many as can be had where several threads multiply;
 * XG_OK, or nothing is left of it.
 */
enum xg_status xg_devices_open(const struct xg_conf *conf, int ordinal, int threads,
                               struct xg_device *device);

/*
 * How a product on the device ended, and whether it was verified. True: the device is lost by that,
 * after a failure that it does not survive, three in a row, or three wrong results in a row.
 */
bool xg_devices_count(struct xg_device *device, enum xg_status status, enum xg_verdict verdict);

/*
 * Takes what a lost device holds out of it, into *held; what a device that hangs holds stays in
 * left, for good. False, and nothing done: it is not lost, a lane of it is busy, it is held, or it
 * was taken before.
 */
bool xg_devices_detach(struct xg_device *device, struct xg_device *held);

/* Gives back what was detached, or a device that nobody uses; where it hangs only threads go. Waits
 * for the driver: not for the engine's lock to be held meanwhile. */
void xg_devices_close(const struct xg_device *held);

#endif
