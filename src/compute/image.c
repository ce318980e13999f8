/* SPDX-License-Identifier: MIT */
/* Loads embedded images into the context and finds their kernels. */
#include "compute/image.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Dynamic shared memory that a block may use on every device without cuFuncSetAttribute. */
enum { SMEM_DEFAULT_BYTES = 48 * 1024 };

static enum xg_status load_module(struct xg_dev *dev, const struct xg_image *image, CUmodule *out)
{
    CUmodule *slot = &dev->modules[image - xg_image_table];
    if (!*slot) {
        struct xg_fatbin fatbin = xg_image_fatbin(image);
        if (fatbin.bytes == 0)
            return XG_ERR_NOTFOUND;
        CUmodule module = NULL;
        enum xg_status status = XG_DRV(&dev->drv, cuModuleLoadData, &module, fatbin.begin);
        if (status != XG_OK)
            return status;
        *slot = module;
    }
    *out = *slot;
    return XG_OK;
}

/* Loads an entry of an image, which may use smem_bytes of dynamic shared memory. */
static enum xg_status load_entry(struct xg_dev *dev, const struct xg_image *image,
                                 const char *entry, int smem_bytes, CUfunction *out)
{
    CUmodule module;
    enum xg_status status = load_module(dev, image, &module);
    if (status != XG_OK)
        return status;
    CUfunction function = NULL;
    status = XG_DRV(&dev->drv, cuModuleGetFunction, &function, module, entry);
    if (status == XG_OK && smem_bytes > SMEM_DEFAULT_BYTES)
        status = XG_DRV(&dev->drv, cuFuncSetAttribute, function,
                        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes);
    if (status != XG_OK)
        return status;
    xg_log(XG_LOG_TRACE, "kernel %s loaded", entry);
    *out = function;
    return XG_OK;
}

static enum xg_status load_function(struct xg_dev *dev, const struct xg_kernel *row, bool transa,
                                    bool transb, CUfunction *out)
{
    char entry[128];
    if (row->flags & XG_KERNEL_PER_TRANS)
        snprintf(entry, sizeof entry, "%s_%c%c", row->entry, transa ? 't' : 'n',
                 transb ? 't' : 'n');
    else
        snprintf(entry, sizeof entry, "%s", row->entry);
    return load_entry(dev, row->image, entry, row->smem_bytes, out);
}

enum xg_status xg_image_entry(struct xg_dev *dev, const char *image, const char *entry,
                              int smem_bytes, CUfunction *out)
{
    enum xg_status status = XG_ERR_NOTFOUND;
    pthread_mutex_lock(&dev->image_lock);
    for (size_t i = 0; i < xg_image_count; i++)
        if (!strcmp(xg_image_table[i].name, image))
            status = load_entry(dev, &xg_image_table[i], entry, smem_bytes, out);
    pthread_mutex_unlock(&dev->image_lock);
    return status;
}

enum xg_status xg_image_function(struct xg_dev *dev, const struct xg_kernel *row, bool transa,
                                 bool transb, CUfunction *out)
{
    CUfunction *slot =
        &dev->functions[4 * (size_t)(row - xg_kernel_table) + 2 * (size_t)transa + (size_t)transb];
    pthread_mutex_lock(&dev->image_lock);
    enum xg_status status = *slot ? XG_OK : load_function(dev, row, transa, transb, slot);
    if (status == XG_OK)
        *out = *slot;
    pthread_mutex_unlock(&dev->image_lock);
    return status;
}

void xg_image_fini(struct xg_dev *dev)
{
    for (size_t i = 0; dev->modules && i < xg_image_count; i++) /* NULL if there was no memory */
        if (dev->modules[i])
            XG_DRV(&dev->drv, cuModuleUnload, dev->modules[i]);
}
