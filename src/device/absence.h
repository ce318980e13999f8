/* SPDX-License-Identifier: MIT */
/* Finds out why there is no GPU here, before the engine starts. */
#ifndef XG_ABSENCE_H
#define XG_ABSENCE_H

#include "base/xg.h"

/* How far to look; each level includes those before it. */
enum xg_absence_depth {
    XG_ABSENCE_FILES,   /* the driver's device files: some dozen system calls */
    XG_ABSENCE_LIBRARY, /* without files: whether the dynamic linker finds the driver */
    XG_ABSENCE_DRIVER,  /* with a library: whether the driver finds a device */
};

/*
 * Returns XG_REASON_DENIED, XG_REASON_NO_DRIVER or XG_REASON_NO_DEVICE if a start would certainly
 * find no GPU; XG_REASON_EARNING if there may be one; XG_REASON_NO_GPU if there is no device file
 * and only a deeper look can tell. A driver library without device files counts as a driver,
 * because it may create the files when it is asked. From XG_ABSENCE_LIBRARY on it takes the dynamic
 * linker's lock and may load libcuda.so.1, which stays loaded; XG_ABSENCE_DRIVER calls cuInit.
 * Neither happens if device files may be opened. A build without CUDA always returns
 * XG_REASON_EARNING. Any thread may look for XG_ABSENCE_FILES, only one thread at a time deeper.
 */
enum xg_reason xg_absence_find(enum xg_absence_depth depth);

#endif
