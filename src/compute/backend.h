/* SPDX-License-Identifier: MIT */
/* A device with everything that computes on it: embedded kernels, cuBLAS, products of pieces. */
#ifndef XG_BACKEND_H
#define XG_BACKEND_H

#include "base/conf.h"
#include "device/dev.h"

/*
 * Calls xg_dev_create and opens the kernels, cuBLAS, the split and the residues: sets facts.images,
 * .cublas, .pieces and .residues. *out is set only on XG_OK; xg_backend_close frees it. Returns the
 * statuses of xg_dev_create, and XG_ERR_NOTFOUND if no kernel serves the device or XGEMM_KERNEL
 * names no kernel.
 */
enum xg_status xg_backend_open(const struct xg_conf *conf, struct xg_dev **out);

/* Prepares the device for cuBLAS, if there is one, before a product needs it. Callable from any
 * thread.
 */
void xg_backend_open_cublas(struct xg_dev *dev);

/* Unloads modules and cuBLAS, then calls xg_dev_destroy. */
void xg_backend_close(struct xg_dev *dev);

#endif
