/* SPDX-License-Identifier: MIT */
/* Opens a device: driver, primary context, facts, memory budget. */
#include "dev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas.h"
#include "image.h"
#include "log.h"
#include "split.h"

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
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, &dev->copy_engines},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        enum xg_status status = attribute(dev, wanted[i].which, wanted[i].out);
        if (status != XG_OK)
            return status;
    }
    facts->sm = 10 * major + minor;
    facts->clusters = dev->drv.cuLaunchKernelEx;
    for (size_t i = 0; i < xg_image_count; i++)
        facts->images |= xg_image_table[i].begin != xg_image_table[i].end;
    return XG_DRV(&dev->drv, cuDeviceGetName, dev->name, (int)sizeof dev->name, dev->device);
}

/* A number at the front of a file of the system's; 0 where there is none. */
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
 * What the cost model begins with, where it can be had: a device without it works as well. The most
 * that the link can do, for an idle one is clocked down. Virtual machines may name nonsense: less
 * than four lanes of PCIe 3.0 is none.
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
        if (dev->drv.cuDeviceGetAttribute(&values[i], wanted[i], dev->device) != CUDA_SUCCESS)
            return;
        else if (i == 0)
            dev->clock_khz = values[0];
    snprintf(folder, sizeof folder, "/sys/bus/pci/devices/%04x:%02x:%02x.0", (unsigned)values[1],
             (unsigned)values[2], (unsigned)values[3]);
    double link = 1e9 * read_number(folder, "max_link_speed") *
                  read_number(folder, "max_link_width") * encoding / bits;
    dev->link_bytes_per_s = link >= least_bytes_per_s ? link : 0;
}

/* The first ordinal of XGEMM_DEVICES that names a device. */
static enum xg_status choose_device(struct xg_dev *dev, const char *ordinals)
{
    int count = 0;
    enum xg_status status = XG_DRV(&dev->drv, cuDeviceGetCount, &count);
    if (status != XG_OK)
        return status;
    const char *at = ordinals ? ordinals : "0";
    while (*at) {
        char *end;
        long ordinal = strtol(at, &end, 10);
        if (end != at && ordinal >= 0 && ordinal < count)
            return XG_DRV(&dev->drv, cuDeviceGet, &dev->device, (int)ordinal);
        at = *end ? end + 1 : end;
    }
    xg_log(XG_LOG_INFO, "no device of \"%s\" among the %d there", ordinals ? ordinals : "0", count);
    return XG_ERR_NOTFOUND;
}

static enum xg_status set_budget(struct xg_dev *dev, const struct xg_conf *conf)
{
    int64_t limit_bytes = conf->mem_limit_bytes;
    size_t free_bytes = 0, total_bytes = 0;
    enum xg_status status = XG_DRV(&dev->drv, cuMemGetInfo, &free_bytes, &total_bytes);
    /* A tenth stays for others: the program's own CUDA code, a second process on the device. */
    dev->budget_bytes = free_bytes / 10 * 9;
    if (limit_bytes > 0 && (size_t)limit_bytes < dev->budget_bytes)
        dev->budget_bytes = (size_t)limit_bytes;
    /* A quarter of all memory or half of the limit: two products at once find it, in every run. */
    if (conf->reproducible)
        dev->plan_bytes = limit_bytes > 0 ? (size_t)limit_bytes / 2 : total_bytes / 4;
    return status;
}

/* Loading cuBLAS takes time and memory: only where nothing else serves, or the user asks for it. */
static bool wants_cublas(const struct xg_dev *dev, const struct xg_conf *conf)
{
    const struct xg_kernel *named = conf->kernel ? xg_select_find(conf->kernel) : NULL;
    return !dev->facts.images || dev->facts.sm < 75 || conf->math == XG_MATH_TF32 ||
           (named && named->flags & XG_KERNEL_CUBLAS);
}

/* NULL where the device or the driver cannot, and in a build for other architectures alone. */
static struct xg_split *open_split(struct xg_dev *dev)
{
    struct xg_split *split = malloc(sizeof *split);
    if (split && xg_split_open(dev, split) == XG_OK)
        return split;
    free(split);
    return NULL;
}

/* Longer than any kernel takes, on the slowest device that is worth it. */
static const double TIMEOUT_S = 30;

enum xg_status xg_dev_create(const struct xg_conf *conf, struct xg_dev **out)
{
    struct xg_dev *dev = calloc(1, sizeof *dev);
    if (!dev)
        return XG_ERR_NOMEM;
    pthread_mutex_init(&dev->image_lock, NULL);
    dev->timeout_s = conf->timeout_ms > 0 ? 1e-3 * conf->timeout_ms : TIMEOUT_S;
    dev->modules = calloc(xg_image_count, sizeof *dev->modules);
    dev->functions = calloc(4 * xg_kernel_count, sizeof *dev->functions);
    enum xg_status status = XG_ERR_NOMEM;
    if (!dev->modules || !dev->functions)
        goto destroy;
    if ((status = xg_drv_open(&dev->drv)) != XG_OK)
        goto destroy;
    if ((status = choose_device(dev, conf->devices)) != XG_OK)
        goto destroy;
    if ((status = read_facts(dev)) != XG_OK)
        goto destroy;
    read_rates(dev);
    status = XG_DRV(&dev->drv, cuDevicePrimaryCtxRetain, &dev->context, dev->device);
    if (status != XG_OK) {
        dev->context = NULL;
        goto destroy;
    }
    if ((status = xg_dev_enter(dev)) != XG_OK)
        goto destroy;
    status = set_budget(dev, conf);
    if (status == XG_OK && wants_cublas(dev, conf))
        dev->facts.cublas = xg_cublas_present(dev);
    if (status == XG_OK && conf->math != XG_MATH_STRICT)
        dev->split = open_split(dev);
    dev->facts.pieces = dev->split;
    xg_dev_leave(dev);
    if (status != XG_OK)
        goto destroy;
    if (conf->kernel && !xg_select_find(conf->kernel)) {
        xg_log(XG_LOG_WARN, "XGEMM_KERNEL=%s: there is no such kernel, so products run on the CPU",
               conf->kernel);
        status = XG_ERR_NOTFOUND;
        goto destroy;
    }
    if (!xg_select(&dev->facts, conf->math, NULL, 1024, 1024, 1024)) {
        xg_log(XG_LOG_INFO, "no kernel serves %s (compute capability %d)", dev->name,
               dev->facts.sm);
        status = XG_ERR_NOTFOUND;
        goto destroy;
    }
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
        if (xg_dev_enter(dev) == XG_OK) {
            xg_cublas_fini(dev);
            xg_image_fini(dev);
            xg_dev_leave(dev);
        }
        XG_DRV(&dev->drv, cuDevicePrimaryCtxRelease, dev->device);
    }
    xg_drv_close(&dev->drv);
    pthread_mutex_destroy(&dev->image_lock);
    free(dev->split);
    free(dev->modules);
    free(dev->functions);
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

double xg_dev_clock_hz(const struct xg_dev *dev)
{
    static const double usual_hz = 1.9e9;
    return dev->plan_bytes == 0 && dev->clock_khz > 0 ? 1e3 * dev->clock_khz : usual_hz;
}
