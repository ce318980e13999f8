/* SPDX-License-Identifier: MIT */
/* A device with all that computes on it: embedded kernels, cuBLAS, products of pieces. */
#ifndef XG_BACKEND_H
#define XG_BACKEND_H

#include "base/conf.h"
#include "device/dev.h"

/*
 * xg_dev_create, and then what computes there: sets facts.images, .cublas and .pieces. *out is set
 * only on XG_OK; it is freed with xg_backend_close. Returns what xg_dev_create does, and
 * XG_ERR_NOTFOUND where no kernel serves the device or XGEMM_KERNEL names none.
 */
enum xg_status xg_backend_open(const struct xg_conf *conf, struct xg_dev **out);

/* Makes the device ready for cuBLAS, where there is one, before a product needs it. From any
 * thread.
 */
void xg_backend_open_cublas(struct xg_dev *dev);

/* Unloads modules and cuBLAS, then xg_dev_destroy. */
void xg_backend_close(struct xg_dev *dev);

#endif
