/* SPDX-License-Identifier: MIT */
/* One LAPACK routine from host memory through a device to host memory. */
#ifndef XG_FACTOR_H
#define XG_FACTOR_H

#include "base/routine.h"
#include "base/xg.h"

struct xg_lane;

/*
 * Computes the routine on the lane's device. Unless it returns XG_OK, the operands that the routine
 * reads are as before the call, the operands that it only writes are undefined, and the caller must
 * have the CPU compute the whole routine. On XG_OK LAPACK's info is 0.
 *
 * XG_DECLINED: there is no cuSOLVER (result->unserved), it could not be opened this time
 * (result->failed), the operands do not fit the device's memory or the driver's copies, an operand
 * or a result holds a NaN or an infinity, pivots are not getrf's, potri's factor is not potrf's,
 * LAPACK's info would not be 0, cuSOLVER is not exact on this matrix or lacks the routine, or least
 * squares need LAPACK's scaling. Failures: XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST,
 * XG_ERR_CAPTURE; XG_ERR_HUNG: the lane must be abandoned.
 *
 * GELSD and GELSS with a rank (least_squares.h): if result->factored, whatever the status, only U
 * and V are complete, and the caller must have the CPU go on from them.
 *
 * *result is always set. A lane serves one thread at a time. The caller's current CUDA context, its
 * mode of stream capture and errno are unchanged afterwards.
 */
enum xg_status xg_routine_run(struct xg_lane *lane, const struct xg_routine *routine,
                              struct xg_result *result);

/*
 * The same, and verifies the result (verify/residual.h): result->verdict, deviation and verify_s
 * are set. XG_ERR_WRONG: the result is wrong; one message says so. seed: of the signs.
 */
enum xg_status xg_routine_run_verified(struct xg_lane *lane, const struct xg_routine *routine,
                                       uint64_t seed, struct xg_result *result);

#endif
