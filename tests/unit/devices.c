/* SPDX-License-Identifier: MIT */
/* Which device gets a product, and when a device is given up. */
#include <stdatomic.h>
#include <string.h>

#include "src/engine/devices.h"
#include "tests/support/xt.h"

static void check_ordinals(const char *text, int count, const int *wanted)
{
    int ordinals[4];
    int found = xg_devices_ordinals(text, ordinals, 4);
    int stored = count < 4 ? count : 4;
    XT_CHECK(found == count && !memcmp(ordinals, wanted, (size_t)stored * sizeof *wanted),
             "%s: %d ordinals", text ? text : "none", found);
}

static struct xg_devices devices;

static int busy_lanes(int device)
{
    int busy = 0;
    for (int i = 0; i < XG_DEVICES_LANES; i++)
        busy += devices.at[device].slots[i].busy;
    return busy;
}

/* Takes a lane. Returns its device; -1: no lane is free. */
static int take(void)
{
    struct xg_devices_place place;
    if (!xg_devices_pick(&devices, &place))
        return -1;
    XT_CHECK(!devices.at[place.device].slots[place.slot].busy, "taken twice");
    devices.at[place.device].slots[place.slot].busy = true;
    return place.device;
}

static void fill(int count)
{
    memset(&devices, 0, sizeof devices);
    devices.count = count;
}

static void check_pick(void)
{
    fill(0);
    XT_CHECK(take() == -1 && !xg_devices_lanes(&devices), "a lane of no device");
    fill(3);
    for (int round = 0; round < XG_DEVICES_LANES; round++)
        for (int d = 0; d < 3; d++)
            XT_CHECK(take() == d, "not the one that is least busy");
    XT_CHECK(take() == -1, "more lanes than there are");
    XT_CHECK(xg_devices_busy(&devices) == 3 * XG_DEVICES_LANES);
    devices.at[1].slots[1].busy = false;
    XT_CHECK(take() == 1 && busy_lanes(1) == XG_DEVICES_LANES, "not the lane that came free");
    devices.at[0].lost = true;
    XT_CHECK(xg_devices_busy(&devices) == 2 * XG_DEVICES_LANES &&
             xg_devices_lanes(&devices) == 2 * XG_DEVICES_LANES);
    devices.at[0].slots[0].busy = false;
    XT_CHECK(take() == -1, "a lane of a lost device");
}

/* The device is lost at the last status, and not before. */
static void check_lost(const char *what, const enum xg_status *statuses, int count)
{
    struct xg_dev dev = {0};
    struct xg_device device = {.dev = &dev};
    for (int i = 0; i < count; i++) {
        bool lost = xg_devices_count(&device, statuses[i], XG_VERDICT_NONE);
        XT_CHECK(lost == (i == count - 1) && device.lost == lost, "%s: after %d", what, i + 1);
    }
    XT_CHECK(!xg_devices_count(&device, XG_ERR_LOST, XG_VERDICT_NONE), "%s: lost twice", what);
}

static void check_count(void)
{
    const enum xg_status lost[] = {XG_OK, XG_ERR_LOST}, hung[] = {XG_ERR_HUNG},
                         three[] = {XG_ERR_DRIVER,  XG_ERR_NOMEM, XG_OK,         XG_ERR_DRIVER,
                                    XG_ERR_CAPTURE, XG_DECLINED,  XG_ERR_DRIVER, XG_ERR_NOTFOUND};
    check_lost("lost", lost, 2);
    check_lost("hung", hung, 1);
    check_lost("three in a row", three, 8);
    /* Unverified products do not reset the count of wrong ones. */
    struct xg_device device = {0};
    bool given_up = false;
    for (int i = 0; i < 3; i++) {
        XT_CHECK(!given_up, "wrong %d", i);
        xg_devices_count(&device, XG_OK, XG_VERDICT_NONE);
        given_up = xg_devices_count(&device, XG_ERR_WRONG, XG_VERDICT_WRONG);
    }
    XT_CHECK(given_up, "three wrong ones");
    device = (struct xg_device){0};
    for (int i = 0; i < 9; i++)
        XT_CHECK(!xg_devices_count(&device, i % 3 == 2 ? XG_OK : XG_ERR_WRONG,
                                   i % 3 == 2 ? XG_VERDICT_RIGHT : XG_VERDICT_WRONG),
                 "wrong %d", i);
}

/* A device's resources are detached once, when it is lost and no thread has one of its lanes. */
static void check_detach(bool hung)
{
    static struct xg_dev dev;
    static struct xg_lane lanes[2];
    struct xg_device held, device = {.dev = &dev, .slots = {{&lanes[0], true}, {&lanes[1], false}}};
    atomic_store(&dev.hung, false);
    XT_CHECK(!xg_devices_detach(&device, &held), "a device that is not lost");
    xg_devices_count(&device, hung ? XG_ERR_HUNG : XG_ERR_LOST, XG_VERDICT_NONE);
    XT_CHECK(!xg_devices_detach(&device, &held), "a lane of it is busy");
    XT_CHECK(device.dev == &dev && device.slots[1].lane == &lanes[1], "taken all the same");
    device.slots[0].busy = false;
    XT_CHECK(xg_devices_detach(&device, &held) && !device.dev, "not taken");
    XT_CHECK(held.dev == &dev && atomic_load(&dev.hung) == hung);
    for (int i = 0; i < XG_DEVICES_LANES; i++) {
        XT_CHECK(held.slots[i].lane == &lanes[i] && !device.slots[i].lane, "lane %d", i);
        XT_CHECK(device.left[i] == (hung ? &lanes[i] : NULL), "lane %d", i);
    }
    XT_CHECK(!xg_devices_detach(&device, &held), "taken twice");
}

int main(void)
{
    check_ordinals(NULL, 1, (const int[]){XG_DEVICES_ANY});
    check_ordinals("2", 1, (const int[]){2});
    check_ordinals("3,0,3,1,0", 3, (const int[]){3, 0, 1});
    check_ordinals("0,1,2,3,1,0", 4, (const int[]){0, 1, 2, 3});
    check_ordinals("0,1,2,3,4,5", 5, (const int[]){0, 1, 2, 3});
    check_pick();
    check_count();
    check_detach(false);
    check_detach(true);
    return xt_done();
}
