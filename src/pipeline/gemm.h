/* SPDX-License-Identifier: MIT */
/* One product from host memory to host memory through a device: the pipeline. */
#ifndef XG_GEMM_H
#define XG_GEMM_H

#include "base/xg.h"
#include "device/dev.h"

struct xg_lane;

/* How many populate a fresh C at once, where a product's staging lets anybody; -1: as that says.
 * The benchmarks set it, before the first product. */
extern int xg_gemm_populate;

/*
 * Computes *call (m, n, k >= 1, alpha != 0) on the lane's device. Each tile of C is written to the
 * caller's memory only when it is final, and marked; after a failure at any step the rows not yet
 * committed are asked of cpu->part, or, where none is, all of cpu->whole: once those have computed
 * C is right, whatever is returned (except XG_DECLINED: nothing was touched and the caller
 * computes).
 *
 * A batch of large instances, or of those that do not fit beside each other, is run as one product
 * after the other.
 *
 * kernel_name: XGEMM_KERNEL or NULL; math: see select.h.
 * Returns XG_OK; XG_DECLINED (it does not fit the memory that may be used, not even in tiles); or
 * the failure that the CPU made good: XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_NOTFOUND;
 * XG_ERR_HUNG: the device got nothing done for dev->timeout_s, and may still be at it. The lane is
 * then to be abandoned; XG_ERR_CAPTURE: the device works, and the next product may. (While rows are
 * on their way to a C that the caller has page-locked it is waited for without end: nobody could
 * stop them from arriving later.)
 *
 * *result is always set. One thread at a time per lane. The caller's current CUDA context, its mode
 * of stream capture and errno are as before.
 */
enum xg_status xg_gemm_run(struct xg_lane *lane, const struct xg_problem *call, enum xg_math math,
                           const char *kernel_name, const struct xg_cpu *cpu,
                           struct xg_gemm_result *result);

/*
 * The same, and then looks whether C is right (verify.h; seed: of its signs), with the lane's
 * threads. A wrong C is computed again by cpu->whole, and told of once: XG_ERR_WRONG.
 * result->verdict says what was found.
 */
enum xg_status xg_gemm_run_verified(struct xg_lane *lane, const struct xg_problem *call,
                                    enum xg_math math, const char *kernel_name,
                                    const struct xg_cpu *cpu, uint64_t seed,
                                    struct xg_gemm_result *result);

#endif
