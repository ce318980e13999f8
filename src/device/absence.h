/* SPDX-License-Identifier: MIT */
/* Why there is no GPU here, found out before the engine is started. */
#ifndef XG_ABSENCE_H
#define XG_ABSENCE_H

#include "base/xg.h"

/* What is looked at, each with what stands before it. */
enum xg_absence_depth {
    XG_ABSENCE_FILES,   /* the driver's device files: some dozen system calls */
    XG_ABSENCE_LIBRARY, /* where there are none: whether the dynamic linker finds the driver */
    XG_ABSENCE_DRIVER,  /* where it does: whether the driver finds a device */
};

/*
 * XG_REASON_DENIED, XG_REASON_NO_DRIVER or XG_REASON_NO_DEVICE where it is certain that a start
 * would find no GPU; XG_REASON_EARNING where there may be one; XG_REASON_NO_GPU where there is no
 * device file, and only a look at more can tell. A driver library counts as a driver
 * though there is no device file, for it may make the files when it is asked. From
 * XG_ABSENCE_LIBRARY on it takes the dynamic linker's lock and may load libcuda.so.1, which stays;
 * XG_ABSENCE_DRIVER calls cuInit. Neither does so where device files may be opened. A build without
 * CUDA always answers XG_REASON_EARNING. Not from two threads at once.
 */
enum xg_reason xg_absence_find(enum xg_absence_depth depth);

#endif
