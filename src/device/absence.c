/* SPDX-License-Identifier: MIT */
#include "device/absence.h"

#ifdef XG_CUDA
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/drv.h"

/* --- The device files ------------------------------------------------------------------------ */

enum { DEVICES = 32 };

enum nodes {
    NODES_NONE,   /* no file: there is no device, unless the driver makes the files when asked */
    NODES_DENIED, /* files exist, but none may be opened: permissions, or a container's rules */
    NODES_THERE,  /* files may be opened, or belong to a system whose files are not checked */
};

static bool is_denied(int error)
{
    return error == EACCES || error == EPERM;
}

/* Opening the control file shows a container's rules, which access() does not know. */
static enum nodes look_at_control(void)
{
    int file = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
    if (file < 0)
        return is_denied(errno) ? NODES_DENIED : NODES_NONE;
    close(file);
    return NODES_THERE;
}

/* Checks the permissions of the device files. A container may have any of a machine's devices. */
static enum nodes look_at_devices(void)
{
    enum nodes found = NODES_NONE;
    for (int i = 0; i < DEVICES; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        if (access(path, R_OK | W_OK) == 0)
            return NODES_THERE;
        if (is_denied(errno))
            found = NODES_DENIED;
    }
    return found;
}

/* Of a card's files it opens only /dev/nvidiactl, because opening a device's own file initialises
 * the device. The files of WSL and Tegra are not checked. */
static enum nodes look_at_nodes(void)
{
    enum nodes found = NODES_THERE;
    if (access("/dev/dxg", F_OK) != 0 && access("/dev/nvmap", F_OK) != 0)
        found = look_at_control();
    if (found == NODES_THERE && access("/dev/nvidiactl", F_OK) == 0)
        found = look_at_devices();
    return found;
}

/* --- The driver ------------------------------------------------------------------------------ */

/* CUDA_VISIBLE_DEVICES names no device, so that the driver finds none. */
static bool is_hidden(void)
{
    const char *visible = secure_getenv("CUDA_VISIBLE_DEVICES");
    return visible && (!*visible || *visible == '-');
}

static bool has_library(bool at_end)
{
    char why[XG_DRV_WHY_BYTES];
    bool has = xg_drv_load(at_end, why);
    (void)dlerror(); /* the program must not see an error */
    return has;
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
    int error = errno;
    enum nodes nodes = look_at_nodes();
    errno = error;
    if (nodes == NODES_DENIED)
        return XG_REASON_DENIED;
    if (nodes == NODES_THERE && !is_hidden())
        return XG_REASON_EARNING;
    if (depth == XG_ABSENCE_FILES)
        return XG_REASON_NO_GPU;
    if (!has_library(depth == XG_ABSENCE_DRIVER))
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
