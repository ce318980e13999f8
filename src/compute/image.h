/* SPDX-License-Identifier: MIT */
/* Kernels from the embedded images: modules loaded and functions looked up on first use, then kept.
 */
#ifndef XG_IMAGE_H
#define XG_IMAGE_H

#include "device/dev.h"

/*
 * The function of the row's entry for these transposes. XG_OK; XG_ERR_NOTFOUND (no image in this
 * build, none for this device, or no such entry), XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. *out
 * set only on XG_OK. The device's context must be current; from any thread.
 */
enum xg_status xg_image_function(struct xg_dev *dev, const struct xg_kernel *row, bool transa,
                                 bool transb, CUfunction *out);

/*
 * A function that is no row of the kernel table: an entry of the image of that name, which may use
 * that much dynamic shared memory. The same as above otherwise; not kept, so ask once.
 */
enum xg_status xg_image_entry(struct xg_dev *dev, const char *image, const char *entry,
                              int smem_bytes, CUfunction *out);

/* Unloads what was loaded. */
void xg_image_fini(struct xg_dev *dev);

#endif
