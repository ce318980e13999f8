/* SPDX-License-Identifier: MIT */
/* The pipeline: one product from host memory through a device to host memory. */
#ifndef XG_PIPELINE_H
#define XG_PIPELINE_H

#include "base/xg.h"
#include "device/dev.h"

struct xg_lane;

/*
 * Computes *call (m, n, k >= 1, alpha != 0) on the lane's device. Each tile of C is written to the
 * caller's memory only when it is final, and is then marked. After a failure at any step, cpu->part
 * gets the rows that are not committed yet, or cpu->whole gets all of C if no row is committed.
 * When they have computed, C is right whatever the function returns, except XG_DECLINED: then C is
 * untouched, and the caller must compute the product.
 *
 * A batch of large instances, or of instances that do not fit beside each other, runs as one
 * product after the other.
 *
 * kernel_name: XGEMM_KERNEL or NULL; math: see select.h. Returns XG_OK; XG_DECLINED: the product
 * does not fit the memory that may be used, not even in tiles; or a failure after which the CPU
 * completed C: XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_NOTFOUND; XG_ERR_HUNG: the device
 * made no progress for dev->timeout_s and may still be working, so the lane must be abandoned;
 * XG_ERR_CAPTURE: the device works, and the next product may use it. (While rows are on their way
 * to a C that the caller has page-locked, the wait has no limit, because nothing could stop those
 * rows from arriving later.)
 *
 * *result is always set. A lane serves one thread at a time. The caller's current CUDA context, its
 * mode of stream capture and errno are unchanged afterwards.
 */
enum xg_status xg_pipeline_run(struct xg_lane *lane, const struct xg_problem *call,
                               enum xg_math math, const char *kernel_name, const struct xg_cpu *cpu,
                               struct xg_result *result);

/*
 * Does the same and then checks C (verify.h; seed: of the random signs) with the lane's threads.
 * cpu->whole computes a wrong C again, the first wrong C is logged, and the function returns
 * XG_ERR_WRONG. result->verdict holds the outcome.
 */
enum xg_status xg_pipeline_run_verified(struct xg_lane *lane, const struct xg_problem *call,
                                        enum xg_math math, const char *kernel_name,
                                        const struct xg_cpu *cpu, uint64_t seed,
                                        struct xg_result *result);

#endif
