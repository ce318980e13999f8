/* SPDX-License-Identifier: MIT */
/* Opens the kernels, cuBLAS and the split of a device, and closes them before the context. */
#include "compute/backend.h"

#include <stdlib.h>

#include "base/log.h"
#include "compute/cublas.h"
#include "compute/image.h"
#include "compute/residue.h"
#include "compute/split.h"
#include "decide/route.h"

/* Loading cuBLAS takes time and memory, so it is loaded only if no kernel serves the device or the
 * user asks for it. */
static bool wants_cublas(const struct xg_dev *dev, const struct xg_conf *conf)
{
    const struct xg_kernel *named = conf->kernel ? xg_select_find(conf->kernel) : NULL;
    return !dev->facts.images || xg_facts_generation(&dev->facts)->cublas_at_once ||
           conf->math == XG_MATH_TF32 || (named && named->flags & XG_KERNEL_CUBLAS);
}

/* Sets dev->split and facts.pieces; they stay NULL if the device, the driver or this build does not
 * support the split. Fails only if a stream capture forbids it: XG_ERR_CAPTURE. */
static enum xg_status open_split(struct xg_dev *dev, const struct xg_conf *conf)
{
    const struct xg_kernel *row = xg_select_emulated(&dev->facts, XG_KERNEL_PIECES, conf->kernel);
    if (!row)
        return XG_OK;
    struct xg_split *split = malloc(sizeof *split);
    enum xg_status status = split ? xg_split_open(dev, row, split) : XG_ERR_NOMEM;
    if (status == XG_OK) {
        dev->split = split;
        dev->facts.pieces = row;
    } else {
        free(split);
    }
    return status == XG_ERR_CAPTURE ? status : XG_OK;
}

/* The same for dev->residue and facts.residues. */
static enum xg_status open_residue(struct xg_dev *dev, const struct xg_conf *conf)
{
    const struct xg_kernel *row = xg_select_emulated(&dev->facts, XG_KERNEL_RESIDUES, conf->kernel);
    if (!row)
        return XG_OK;
    struct xg_residue *residue = malloc(sizeof *residue);
    enum xg_status status = residue ? xg_residue_open(dev, row, residue) : XG_ERR_NOMEM;
    if (status == XG_OK) {
        dev->residue = residue;
        dev->facts.residues = row;
    } else {
        free(residue);
    }
    return status == XG_ERR_CAPTURE ? status : XG_OK;
}

static enum xg_status open_kernels(struct xg_dev *dev, const struct xg_conf *conf)
{
    dev->modules = calloc(xg_image_count, sizeof *dev->modules);
    dev->functions = calloc(4 * xg_kernel_count, sizeof *dev->functions);
    if (!dev->modules || !dev->functions)
        return XG_ERR_NOMEM;
    for (size_t i = 0; i < xg_image_count; i++)
        dev->facts.images |= xg_image_fatbin(&xg_image_table[i]).bytes > 0;
    int before;
    enum xg_status status = xg_dev_begin(dev, &before);
    if (status != XG_OK)
        return status;
    if (wants_cublas(dev, conf))
        dev->facts.cublas = xg_cublas_present(dev);
    if (conf->math != XG_MATH_STRICT)
        status = open_split(dev, conf);
    if (status == XG_OK && conf->math != XG_MATH_STRICT)
        status = open_residue(dev, conf);
    xg_dev_end(dev, before);
    return status;
}

/* Returns XG_OK, or XG_ERR_NOTFOUND after a message that says why. */
static enum xg_status check_served(const struct xg_dev *dev, const struct xg_conf *conf)
{
    if (conf->kernel && !xg_select_find(conf->kernel)) {
        xg_log(XG_LOG_WARN, "XGEMM_KERNEL=%s: there is no such kernel, so products run on the CPU",
               conf->kernel);
        return XG_ERR_NOTFOUND;
    }
    const struct xg_shape usual = {.m = 1024, .n = 1024, .k = 1024, .type = XG_TYPE_S};
    if (!xg_route_resident(&dev->facts, conf->math, NULL, &usual).row) {
        xg_log(XG_LOG_INFO, "no kernel serves %s (compute capability %d)", dev->name,
               dev->facts.sm);
        return XG_ERR_NOTFOUND;
    }
    return XG_OK;
}

enum xg_status xg_backend_open(const struct xg_conf *conf, struct xg_dev **out)
{
    struct xg_dev *dev;
    enum xg_status status = xg_dev_create(conf, &dev);
    if (status != XG_OK)
        return status;
    pthread_mutex_init(&dev->image_lock, NULL);
    status = open_kernels(dev, conf);
    if (status == XG_OK)
        status = check_served(dev, conf);
    if (status != XG_OK) {
        xg_backend_close(dev);
        return status;
    }
    *out = dev;
    return XG_OK;
}

void xg_backend_open_cublas(struct xg_dev *dev)
{
    int before;
    if (xg_dev_begin(dev, &before) == XG_OK) {
        xg_cublas_present(dev);
        xg_dev_end(dev, before);
    }
}

void xg_backend_close(struct xg_dev *dev)
{
    int before;
    if (xg_dev_begin(dev, &before) == XG_OK) {
        xg_cublas_fini(dev);
        xg_image_fini(dev);
        xg_dev_end(dev, before);
    }
    xg_cublas_forget(dev);
    pthread_mutex_destroy(&dev->image_lock);
    free(dev->residue);
    free(dev->split);
    free(dev->modules);
    free(dev->functions);
    xg_dev_destroy(dev);
}
