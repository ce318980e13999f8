/* SPDX-License-Identifier: MIT */
#include "compute/solver_spare.h"

#include <string.h>

#include "device/mem.h"

enum xg_status xg_solver_spare_copy(const struct xg_dev *dev, const struct xg_solver_spare *spare)
{
    const size_t bytes = (size_t)spare->ld * xg_type_bytes(spare->type);
    return xg_mem_dev_copy(dev, spare->at, bytes, spare->from, bytes, bytes, (size_t)spare->n,
                           spare->stream);
}

enum xg_status xg_solver_spare_unit(const struct xg_dev *dev, const struct xg_solver_spare *spare,
                                    double *ones)
{
    const size_t n = (size_t)spare->n, elem_bytes = xg_type_bytes(spare->type);
    const size_t column_bytes = (size_t)spare->ld * elem_bytes;
    const size_t parts = (size_t)xg_type_parts(spare->type);
    memset(ones, 0, n * elem_bytes);
    for (size_t i = 0; i < n; i++)
        if (xg_type_is_double(spare->type))
            ones[i * parts] = 1;
        else
            ((float *)ones)[i * parts] = 1;
    enum xg_status status = XG_DRV(&dev->drv, cuMemsetD32Async, spare->at, 0,
                                   n * column_bytes / sizeof(uint32_t), spare->stream);
    return status == XG_OK ? xg_mem_host_copy(dev, true, spare->at, column_bytes + elem_bytes, ones,
                                              elem_bytes, elem_bytes, n, spare->stream)
                           : status;
}

/*
 * A has R, and the reflectors below it. Zeros are copied over the reflectors, one row lower for
 * each column; they also fill the rows below R's n rows, which nothing uses.
 */
enum xg_status xg_solver_spare_triangle(const struct xg_dev *dev,
                                        const struct xg_solver_spare *spare)
{
    const size_t n = (size_t)spare->n, elem_bytes = xg_type_bytes(spare->type);
    const size_t bytes = n * elem_bytes, pitch = 2 * bytes;
    const CUdeviceptr zeros = spare->at + n * pitch;
    enum xg_status status =
        XG_DRV(&dev->drv, cuMemsetD32Async, zeros, 0, n * bytes / sizeof(uint32_t), spare->stream);
    if (status == XG_OK)
        status = xg_mem_dev_copy(dev, spare->at, pitch, spare->from, (size_t)spare->ld * elem_bytes,
                                 bytes, n, spare->stream);
    if (status == XG_OK)
        status = xg_mem_dev_copy(dev, spare->at + elem_bytes, pitch + elem_bytes, zeros, bytes,
                                 bytes, n, spare->stream);
    return status;
}
