/* SPDX-License-Identifier: MIT */
#include "device/absence.h"

#ifdef XG_CUDA
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "device/drv.h"
#include "device/nodes.h"

/* CUDA_VISIBLE_DEVICES names no device, so that the driver finds none. */
static bool is_hidden(void)
{
    const char *visible = secure_getenv("CUDA_VISIBLE_DEVICES");
    return visible && (!*visible || *visible == '-');
}

static bool has_library(void)
{
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
        return true;
    (void)dlerror(); /* the program must not see the error */
    return false;
}

static enum xg_reason ask_driver(void)
{
    struct xg_drv drv;
    enum xg_status status = xg_drv_open(&drv);
    if (status == XG_OK)
        xg_drv_close(&drv);
    return status == XG_OK ? XG_REASON_EARNING : XG_REASON_NO_DEVICE;
}

enum xg_reason xg_absence_find(enum xg_absence_depth depth)
{
    enum xg_nodes nodes = xg_nodes_look();
    if (nodes == XG_NODES_DENIED)
        return XG_REASON_DENIED;
    if (nodes == XG_NODES_THERE && !is_hidden())
        return XG_REASON_EARNING;
    if (depth == XG_ABSENCE_FILES)
        return XG_REASON_NO_GPU;
    if (!has_library())
        return XG_REASON_NO_DRIVER;
    return depth == XG_ABSENCE_LIBRARY ? XG_REASON_NO_GPU : ask_driver();
}

#else

enum xg_reason xg_absence_find(enum xg_absence_depth depth)
{
    (void)depth;
    return XG_REASON_EARNING;
}

#endif
