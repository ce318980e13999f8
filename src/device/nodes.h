/* SPDX-License-Identifier: MIT */
/* The device files of NVIDIA's drivers: whether there are some, and whether this process may open
 * them. */
#ifndef XG_NODES_H
#define XG_NODES_H

enum xg_nodes {
    XG_NODES_NONE,   /* no file: there is no device, unless the driver makes the files when asked */
    XG_NODES_DENIED, /* files, none of which may be opened: permissions, or a container's rules */
    XG_NODES_THERE,  /* files that may be opened, or of a system whose files are not looked at */
};

/*
 * Looks at the files of a card's driver, and for those of WSL and Tegra. Of a card only
 * /dev/nvidiactl is opened, and closed again: opening a device's own file initialises the device. A
 * few dozen system calls at most, no memory; keeps errno. From any thread.
 */
enum xg_nodes xg_nodes_look(void);

#endif
