/* SPDX-License-Identifier: MIT */
/* Looks for the device files of NVIDIA's drivers, and checks whether this process may open them. */
#ifndef XG_NODES_H
#define XG_NODES_H

enum xg_nodes {
    XG_NODES_NONE,   /* no file: there is no device, unless the driver makes the files when asked */
    XG_NODES_DENIED, /* files exist, but none may be opened: permissions, or a container's rules */
    XG_NODES_THERE,  /* files may be opened, or belong to a system whose files are not checked */
};

/*
 * Looks at the files of a card's driver, and for those of WSL and Tegra. Of a card's files it opens
 * only /dev/nvidiactl, and closes it again: opening a device's own file initialises the device.
 * Makes a few dozen system calls at most and allocates nothing; keeps errno. From any thread.
 */
enum xg_nodes xg_nodes_look(void);

#endif
