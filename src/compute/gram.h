/* SPDX-License-Identifier: MIT */
/* Singular values and vectors of a matrix in single precision, by its Gram matrix in double. */
#ifndef XG_GRAM_H
#define XG_GRAM_H

#include "compute/solver.h"

/*
 * Where doubles are as fast as floats, or half as fast:
 *
 *   V (-S²) Vᴴ = -Aᴴ A    by SYEVD in double precision: S² in descending order
 *   U R = A V             by QR; R is S but for the signs of its rows and rounding errors
 *
 * The error of S² is some units of 2^-53 of the largest one, so that of S is at most a few units of
 * 2^-27 of the largest value. That is less than the rounding errors of LAPACK's single precision,
 * for matrices of any rank, graded or not. U is orthogonal even where columns of A V are rounding
 * errors. Squares of floats neither overflow nor underflow.
 *
 * Xgesvdp perturbs a matrix with a value close to 0. In single precision many matrices of full rank
 * have one, and gesvd, which computes those, takes several times as long.
 */

/* Whether the call may use this method: GESDD of floats, of a size that cuBLAS and cuSOLVER's older
 * interface take, and cuBLAS has been loaded. False with XGEMM_REPRODUCIBLE, because this depends
 * on when cuBLAS is loaded. The device's context must be current. */
bool xg_gram_serves(struct xg_dev *dev, const struct xg_solver_call *call);

/* The bytes that the method needs in call->spare. */
size_t xg_gram_bytes(const struct xg_solver_call *call);

/* Sets work_bytes and host_bytes. Returns the statuses of xg_solver_measure. */
enum xg_status xg_gram_measure(struct xg_solver *solver, struct xg_solver_call *call);

/* Computes the call as xg_solver_run does, with the same statuses, and leaves A as it was. */
enum xg_status xg_gram_run(struct xg_dev *dev, struct xg_solver *solver, CUstream stream,
                           struct xg_solver_call *call);

#endif
