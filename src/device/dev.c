/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "device/dev.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "device/teardown.h"
#include "host/local_rank.h"

static enum xg_status attribute(const struct xg_dev *dev, CUdevice_attribute which, int *out)
{
    return XG_DRV(&dev->drv, cuDeviceGetAttribute, out, which, dev->device);
}

static enum xg_status read_facts(struct xg_dev *dev)
{
    struct xg_device_facts *facts = &dev->facts;
    int major = 0, minor = 0;
    const struct {
        CUdevice_attribute which;
        int *out;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &facts->sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &facts->smem_block_bytes},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, &facts->fp64_ratio},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        enum xg_status status = attribute(dev, wanted[i].which, wanted[i].out);
        if (status != XG_OK)
            return status;
    }
    facts->sm = 10 * major + minor;
    facts->clusters = dev->drv.cuLaunchKernelEx;
    enum xg_status status =
        XG_DRV(&dev->drv, cuDeviceGetName, dev->name, (int)sizeof dev->name, dev->device);
    facts->generation = xg_generation_find(facts->sm, dev->name);
    return status;
}

/* Reads a number at the start of a system file; 0 if there is none. */
static double read_number(const char *folder, const char *name)
{
    char path[128];
    double number = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%lf", &number) != 1)
        number = 0;
    if (file)
        fclose(file);
    return number;
}

/*
 * Reads the rates that the cost model starts with, if they are available: a device without them
 * works too. For the link it reads the maximum, because an idle link is clocked down. Virtual
 * machines may report nonsense: less than four lanes of PCIe 3.0 counts as unknown.
 */
