/* SPDX-License-Identifier: MIT */
#include "device/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { DEVICES = 32 };

static bool is_denied(int error)
{
    return error == EACCES || error == EPERM;
}

/* Opening the control file shows a container's rules, which access() does not know. */
static enum xg_nodes look_at_control(void)
{
    int file = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
    if (file < 0)
        return is_denied(errno) ? XG_NODES_DENIED : XG_NODES_NONE;
    close(file);
    return XG_NODES_THERE;
}

/* Checks the permissions of the device files. A container may have any of a machine's devices. */
static enum xg_nodes look_at_devices(void)
{
    enum xg_nodes found = XG_NODES_NONE;
    for (int i = 0; i < DEVICES; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        if (access(path, R_OK | W_OK) == 0)
            return XG_NODES_THERE;
        if (is_denied(errno))
            found = XG_NODES_DENIED;
    }
    return found;
}

enum xg_nodes xg_nodes_look(void)
{
    int error = errno;
    enum xg_nodes found = XG_NODES_THERE;
    if (access("/dev/dxg", F_OK) != 0 && access("/dev/nvmap", F_OK) != 0)
        found = look_at_control();
    if (found == XG_NODES_THERE && access("/dev/nvidiactl", F_OK) == 0)
        found = look_at_devices();
    errno = error;
    return found;
}
