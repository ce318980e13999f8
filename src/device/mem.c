/* SPDX-License-Identifier: MIT */
#include "device/mem.h"

#include <stdatomic.h>

/* Takes all bytes from the budget, or none. */
static bool budget_take(struct xg_dev *dev, size_t bytes)
{
    size_t used = atomic_load(&dev->used_bytes);
    do {
        if (bytes > dev->budget_bytes || used > dev->budget_bytes - bytes)
            return false;
    } while (!atomic_compare_exchange_weak(&dev->used_bytes, &used, used + bytes));
    return true;
}

static enum xg_status allocate(struct xg_dev *dev, struct xg_mem_dev *mem, size_t bytes)
{
    if (!budget_take(dev, bytes))
        return XG_ERR_NOMEM;
    enum xg_status status = XG_DRV(&dev->drv, cuMemAlloc, &mem->ptr, bytes);
    if (status != XG_OK) {
        atomic_fetch_sub(&dev->used_bytes, bytes);
        mem->ptr = 0;
        return status;
    }
    mem->bytes = bytes;
    return XG_OK;
}

enum xg_status xg_mem_dev_reserve(struct xg_dev *dev, struct xg_mem_dev *mem, size_t bytes)
{
    if (mem->bytes >= bytes)
        return XG_OK;
    size_t grown = mem->bytes + mem->bytes / 2;
    xg_mem_dev_release(dev, mem);
    if (grown > bytes) {
        enum xg_status status = allocate(dev, mem, grown);
        if (status != XG_ERR_NOMEM)
            return status;
    }
    return allocate(dev, mem, bytes);
}

void xg_mem_dev_release(struct xg_dev *dev, struct xg_mem_dev *mem)
{
    if (!mem->bytes)
        return;
    XG_DRV(&dev->drv, cuMemFree, mem->ptr);
    atomic_fetch_sub(&dev->used_bytes, mem->bytes);
    *mem = (struct xg_mem_dev){0};
}

size_t xg_mem_dev_available(struct xg_dev *dev, const struct xg_mem_dev *mem)
{
    size_t used = atomic_load(&dev->used_bytes);
    return (used < dev->budget_bytes ? dev->budget_bytes - used : 0) + mem->bytes;
}

enum xg_status xg_mem_dev_copy(const struct xg_dev *dev, CUdeviceptr to, size_t to_pitch,
                               CUdeviceptr from, size_t from_pitch, size_t bytes, size_t rows,
                               CUstream stream)
{
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = from,
        .srcPitch = from_pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = to,
        .dstPitch = to_pitch,
        .WidthInBytes = bytes,
        .Height = rows,
    };
    return XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, stream);
}

enum xg_status xg_mem_host_copy(const struct xg_dev *dev, bool up, CUdeviceptr device, size_t pitch,
                                void *host, size_t host_pitch, size_t bytes, size_t rows,
                                CUstream stream)
{
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .srcHost = up ? host : NULL,
        .srcDevice = up ? 0 : device,
        .srcPitch = up ? host_pitch : pitch,
        .dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstHost = up ? NULL : host,
        .dstDevice = up ? device : 0,
        .dstPitch = up ? pitch : host_pitch,
        .WidthInBytes = bytes,
        .Height = rows,
    };
    return XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, stream);
}

enum xg_status xg_mem_pinned_alloc(struct xg_dev *dev, size_t bytes, void **out)
{
    void *ptr = NULL;
    /* Portable: page-locked for every context, so that a second device can copy from it too. */
    enum xg_status status =
        XG_DRV(&dev->drv, cuMemHostAlloc, &ptr, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (status == XG_OK)
        *out = ptr;
    return status;
}

bool xg_mem_pinned(const struct xg_dev *dev, const void *begin, size_t bytes)
{
    if (!dev->drv.cuPointerGetAttributes)
        return false;
    CUmemorytype type = 0;
    CUdeviceptr first = 0;
    size_t size = 0;
    unsigned managed = 1;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &first, &size, &managed};
    CUdeviceptr address = (uintptr_t)begin;
    /* For memory that CUDA does not know, the call succeeds and sets nothing. */
    return XG_DRV_CALL(&dev->drv, cuPointerGetAttributes, 4, names, values, address) ==
               CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_HOST && !managed && first <= address &&
           bytes <= size - (address - first) && address - first <= size;
}

bool xg_mem_is_known(const struct xg_dev *dev, const void *at)
{
    CUmemorytype type = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    void *values[] = {&type};
    return !dev->drv.cuPointerGetAttributes ||
           XG_DRV_CALL(&dev->drv, cuPointerGetAttributes, 1, names, values,
                       (CUdeviceptr)(uintptr_t)at) != CUDA_SUCCESS ||
           type != 0;
}

void xg_mem_pinned_free(struct xg_dev *dev, void *ptr)
{
    if (ptr)
        XG_DRV(&dev->drv, cuMemFreeHost, ptr);
}
