/* SPDX-License-Identifier: MIT */
#include "engine/devices.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "compute/backend.h"
#include "host/tally.h"
#include "resident/room.h"

enum { FAILURES_MAX = 3 };

int xg_devices_ordinals(const char *text, int *ordinals, int max)
{
    int count = 0;
    if (!text) {
        ordinals[0] = XG_DEVICES_ANY;
        return 1;
    }
    for (const char *at = text; *at && count <= max;) {
        char *end;
        long ordinal = strtol(at, &end, 10);
        bool known = end == at || ordinal < 0;
        for (int i = 0; i < count; i++)
            known |= ordinals[i] == ordinal;
        if (!known && count < max)
            ordinals[count] = (int)ordinal;
        count += !known;
        at = *end ? end + 1 : end;
    }
    return count;
}

int xg_devices_read_ordinals(const char *text, int ordinals[XG_DEVICES_MAX])
{
    static int warned;
    int count = xg_devices_ordinals(text, ordinals, XG_DEVICES_MAX);
    if (count > XG_DEVICES_MAX)
        xg_log_once(&warned, "XGEMM_DEVICES names more than %d devices: using the first %d",
                    XG_DEVICES_MAX, XG_DEVICES_MAX);
    return (int)xg_min_i64(count, XG_DEVICES_MAX);
}

static int busy_of(const struct xg_device *device)
{
    int busy = 0;
    for (int i = 0; i < XG_DEVICES_LANES; i++)
        busy += device->slots[i].busy;
    return busy;
}

bool xg_devices_pick(const struct xg_devices *devices, struct xg_devices_place *place)
{
    int least = XG_DEVICES_LANES;
    for (int d = 0; d < devices->count; d++) {
        const struct xg_device *device = &devices->at[d];
        int busy = busy_of(device);
        if (device->lost || busy >= least)
            continue;
        least = busy;
        place->device = d;
        place->slot = 0;
        while (device->slots[place->slot].busy)
            place->slot++;
    }
    return least < XG_DEVICES_LANES;
}

int xg_devices_busy(const struct xg_devices *devices)
{
    int busy = 0;
    for (int d = 0; d < devices->count; d++)
        busy += devices->at[d].lost ? 0 : busy_of(&devices->at[d]);
    return busy;
}

int xg_devices_lanes(const struct xg_devices *devices)
{
    int lanes = 0;
    for (int d = 0; d < devices->count; d++)
        lanes += devices->at[d].lost ? 0 : XG_DEVICES_LANES;
    return lanes;
}

bool xg_devices_count(struct xg_device *device, enum xg_status status, enum xg_verdict verdict)
{
    if (verdict == XG_VERDICT_RIGHT)
        device->wrongs = 0;
    if (status >= XG_OK || status == XG_ERR_CAPTURE) {
        device->failures = status == XG_OK ? 0 : device->failures;
        return false;
    }
    device->failures++;
    device->wrongs += status == XG_ERR_WRONG;
    if (status == XG_ERR_HUNG)
        atomic_store(&device->dev->hung, true);
    bool lost =
        !device->lost && (status == XG_ERR_LOST || status == XG_ERR_HUNG ||
                          device->failures >= FAILURES_MAX || device->wrongs >= FAILURES_MAX);
    device->lost |= lost;
    return lost;
}

bool xg_devices_detach(struct xg_device *device, struct xg_device *held)
{
    if (!device->lost || !device->dev || device->held || busy_of(device))
        return false;
    const bool hung = atomic_load(&device->dev->hung);
    *held = *device;
    for (int i = 0; i < XG_DEVICES_LANES; i++) {
        device->left[i] = hung ? device->slots[i].lane : NULL;
        device->slots[i].lane = NULL;
    }
    device->dev = NULL;
    return true;
}

static enum xg_status add_lane(struct xg_device *device, int slot, int threads)
{
    enum xg_status status = xg_lane_create(device->dev, threads, &device->slots[slot].lane);
    if (status == XG_OK)
        xg_lane_prepare(device->slots[slot].lane);
    return status;
}

enum xg_status xg_devices_open(const struct xg_conf *conf, int ordinal, int threads,
                               struct xg_device *device)
{
    char text[16];
    struct xg_conf alone = *conf;
    snprintf(text, sizeof text, "%d", ordinal);
    alone.devices = ordinal == XG_DEVICES_ANY ? NULL : text;
    *device = (struct xg_device){0};
    enum xg_status status = xg_backend_open(&alone, &device->dev);
    if (status == XG_OK)
        status = add_lane(device, 0, threads);
    if (status != XG_OK && device->dev)
        xg_backend_close(device->dev);
    /* One lane is enough; products create the other lanes if they cannot be created now. */
    for (int i = 1; status == XG_OK && i < XG_DEVICES_LANES; i++)
        if (xg_tally_all(XG_TALLY_PRODUCTS) > 1)
            add_lane(device, i, threads);
    return status;
}

void xg_devices_close(const struct xg_device *held)
{
    const bool hung = atomic_load(&held->dev->hung);
    for (int i = 0; i < XG_DEVICES_LANES; i++) {
        struct xg_lane *lane = held->slots[i].lane;
        if (lane && hung)
            xg_lane_abandon(lane);
        else if (lane)
            xg_lane_destroy(lane);
    }
    xg_room_leave_device(held->dev);
    if (!hung)
        xg_backend_close(held->dev);
}
