/* SPDX-License-Identifier: MIT */
/* Device and page-locked memory that is kept between calls, grows on demand and is bounded. */
#ifndef XG_MEM_H
#define XG_MEM_H

#include "device/dev.h"

/* A piece of device memory. Zero-initialised: empty. */
struct xg_mem_dev {
    CUdeviceptr ptr;
    size_t bytes;
};

/*
 * Makes *mem at least `bytes` large; its contents are undefined afterwards. Grows geometrically, so
 * that a sequence of rising sizes allocates few times. Returns XG_OK; XG_ERR_NOMEM if the device's
 * budget or the device itself does not allow it: *mem is then unchanged, or empty if it had to be
 * freed first; XG_ERR_DRIVER, XG_ERR_LOST. The device's context must be current; one thread per
 * *mem.
 */
enum xg_status xg_mem_dev_reserve(struct xg_dev *dev, struct xg_mem_dev *mem, size_t bytes);
void xg_mem_dev_release(struct xg_dev *dev, struct xg_mem_dev *mem);

/* The bytes that xg_mem_dev_reserve could still allocate, including those that `mem` holds
 * already. */
size_t xg_mem_dev_available(struct xg_dev *dev, const struct xg_mem_dev *mem);

/*
 * Enqueues a copy of `rows` rows of `bytes` bytes, a pitch apart, from device memory to device
 * memory. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_mem_dev_copy(const struct xg_dev *dev, CUdeviceptr to, size_t to_pitch,
                               CUdeviceptr from, size_t from_pitch, size_t bytes, size_t rows,
                               CUstream stream);

/* The same between device memory and page-locked host memory; up: to the device. */
enum xg_status xg_mem_host_copy(const struct xg_dev *dev, bool up, CUdeviceptr device, size_t pitch,
                                void *host, size_t host_pitch, size_t bytes, size_t rows,
                                CUstream stream);

/* True if CUDA knows the address as memory of its own or as page-locked, so that devices may write
 * there; also if the driver cannot tell. The context must be current. */
bool xg_mem_is_known(const struct xg_dev *dev, const void *at);

/* Allocates page-locked host memory. Returns XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST; *out
 * is set only on XG_OK. */
enum xg_status xg_mem_pinned_alloc(struct xg_dev *dev, size_t bytes, void **out);
void xg_mem_pinned_free(struct xg_dev *dev, void *ptr);

/*
 * True if all these bytes lie in one range of host memory that was page-locked through CUDA, so
 * that the device may copy from and to it. False if the driver cannot tell. The context must be
 * current. About a microsecond.
 */
bool xg_mem_pinned(const struct xg_dev *dev, const void *begin, size_t bytes);

#endif
