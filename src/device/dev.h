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
    int clock_khz;           /* maximum; 0: not known */
    double link_bytes_per_s; /* one direction, as the bus is wired; 0: not known */
    /* Budget: the least of 0.9 of the free memory, this rank's share, and XGEMM_MEM_LIMIT. */
    size_t budget_bytes;
    int sharers; /* ranks of this node on this device, including this one; 1: not known */
    int ranks;   /* ranks of this node that may compute on it, at most; 1: not known */
    /* XGEMM_REPRODUCIBLE: memory to plan with, from the device alone; 0: free memory. */
    size_t plan_bytes;
    double timeout_s;          /* how long to wait for a device that makes no progress */
    _Atomic bool hung;         /* it made none: waits end, and it keeps its resources */
    _Atomic size_t used_bytes; /* mem.c's count against the budget */

    /* The code that computes on it: backend.c opens and closes it, NULL before. */
    pthread_mutex_t image_lock; /* guards the loading of modules and functions (image.c) */
    CUmodule *modules;          /* one per image of xg_image_table; NULL: not loaded yet */
    CUfunction *functions;      /* four per row of xg_kernel_table (nn, nt, tn, tt); NULL: not found
                                 * yet */
    bool cublas_absent;         /* looked for and not found; image_lock guards it */
    int cublas_failures;        /* failed attempts to create its handle */
    _Atomic int solver_failures; /* the same of cuSOLVER's handles, one a lane */
    struct xg_cublas *cublas;    /* NULL until a cuBLAS row is launched */
    struct xg_residue *residue;  /* DGEMM by residues; NULL without facts.residues */
    struct xg_split *split;      /* splits operands, multiplies pieces; NULL without facts.pieces */
};

/*
 * Opens the driver and the first device that conf allows, retains its primary context and reads its
 * facts, except those about the code that computes on it (backend.h). The caller's current context
 * is as before. Sets *out only on XG_OK; free it with xg_dev_destroy. Returns XG_OK,
 * XG_ERR_NOTFOUND (no driver or device), XG_ERR_DRIVER, XG_ERR_NOMEM, XG_ERR_LOST.
 */
enum xg_status xg_dev_create(const struct xg_conf *conf, struct xg_dev **out);

/* Releases the context. Errors are ignored: the process may be exiting. */
void xg_dev_destroy(struct xg_dev *dev);

/* Makes the context current on this thread, above the caller's; xg_dev_leave undoes that. */
enum xg_status xg_dev_enter(struct xg_dev *dev);
void xg_dev_leave(struct xg_dev *dev);

/* The same for calls that a stream capture of the program must not forbid: the thread is relaxed
 * (xg_drv_relax) until xg_dev_end, which takes what *before was set to. Unless it returns XG_OK,
 * nothing has changed. */
enum xg_status xg_dev_begin(struct xg_dev *dev, int *before);
void xg_dev_end(struct xg_dev *dev, int before);

/*
 * Waits for an event; the driver's own wait never ends if the device hangs. Time in which the
 * process itself was stopped does not count. If a stream capture of the program forbids the query,
 * the wait goes on. After `spins` queries the thread sleeps between them. From any thread. Returns
 * XG_OK; XG_ERR_HUNG after limit_s, or when the device is known to hang; XG_ERR_DRIVER,
 * XG_ERR_LOST.
 */
enum xg_status xg_dev_await(const struct xg_dev *dev, CUevent event, int spins, double limit_s);

#endif
