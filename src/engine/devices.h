/* SPDX-License-Identifier: MIT */
/*
 * The engine's devices and their lanes. These functions take no lock; the engine locks.
 *
 * A product runs whole on the least busy device. To split one product over several devices, change
 * the result of xg_devices_pick and the submitting thread, which today is the caller's own
 * (queue.c).
 */
#ifndef XG_DEVICES_H
#define XG_DEVICES_H

#include "base/conf.h"
#include "base/xg.h"
#include "decide/decision.h"
#include "device/dev.h"
#include "pipeline/lane.h"

/*
 * Two products at once hide each other's start and end; further ones only share the same link. Each
 * lane keeps its own memory and team.
 */
enum { XG_DEVICES_LANES = XG_POLICY_LANES, XG_DEVICES_MAX = 16 };

struct xg_device {
    struct xg_dev *dev; /* NULL once the device has been given up and nothing of it is left */
    struct {
        struct xg_lane *lane; /* NULL: not created yet */
        bool busy;
    } slots[XG_DEVICES_LANES];
    struct xg_lane *left[XG_DEVICES_LANES]; /* a hung device's lanes */
    int failures;                           /* in a row */
    int wrongs;                             /* in a row, of the verified products */
    int held;                               /* callers that keep the device open without a lane */
    bool lost;                              /* it gets no more products */
};

struct xg_devices {
    struct xg_device at[XG_DEVICES_MAX];
    int count;
};

/* A lane: slots[slot] of at[device]. */
struct xg_devices_place {
    int device, slot;
};

/* Instead of an ordinal: the device that xg_dev_create chooses by itself. */
enum { XG_DEVICES_ANY = -1 };

/* Reads the ordinals in XGEMM_DEVICES (NULL: XG_DEVICES_ANY), each once, in their order. Returns
 * their number, or max + 1 if there are more than max. */
int xg_devices_ordinals(const char *text, int *ordinals, int max);

/* The same for at most XG_DEVICES_MAX ordinals; warns once if there are more. */
int xg_devices_read_ordinals(const char *text, int ordinals[XG_DEVICES_MAX]);

/* Finds a free lane on the first device with the fewest busy lanes. Returns false if no lane is
 * free. */
bool xg_devices_pick(const struct xg_devices *devices, struct xg_devices_place *place);

/* The number of busy lanes, and of all lanes, on the devices that are not lost. */
int xg_devices_busy(const struct xg_devices *devices);
int xg_devices_lanes(const struct xg_devices *devices);

/* Opens only the device with that ordinal, or XG_DEVICES_ANY, and creates a lane for `threads`
 * staging threads, ready for its first product. If several threads multiply, it creates as many
 * lanes as it can. Unless it returns XG_OK, nothing of the device is left. */
enum xg_status xg_devices_open(const struct xg_conf *conf, int ordinal, int threads,
                               struct xg_device *device);

/*
 * Counts how a product on the device ended, and whether it was verified. Returns true if the device
 * is lost now: after a fatal failure, three failures in a row, or three wrong results in a row.
 */
bool xg_devices_count(struct xg_device *device, enum xg_status status, enum xg_verdict verdict);

/*
 * Moves the resources of a lost device to *held; a device that hangs keeps its resources, in
 * `left`. Returns false and does nothing if the device is not lost, has a busy lane, is held, or
 * was detached before.
 */
bool xg_devices_detach(struct xg_device *device, struct xg_device *held);

/* Closes a detached device, or one that is not in use; for a device that hangs it only ends the
 * threads. Waits for the driver, so call it without the engine's lock. */
void xg_devices_close(const struct xg_device *held);

#endif
