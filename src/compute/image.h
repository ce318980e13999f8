/* SPDX-License-Identifier: MIT */
/* Kernels from the embedded images: modules are loaded and functions are found on first use, then
 * kept.
 */
#ifndef XG_IMAGE_H
#define XG_IMAGE_H

#include "device/dev.h"

/*
 * Finds the function of the row's entry for these transposes. Returns XG_OK; XG_ERR_NOTFOUND (no
 * image in this build, none for this device, or no such entry), XG_ERR_NOMEM, XG_ERR_DRIVER,
 * XG_ERR_LOST. *out is set only on XG_OK. The device's context must be current. Callable from any
 * thread.
 */
enum xg_status xg_image_function(struct xg_dev *dev, const struct xg_kernel *row, bool transa,
                                 bool transb, CUfunction *out);

/*
 * Finds a function outside the kernel table: an entry of the image of that name, which may use
 * smem_bytes of dynamic shared memory. Otherwise the same as above; the function is not kept, so
 * the caller keeps it.
 */
enum xg_status xg_image_entry(struct xg_dev *dev, const char *image, const char *entry,
                              int smem_bytes, CUfunction *out);

/* Unloads all loaded modules. */
void xg_image_fini(struct xg_dev *dev);

#endif
