/* SPDX-License-Identifier: MIT */
#include "compute/cast.h"

#include "compute/image.h"

enum xg_status xg_cast_open(struct xg_dev *dev, enum xg_type type, struct xg_cast *out)
{
    out->complex = xg_type_is_complex(type);
    enum xg_status status = xg_image_entry(dev, "cast_sm75", "xg_widen_sm75", 0, &out->widen);
    return status == XG_OK ? xg_image_entry(dev, "cast_sm75",
                                            out->complex ? "xg_narrow_z_sm75" : "xg_narrow_d_sm75",
                                            0, &out->narrow)
                           : status;
}

static enum xg_status launch(const struct xg_dev *dev, CUfunction function,
                             struct xg_cast_args args, int64_t columns, CUstream stream)
{
    const int64_t blocks = xg_ceil_div(args.rows, XG_CAST_ROWS) * columns;
    void *parameters[] = {&args};
    return XG_DRV(&dev->drv, cuLaunchKernel, function, (unsigned)blocks, 1, 1, XG_CAST_THREADS, 1,
                  1, 0, stream, parameters, NULL);
}

enum xg_status xg_cast_widen(const struct xg_dev *dev, const struct xg_cast *cast,
                             struct xg_cast_args args, int64_t columns, CUstream stream)
{
    if (cast->complex) {
        args.rows *= 2;
        args.from_ld *= 2;
        args.to_ld *= 2;
    }
    return launch(dev, cast->widen, args, columns, stream);
}

enum xg_status xg_cast_narrow(const struct xg_dev *dev, const struct xg_cast *cast,
                              struct xg_cast_args args, int64_t columns, CUstream stream)
{
    return launch(dev, cast->narrow, args, columns, stream);
}
