/* SPDX-License-Identifier: MIT */
#include "compute/panel.h"

#include <stdio.h>

#include "base/integers.h"
#include "compute/cublas.h"
#include "compute/image.h"
#include "compute/launch.h"

static CUlaunchConfig config_of(struct xg_panel_grid grid, CUlaunchAttribute *cluster,
                                CUstream stream)
{
    *cluster = xg_launch_cluster((int)grid.blocks);
    return (CUlaunchConfig){.gridDimX = (unsigned)(grid.groups * grid.blocks),
                            .gridDimY = 1,
                            .gridDimZ = 1,
                            .blockDimX = grid.threads,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .sharedMemBytes = grid.smem_bytes,
                            .hStream = stream,
                            .attrs = grid.blocks > 1 ? cluster : NULL,
                            .numAttrs = grid.blocks > 1 ? 1 : 0};
}

int64_t xg_panel_rows_most(const struct xg_dev *dev, CUfunction function, unsigned threads,
                           int64_t rows)
{
    if (XG_DRV(&dev->drv, cuFuncSetAttribute, function,
               CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) != XG_OK)
        return 0;
    for (int64_t blocks = XG_PANEL_CLUSTER_MOST; blocks > 1; blocks /= 2) {
        CUlaunchAttribute cluster;
        const CUlaunchConfig config =
            config_of((struct xg_panel_grid){1, blocks, threads, 0}, &cluster, NULL);
        int clusters = 0;
        if (XG_DRV_CALL(&dev->drv, cuOccupancyMaxActiveClusters, &clusters, function, &config) ==
                CUDA_SUCCESS &&
            clusters > 0)
            return blocks * rows;
    }
    return 0;
}

bool xg_panel_open(struct xg_dev *dev, enum xg_type type, const struct xg_panel_entry *entries,
                   size_t count, struct xg_panel_kernels *panel)
{
    static const char letters[XG_TYPE_COUNT] = {[XG_TYPE_S] = 's', [XG_TYPE_D] = 'd'};
    int code_sm = 0;
    if (!letters[type] || !xg_facts_generation(&dev->facts)->panels ||
        !dev->drv.cuOccupancyMaxActiveClusters)
        return false;
    for (size_t i = 0; i < count; i++) {
        char entry[64];
        snprintf(entry, sizeof entry, entries[i].entry, letters[type]);
        if (xg_image_entry(dev, entries[i].image, entry, entries[i].smem_bytes, entries[i].out) !=
            XG_OK)
            return false;
    }
    /* Kernels compiled from older PTX would only trap. */
    if (XG_DRV(&dev->drv, cuFuncGetAttribute, &code_sm, CU_FUNC_ATTRIBUTE_PTX_VERSION,
               panel->cluster) != XG_OK ||
        code_sm < 90)
        return false;
    panel->cluster_rows_most =
        xg_panel_rows_most(dev, panel->cluster, panel->threads, XG_PANEL_ROWS);
    panel->rows_most =
        xg_panel_rows_most(dev, panel->tall, panel->tall_threads, XG_PANEL_TALL_ROWS);
    return true;
}

bool xg_panel_serves(struct xg_dev *dev, const struct xg_panel_kernels *panel, int64_t m, int64_t n)
{
    enum { STRIP_MOST = 32 }; /* kernels round n up to whole strips */
    /* plan_bytes is 0 without XGEMM_REPRODUCIBLE. */
    return m <= panel->rows_most && n <= INT32_MAX - STRIP_MOST && dev->plan_bytes == 0 &&
           xg_cublas_is_loaded() && xg_cublas_present(dev);
}

enum xg_status xg_panel_launch(const struct xg_dev *dev, const struct xg_panel_kernels *panel,
                               int64_t rows, void *args, CUstream stream)
{
    const bool tall = rows > panel->cluster_rows_most;
    const struct xg_panel_grid grid = {
        .groups = 1,
        .blocks = xg_ceil_div(rows, tall ? XG_PANEL_TALL_ROWS : XG_PANEL_ROWS),
        .threads = tall ? panel->tall_threads : panel->threads};
    return xg_panel_launch_grid(dev,
                                tall              ? panel->tall
                                : grid.blocks > 1 ? panel->cluster
                                                  : panel->one,
                                grid, args, stream);
}

enum xg_status xg_panel_launch_grid(const struct xg_dev *dev, CUfunction function,
                                    struct xg_panel_grid grid, void *args, CUstream stream)
{
    CUlaunchAttribute cluster;
    const CUlaunchConfig config = config_of(grid, &cluster, stream);
    void *parameters[] = {args};
    return XG_DRV(&dev->drv, cuLaunchKernelEx, &config, function, parameters, NULL);
}
