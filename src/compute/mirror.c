/* SPDX-License-Identifier: MIT */
#include "compute/mirror.h"

#include "compute/image.h"

enum xg_status xg_mirror_open(struct xg_dev *dev, enum xg_type type, CUfunction *out)
{
    static const char *const entries[XG_TYPE_COUNT] = {
        [XG_TYPE_S] = "xg_mirror_s_sm75",
        [XG_TYPE_D] = "xg_mirror_d_sm75",
        [XG_TYPE_C] = "xg_mirror_c_sm75",
        [XG_TYPE_Z] = "xg_mirror_z_sm75",
    };
    return xg_image_entry(dev, "mirror_sm75", entries[type], 0, out);
}

enum xg_status xg_mirror_run(const struct xg_dev *dev, CUfunction mirror,
                             struct xg_mirror_args args, CUstream stream)
{
    const int64_t tiles = xg_ceil_div(args.n, XG_MIRROR_SIDE);
    void *parameters[] = {&args};
    return XG_DRV(&dev->drv, cuLaunchKernel, mirror, (unsigned)(tiles * tiles), 1, 1,
                  XG_MIRROR_THREADS, 1, 1, 0, stream, parameters, NULL);
}
