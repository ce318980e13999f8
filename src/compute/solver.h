/* SPDX-License-Identifier: MIT */
/* cuSOLVER: LAPACK's routines on matrices in device memory. Dlopened, never linked. */
#ifndef XG_SOLVER_H
#define XG_SOLVER_H

#include "compute/solver_call.h"

/* The number of elements of call->spare; 0: it is not used. The operands' leading dimensions must
 * be set. */
int64_t xg_solver_spare_elems(const struct xg_solver_call *call);

/*
 * Makes a handle (20 ms) on a stream of the device, whose context must be current, here and below.
 * *out is set only on XG_OK. Returns XG_OK; XG_ERR_NOTFOUND if there is no cuSOLVER, or if it
 * failed three times on this device; XG_ERR_NOMEM, XG_ERR_DRIVER; XG_ERR_LOST once the driver has
 * ended.
 */
enum xg_status xg_solver_create(struct xg_dev *dev, CUstream stream, struct xg_solver **out);
void xg_solver_destroy(struct xg_dev *dev, struct xg_solver *solver);

/* The same if the context cannot be entered: it frees neither what cuSOLVER holds nor the event. */
void xg_solver_forget(struct xg_solver *solver);

/*
 * Sets work_bytes and host_bytes, which the routine needs; the operands' leading dimensions must be
 * set, their addresses need not be. Returns XG_OK; XG_DECLINED for sizes or forms that cuSOLVER
 * does not take; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_solver_measure(struct xg_solver *solver, struct xg_solver_call *call);

/* Waits for the work on the solver's stream. Failures: XG_ERR_DRIVER, XG_ERR_LOST; XG_ERR_HUNG
 * after limit_s. */
enum xg_status xg_solver_wait(const struct xg_dev *dev, const struct xg_solver *solver,
                              double limit_s);

/*
 * Computes the routine on the stream and waits for it. Returns XG_OK; XG_DECLINED if LAPACK's info
 * would not be 0 or cuSOLVER is not exact on this matrix: only device memory has changed; the
 * failures of xg_solver_measure and of xg_solver_wait. A function of cuSOLVER that itself waits for
 * the device does so without a limit.
 */
enum xg_status xg_solver_run(struct xg_dev *dev, struct xg_solver *solver,
                             struct xg_solver_call *call);

#endif
