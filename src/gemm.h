/* SPDX-License-Identifier: MIT */
/* One product from host memory to host memory through a device: the pipeline. */
#ifndef XG_GEMM_H
#define XG_GEMM_H

#include "dev.h"
#include "xg.h"

/*
 * A lane: everything that one call at a time needs of the device (streams, device memory, rings of
 * page-locked memory, a staging team), kept between calls. Several lanes on one device run at once.
 */
struct xg_lane;

/* How many populate a fresh C at once, where a product's manner lets anybody; -1: as that says. The
 * benchmarks set it, before the first product. */
extern int xg_gemm_populate;

/*
 * threads: size of the staging team, the calling thread included; >= 1. *out set only on XG_OK.
 * XG_OK, XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_SYSTEM. Memory is taken at the first
 * product.
 */
enum xg_status xg_lane_create(struct xg_dev *dev, int threads, struct xg_lane **out);

/*
 * At most so many of its threads, the caller included, stage the next products: >= 1. Lanes at work
 * at the same time share the cores. Not while a product runs.
 */
void xg_lane_limit(struct xg_lane *lane, int workers);

/* Joins the team, waits for the device and frees everything. */
void xg_lane_destroy(struct xg_lane *lane);

/* Ends the team, and leaves all else to the device, which does not answer. */
void xg_lane_abandon(struct xg_lane *lane);

/*
 * Computes *call (m, n, k >= 1, alpha != 0) on the lane's device. Each tile of C is written to the
 * caller's memory only when it is final, and marked; after a failure at any step the tiles not yet
 * committed are computed with cpu->part, so that C is right whatever is returned (except
 * XG_DECLINED: nothing was touched and the caller computes).
 *
 * kernel_name: XGEMM_KERNEL or NULL; math: see select.h.
 * Returns XG_OK; XG_DECLINED (it does not fit the memory that may be used, not even in tiles); or
 * the failure that the CPU made good: XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_NOTFOUND;
 * XG_ERR_HUNG: the device got nothing done for dev->timeout_s, and may still be at it. The lane is
 * then to be abandoned. (While rows are on their way to a C that the caller has page-locked it is
 * waited for without end: nobody could stop them from arriving later.)
 * *result is always set. One thread at a time per lane. The caller's current CUDA context and errno
 * are as before.
 */
enum xg_status xg_gemm_run(struct xg_lane *lane, const struct xg_sgemm *call, enum xg_math math,
                           const char *kernel_name, const struct xg_cpu *cpu,
                           struct xg_gemm_result *result);

#endif
