/* SPDX-License-Identifier: MIT */
/* Singular values and vectors of a rank-deficient matrix, for which Xgesvdp is not exact. */
#ifndef XG_DEFLATION_H
#define XG_DEFLATION_H

#include "compute/solver.h"

/*
 * Xgesvdp perturbs matrices of lower rank, but its left vectors U', in the order of the values, are
 * nearly right. So the QR factorization of Aᴴ U' shows the rank r, and its Q the null space.
 * Xgesvdp is exact on A restricted to the rest, which has full rank:
 *
 *   [Q1 Q2] R = Aᴴ U'      R is small from row r + 1 on, and A Q2 is 0 but for noise
 *   U S Wᴴ = A Q1          by Xgesvdp, (m,r)
 *   A = [U U2] [S 0; 0 0] [Q1 W, Q2]ᴴ      U2: the orthogonal complement of U
 *
 * Graded matrices have no rank: their A Q2 is not noise, and gesvd computes them. The power method
 * estimates the largest value of A Q2. The values of the null space, which LAPACK returns as noise,
 * become the root mean square of the values of A Q2.
 */

/* Whether the call may use deflation: GESDD with vectors, of a size that cuSOLVER's older interface
 * takes. Pure. */
bool xg_deflation_serves(const struct xg_solver_call *call);

/* Elements that deflation needs in call->spare behind the copy of A; 0 unless call->deflate is
 * set. */
int64_t xg_deflation_elems(const struct xg_solver_call *call);

/* Raises work_bytes and host_bytes to what deflation needs, if call->deflate is set. Returns XG_OK,
 * XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. */
enum xg_status xg_deflation_measure(struct xg_solver *solver, struct xg_solver_call *call);

/*
 * The function for call->deflate, which runs after Xgesvdp: GESDD's A is in `spare`, where it
 * stays, the operands W and U hold what Xgesvdp wrote, and A's memory is free. If v_is_rows asks
 * for another method, and A is of lower rank, it sets W, U and V, and v_is_rows to false. It does
 * nothing and returns XG_OK unless cuBLAS has been loaded, its handle can be made, and there is
 * memory. Failures: XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_HUNG.
 */
enum xg_status xg_deflation_run(struct xg_dev *dev, struct xg_solver *solver, CUstream stream,
                                struct xg_solver_call *call);

#endif
