/* SPDX-License-Identifier: MIT */
/* One device: its primary context, its facts, its memory budget. */
#ifndef XG_DEV_H
#define XG_DEV_H

#include <pthread.h>

#include "base/conf.h"
#include "base/xg.h"
#include "decide/select.h"
#include "device/drv.h"

struct xg_cublas;
struct xg_split;

struct xg_dev {
    struct xg_drv drv;
    CUdevice device;
    CUcontext context; /* the primary context, retained */
    char name[96];
    struct xg_device_facts facts;
    int clock_khz;           /* at most; 0: the driver does not say */
    double link_bytes_per_s; /* one direction, as the bus is wired; 0: the system does not say */
    int copy_engines;
    /* Device memory that the library may hold: XGEMM_MEM_LIMIT, or nine tenths of what was free. */
    size_t budget_bytes;
    int sharers; /* ranks of this node that have the device too, this one included; 1: not known */
    /* XGEMM_REPRODUCIBLE: what a product is planned with, from the device alone; 0: what is free.
     */
    size_t plan_bytes;
    double timeout_s;          /* that a device which gets nothing done is waited for */
    _Atomic size_t used_bytes; /* mem.c's account against the budget */

    /* What computes on it: backend.c's to open and to close, NULL before. */
    pthread_mutex_t image_lock; /* guards the loading of modules and functions (image.c) */
    CUmodule *modules;          /* one an image of xg_image_table; NULL: not loaded yet */
    CUfunction *functions;      /* four a row of xg_kernel_table (nn, nt, tn, tt); NULL: not yet */
    bool cublas_absent;         /* it was looked for; under the same lock, as is cuBLAS itself */
    int cublas_failures;        /* to make its handle */
    struct xg_cublas *cublas;   /* NULL until a cuBLAS row is launched */
    struct xg_split *split;     /* splits operands, multiplies pieces; NULL without facts.pieces */
};

/*
 * Opens the driver and the first device that conf allows, retains its primary context and reads its
 * facts, those apart that say what computes on it (backend.h). The caller's current context is as
 * before. *out is set only on XG_OK; it is freed with
 * xg_dev_destroy. Returns XG_OK, XG_ERR_NOTFOUND (no driver or device),
 * XG_ERR_DRIVER, XG_ERR_NOMEM, XG_ERR_LOST.
 */
enum xg_status xg_dev_create(const struct xg_conf *conf, struct xg_dev **out);

/* Releases the context. Errors are ignored: the process may be exiting. */
void xg_dev_destroy(struct xg_dev *dev);

/* Makes the context current on this thread, keeping the caller's below it; and the reverse. */
enum xg_status xg_dev_enter(struct xg_dev *dev);
void xg_dev_leave(struct xg_dev *dev);

#endif