static void read_rates(struct xg_dev *dev)
{
    const CUdevice_attribute wanted[] = {
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
        CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
    const double encoding = 128.0 / 130.0, bits = 8, least_bytes_per_s = 3.9e9;
    int values[4] = {0};
    char folder[96];
    for (size_t i = 0; i < 4; i++)
        if (XG_DRV_CALL(&dev->drv, cuDeviceGetAttribute, &values[i], wanted[i], dev->device) !=
            CUDA_SUCCESS)
            return;
        else if (i == 0)
            dev->clock_khz = values[0];
    snprintf(folder, sizeof folder, "/sys/bus/pci/devices/%04x:%02x:%02x.0", (unsigned)values[1],
             (unsigned)values[2], (unsigned)values[3]);
    double link = 1e9 * read_number(folder, "max_link_speed") *
                  read_number(folder, "max_link_width") * encoding / bits;
    dev->link_bytes_per_s = link >= least_bytes_per_s ? link : 0;
}

/* True if other programs may wait for the end of this process: the device serves one process at a
 * time, or the program's own CUDA code holds memory. Call it before the context is retained. */
static bool is_awaited(struct xg_dev *dev)
{
    int mode = CU_COMPUTEMODE_DEFAULT, active = 0;
    unsigned flags;
    XG_DRV_CALL(&dev->drv, cuDeviceGetAttribute, &mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE,
                dev->device);
    if (dev->drv.cuDevicePrimaryCtxGetState)
        XG_DRV_CALL(&dev->drv, cuDevicePrimaryCtxGetState, dev->device, &flags, &active);
    return mode != CU_COMPUTEMODE_DEFAULT || active;
}

/*
 * Without XGEMM_DEVICES: device 0, or the device of the rank on the node. If CUDA_VISIBLE_DEVICES
 * leaves one device, nothing tells whether each rank has a different one, so the memory is not
 * divided, but the device's time may be.
 */
static enum xg_status choose_by_rank(struct xg_dev *dev, int count)
{
    struct xg_local_rank local;
    int ordinal = 0;
    if (count > 0 && xg_local_rank_read(&local, xg_conf_environment, NULL)) {
        ordinal = xg_local_rank_device(&local, count);
        dev->ranks = xg_local_rank_sharers(&local, count);
        if (count > 1 || !secure_getenv("CUDA_VISIBLE_DEVICES"))
            dev->sharers = dev->ranks;
        xg_log(XG_LOG_INFO, "device %d of %d, by %s=%d; %d rank%s of this node may use it", ordinal,
               count, local.variable, local.rank, dev->sharers, dev->sharers == 1 ? "" : "s");
    }
    return count > 0 ? XG_DRV(&dev->drv, cuDeviceGet, &dev->device, ordinal) : XG_ERR_NOTFOUND;
}

/* Takes the first ordinal of XGEMM_DEVICES that names a device. */
static enum xg_status choose_device(struct xg_dev *dev, const char *ordinals)
{
    int count = 0;
    enum xg_status status = XG_DRV(&dev->drv, cuDeviceGetCount, &count);
    if (status != XG_OK)
        return status;
    if (!ordinals)
        return choose_by_rank(dev, count);
    struct xg_local_rank local;
    if (xg_local_rank_read(&local, xg_conf_environment, NULL))
        dev->ranks = xg_local_rank_sharers(&local, 1); /* they may all have the same list */
    const char *at = ordinals;
    while (*at) {
        char *end;
        long ordinal = strtol(at, &end, 10);
        if (end != at && ordinal >= 0 && ordinal < count)
            return XG_DRV(&dev->drv, cuDeviceGet, &dev->device, (int)ordinal);
        at = *end ? end + 1 : end;
    }
    xg_log(XG_LOG_INFO, "no device of \"%s\" among the %d there", ordinals, count);
    return XG_ERR_NOTFOUND;
}

static enum xg_status set_budget(struct xg_dev *dev, const struct xg_conf *conf)
{
    int64_t limit_bytes = conf->mem_limit_bytes;
    size_t free_bytes = 0, total_bytes = 0;
    enum xg_status status = XG_DRV(&dev->drv, cuMemGetInfo, &free_bytes, &total_bytes);
    /* A tenth stays free for others: the program's own CUDA code, a second process on the device.
     * Ranks that share the device get equal shares. */
    dev->budget_bytes = free_bytes / 10 * 9;
    if (dev->sharers > 1 && total_bytes / 10 * 9 / (size_t)dev->sharers < dev->budget_bytes)
        dev->budget_bytes = total_bytes / 10 * 9 / (size_t)dev->sharers;
    if (limit_bytes > 0 && (size_t)limit_bytes < dev->budget_bytes)
        dev->budget_bytes = (size_t)limit_bytes;
    /* A quarter of all memory or half of the limit: two products at once get it in every run. */
    if (conf->reproducible)
        dev->plan_bytes = limit_bytes > 0 ? (size_t)limit_bytes / 2 : total_bytes / 4;
    return status;
}

/* Longer than any kernel takes on the slowest useful device. */
static const double TIMEOUT_S = 30;

/* Opens the device's context and reads its facts. xg_dev_destroy releases everything taken. */
static enum xg_status open_context(struct xg_dev *dev, const struct xg_conf *conf)
{
    enum xg_status status = choose_device(dev, conf->devices);
    if (status == XG_OK)
        status = read_facts(dev);
    if (status != XG_OK)
        return status;
    read_rates(dev);
    if (!conf->reproducible) { /* containers may hide these figures */
        dev->facts.clock_hz = 1e3 * dev->clock_khz;
        dev->facts.link_bytes_per_s = dev->link_bytes_per_s;
    }
    if (is_awaited(dev))
        xg_teardown_refuse();
    status = XG_DRV(&dev->drv, cuDevicePrimaryCtxRetain, &dev->context, dev->device);
    if (status != XG_OK) {
        dev->context = NULL;
        return status;
    }
    if ((status = xg_dev_enter(dev)) != XG_OK)
        return status;
    status = set_budget(dev, conf);
    xg_dev_leave(dev);
    return status;
}

enum xg_status xg_dev_create(const struct xg_conf *conf, struct xg_dev **out)
{
    struct xg_dev *dev = calloc(1, sizeof *dev);
    if (!dev)
        return XG_ERR_NOMEM;
    dev->sharers = dev->ranks = 1;
    dev->timeout_s = conf->timeout_ms > 0 ? 1e-3 * conf->timeout_ms : TIMEOUT_S;
    enum xg_status status = xg_drv_open(&dev->drv);
    if (status != XG_OK)
        goto destroy;
    int capture_mode = xg_drv_relax(&dev->drv);
    status = open_context(dev, conf);
    xg_drv_unrelax(&dev->drv, capture_mode);
    if (status != XG_OK)
        goto destroy;
    xg_log(XG_LOG_INFO, "%s: compute capability %d, %d multiprocessors, %.1f GB to use", dev->name,
           dev->facts.sm, dev->facts.sm_count, (double)dev->budget_bytes / 1e9);
    *out = dev;
    return XG_OK;

destroy:
    xg_dev_destroy(dev);
    return status;
}

void xg_dev_destroy(struct xg_dev *dev)
{
    if (dev->context) {
        int capture_mode = xg_drv_relax(&dev->drv);
        XG_DRV(&dev->drv, cuDevicePrimaryCtxRelease, dev->device);
        xg_drv_unrelax(&dev->drv, capture_mode);
    }
    xg_drv_close(&dev->drv);
    free(dev);
}

enum xg_status xg_dev_enter(struct xg_dev *dev)
{
    return XG_DRV(&dev->drv, cuCtxPushCurrent, dev->context);
}

void xg_dev_leave(struct xg_dev *dev)
{
    CUcontext ours;
    XG_DRV(&dev->drv, cuCtxPopCurrent, &ours);
}

enum xg_status xg_dev_begin(struct xg_dev *dev, int *before)
{
    *before = xg_drv_relax(&dev->drv);
    enum xg_status status = xg_dev_enter(dev);
    if (status != XG_OK)
        xg_drv_unrelax(&dev->drv, *before);
    return status;
}

void xg_dev_end(struct xg_dev *dev, int before)
{
    xg_dev_leave(dev);
    xg_drv_unrelax(&dev->drv, before);
}

/* Each query counts for step_max_s at most, so that time in which the process is stopped does not
 * count. */
enum xg_status xg_dev_await(const struct xg_dev *dev, CUevent event, int spins, double limit_s)
{
    static const double step_max_s = 0.01;
    double waited_s = 0, last_s = xg_clock_s();
    for (;; spins--) {
        CUresult result = XG_DRV_CALL(&dev->drv, cuEventQuery, event);
        if (result != CUDA_ERROR_NOT_READY && !xg_drv_capture_forbids(result))
            return xg_drv_status(&dev->drv, result, "cuEventQuery");
        if (atomic_load_explicit(&dev->hung, memory_order_relaxed))
            return XG_ERR_HUNG;
        if (spins <= 0)
            xg_clock_nap_us(20);
        double now_s = xg_clock_s();
        waited_s += fmin(now_s - last_s, step_max_s);
        last_s = now_s;
        if (waited_s > limit_s) {
            xg_log(XG_LOG_INFO, "the device made no progress for %g s", limit_s);
            return XG_ERR_HUNG;
        }
    }
}
